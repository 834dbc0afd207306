import type { PhysicalAsset } from '../../shared/api/resources'
import { useNow } from '../../shared/clock'
import { decimal, megawatts, signed } from '../../shared/format'
import { QUARTER_MS, quarterAt } from '../../shared/time/marketDay'
import { age, time, timeS } from '../../shared/time/words'
import { type Figure, Figures } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import { type Absence, type DispatchPoint, type Points, type Telemetry, useAssetHealth } from './data'

const STALE_MS = 5 * 60_000
const MINUTE_MS = 60_000

interface Props {
  asset: PhysicalAsset
  telemetry: Telemetry
  isLive: boolean
  /** Why there is no telemetry: it is being read, could not be read, or there is none. */
  absence: Absence
  dispatch: DispatchPoint[] | undefined
}

export function LiveFigures({ asset, telemetry, isLive, absence, dispatch }: Props) {
  const zone = useZone()
  const now = useNow()
  const health = useAssetHealth(asset.id)
  const { parameters } = asset
  const charge = telemetry.state_of_charge.at(-1)
  const power = meanOfLastMinute(telemetry.active_power)
  const temperature = telemetry.temperature.at(-1)
  const last = Math.max(
    ...[telemetry.active_power.at(-1)?.[0] ?? 0, charge?.[0] ?? 0, toMs(health.data?.lastTelemetryAt)],
  )
  const isStale = last > 0 && now - last > STALE_MS
  const old = age(now - last)
  const quarter = quarterAt(now)
  const due = dispatch?.find((point) => Date.parse(point.time) === quarter)
  const available = health.data?.availablePower
  const isReduced =
    available &&
    (available.discharge < parameters.ratedDischargePower || available.charge < parameters.ratedChargePower)

  const figures: Figure[] = [
    {
      label: 'State of charge',
      value: charge ? decimal(charge[1], 1) : '–',
      unit: '%',
      below: charge
        ? `${decimal((charge[1] / 100) * (parameters.energyCapacity / 1000), 1)} of ${megawatts(parameters.energyCapacity)} MWh stored`
        : { loading: 'being read', failed: 'could not be read', none: 'no telemetry today' }[absence],
    },
    {
      label: 'Power, 1 min mean',
      value: power === null ? '–' : signed(power / 1000, 2),
      unit: 'MW',
      below: due
        ? `dispatched ${signed(due.power / 1000, 2)} MW until ${time(quarter + QUARTER_MS, zone)}`
        : 'export is positive',
    },
    {
      label: 'Available',
      value: available ? megawatts(Math.min(available.charge, available.discharge)) : '–',
      unit: `of ${megawatts(parameters.ratedDischargePower)} MW`,
      below: isReduced ? 'less than rated' : 'both directions',
      tone: isReduced ? 'warning' : 'good',
    },
  ]
  if (temperature)
    figures.push({
      label: 'Temperature',
      value: decimal(temperature[1], 1),
      unit: '°C',
      below: `at ${time(temperature[0], zone)}`,
    })
  figures.push({
    label: 'Telemetry',
    value: last > 0 ? (old.split(' ')[0] ?? '') : '–',
    unit: last > 0 ? `${old.split(' ')[1]} ago` : '',
    below:
      last === 0
        ? { loading: 'being read', failed: 'could not be read', none: 'none yet' }[absence]
        : isStale
          ? `stale since ${timeS(last, zone)}`
          : `${isLive ? 'live' : 'not live'}, ${timeS(last, zone)}`,
    tone: (last === 0 && absence !== 'loading') || isStale ? 'warning' : 'good',
  })
  return <Figures figures={figures} />
}

function toMs(text: string | null | undefined): number {
  return text ? Date.parse(text) : 0
}

function meanOfLastMinute(points: Points): number | null {
  const last = points.at(-1)
  if (!last) return null
  const recent = points.filter(([at]) => at > last[0] - MINUTE_MS)
  return recent.reduce((sum, [, value]) => sum + value, 0) / recent.length
}
