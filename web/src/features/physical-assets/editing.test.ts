import { describe, expect, test } from 'bun:test'
import { parameterBody, parameterValues, unavailabilityBody, unavailabilityValues } from './editing'

const outage = {
  type: 'OUTAGE',
  start: '2026-10-25T01:30:20Z',
  end: '2026-10-25T09:00:00Z',
  description: 'Inverter tripped',
  volume: { energyCapacity: 4350.5, powerCapacity: { charge: 2000, discharge: 1005 } },
} as never

describe('an unavailability of which only the reason is changed', () => {
  for (const zone of ['Europe/Berlin', 'UTC'] as const)
    test(`keeps its seconds, its place in the repeated hour and both directions, in ${zone}`, () => {
      const values = { ...unavailabilityValues(outage, zone), description: 'Fan replaced' }
      expect(unavailabilityBody(values, zone)).toEqual({ ...(outage as object), description: 'Fan replaced' } as never)
    })

  test('takes what is typed in place of what was stored', () => {
    const values = { ...unavailabilityValues(outage, 'Europe/Berlin'), end: '2026-10-25 11:00', power: '3,5' }
    const { start, end, volume } = unavailabilityBody(values, 'Europe/Berlin')
    expect([start, end]).toEqual(['2026-10-25T01:30:20Z', '2026-10-25T10:00:00Z'])
    expect(volume.powerCapacity).toEqual({ charge: 3500, discharge: 3500 })
  })
})

test('a new version of parameters keeps the ramp rate of the version that was read', () => {
  const figures = [{ key: 'ratedChargePower', factor: 1000 }, { key: 'dailyCycleLimit' }]
  const values = parameterValues({ ratedChargePower: 20_000, dailyCycleLimit: 2, rampRate: 450 } as never, figures)
  expect(parameterBody({ ...values, dailyCycleLimit: '' }, figures)).toEqual({
    ratedChargePower: 20_000,
    dailyCycleLimit: null,
    rampRate: 450,
  })
})
