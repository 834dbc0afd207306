/** What forms show of a battery, and what of it is sent back. Values that are no field go along as they were read. */
import { plainNumber } from '../../shared/quantity'
import type { Zone } from '../../shared/time/marketDay'
import { instantFrom, localInput } from '../../shared/time/words'
import { numberFrom, type Values } from '../../shared/ui/editing'
import type { Parameters, Unavailability } from './data'

const tidy = plainNumber

export interface Figure {
  key: string
  factor?: number
  unit?: string
}

/** With the ramp rate, which has no field: a new version keeps the one of the version that was read. */
export function parameterValues(parameters: Parameters, figures: readonly Figure[]): Values {
  const found = parameters as unknown as Record<string, number | null | undefined>
  return Object.fromEntries(
    [...figures, { key: 'rampRate', factor: 1 }].map(({ key, factor = 1 }) => {
      const value = found[key]
      return [key, value === null || value === undefined ? '' : tidy(value / factor)]
    }),
  )
}

export function parameterBody(values: Values, figures: readonly Figure[]): Record<string, number | null> {
  return Object.fromEntries(
    [...figures, { key: 'rampRate' } as Figure].map(({ key, factor = 1, unit }) => {
      const text = (values[key] ?? '').trim()
      return [key, text === '' ? null : Number(tidy(numberFrom(text, unit) * factor))]
    }),
  )
}

export function unavailabilityValues({ type, start, end, volume, description }: Unavailability, zone: Zone): Values {
  const { charge, discharge } = volume.powerCapacity
  return {
    type,
    start: localInput(Date.parse(start), zone),
    end: localInput(Date.parse(end), zone),
    power: tidy(discharge / 1000),
    energy: tidy(volume.energyCapacity / 1000),
    description,
    storedStart: start,
    storedEnd: end,
    storedCharge: String(charge),
    storedDischarge: String(discharge),
  }
}

export function unavailabilityBody(values: Values, zone: Zone) {
  const of = (key: string): string => values[key] ?? ''
  const kw = (key: string, unit: string): number => Number(tidy(numberFrom(of(key), unit) * 1000))
  const power = kw('power', 'MW')
  // One field stands for both directions; where they were told apart and it was not touched, they stay so.
  const isSame = of('power') === tidy(Number(of('storedDischarge')) / 1000)
  return {
    type: of('type'),
    start: instantFrom(of('start'), of('storedStart'), zone),
    end: instantFrom(of('end'), of('storedEnd'), zone),
    description: of('description'),
    volume: {
      energyCapacity: kw('energy', 'MWh'),
      powerCapacity: isSame
        ? { charge: Number(of('storedCharge')), discharge: Number(of('storedDischarge')) }
        : { charge: power, discharge: power },
    },
  }
}
