import type { VirtualAsset } from '../../../shared/api/resources'
import { isBalanced } from '../../../shared/balance'
import { useNow } from '../../../shared/clock'
import { decimal, euro, megawatts, percent, signedEuro } from '../../../shared/format'
import { dayOf, QUARTER_MS, type Zone } from '../../../shared/time/marketDay'
import { countdown, quarter, time, weekday } from '../../../shared/time/words'
import { type Figure, Figures } from '../../../shared/ui/Card'
import { useZone } from '../../../shared/zone'
import { nextGate } from '../../overview/next'
import type { DayPlan, PriceSource } from '../data'
import { cycles, value } from '../projection'

interface FiguresProps {
  asset: VirtualAsset
  plan: DayPlan
  powersKw: number[]
  energiesKwh: number[]
  endKwh: number
  breachIndex: number | null
  prices: (number | null)[]
  isEdited: boolean
  source: PriceSource
}

/** Where the plan stands, what it is worth, and how long it can still be changed. */
export function DayFigures({
  asset,
  plan,
  powersKw,
  energiesKwh,
  endKwh,
  breachIndex,
  prices,
  isEdited,
  source,
}: FiguresProps) {
  const zone = useZone()
  const now = useNow()
  const stored = storedAt(plan, energiesKwh, now)
  const offKwh = endKwh - 0.5 * asset.energyCapacity
  const isKept = isBalanced(asset, offKwh)
  // A plan that cannot be run earns nothing that could be named.
  const worth = breachIndex === null ? value(powersKw, prices) : null
  const before = value(plan.powersKw, prices)
  const spent = cycles(powersKw, {
    ...asset,
    energyCapacityKwh: asset.energyCapacity,
    availableEnergyKwh: asset.availableEnergyCapacity,
  })
  // What an optimisation spends to the limit may be off by what doubles make of it.
  const isBeyond = asset.dailyCycleLimit != null && spent > asset.dailyCycleLimit + 1e-6
  const gate = nextGate(now, asset.dispatchGateClosureSeconds, Date.parse(asset.start))
  const end: Figure = {
    label: 'End of delivery',
    value: decimal((endKwh / asset.energyCapacity) * 100, 1),
    unit: '%',
    below:
      breachIndex !== null
        ? `out of bounds in ${quarter(plan.quarters[breachIndex] ?? 0, zone)}`
        : isKept
          ? `within ± ${percent(asset.finalSoCTolerance)} of 50 %`
          : `${decimal(Math.abs(offKwh) / 1000, 2)} MWh ${offKwh < 0 ? 'short of' : 'above'} 50 %`,
    tone: breachIndex !== null ? 'danger' : isKept ? 'good' : 'warning',
  }
  const gain = worth !== null && before !== null ? worth - before : null
  const figures: Figure[] = [
    {
      label: `State of charge, ${stored.when}`,
      value: decimal((stored.kwh / asset.energyCapacity) * 100, 1),
      unit: '%',
      below: `${decimal(stored.kwh / 1000, 1)} of ${megawatts(asset.energyCapacity)} MWh stored`,
    },
    end,
    {
      label: {
        published: 'Plan value, day-ahead',
        forecast: 'Plan value, expected',
        both: 'Plan value, partly expected',
      }[source],
      value: worth === null ? '–' : euro(worth, 0),
      below:
        breachIndex !== null
          ? 'none while the plan is in breach'
          : worth === null
            ? 'prices are not known yet'
            : isEdited && gain !== null
              ? `${signedEuro(gain)} against what is stored`
              : `${euro(worth / (asset.ratedDischargePower / 1000), 0)} per MW`,
    },
    {
      label: 'Cycles of the day',
      value: decimal(spent, 2),
      unit: asset.dailyCycleLimit ? `of ${decimal(asset.dailyCycleLimit)}` : '',
      below: isBeyond ? 'beyond the limit' : 'exported over capacity',
    },
    {
      label: 'Next gate',
      value: gate.start < Date.parse(asset.end) ? `in ${countdown(gate.gate - now)}` : 'over',
      below:
        gate.start >= Date.parse(asset.end)
          ? 'its delivery is over'
          : `${time(gate.gate, zone)}, for ${gateDay(gate.start, now, zone)}${quarter(gate.start, zone)}`,
    },
  ]
  if (isBeyond && figures[3]) figures[3].tone = 'warning'
  return <Figures figures={figures} />
}

/** Of the day that is shown: now, or where the day begins or ends. Within a quarter-hour power is constant. */
function storedAt(plan: DayPlan, energiesKwh: number[], now: number): { kwh: number; when: string } {
  const first = plan.quarters[0] ?? 0
  if (now < first) return { kwh: energiesKwh[0] ?? 0, when: 'start of the day' }
  const place = (now - first) / QUARTER_MS
  if (place >= plan.quarters.length) return { kwh: energiesKwh.at(-1) ?? 0, when: 'end of the day' }
  const index = Math.floor(place)
  const [from, to] = [energiesKwh[index] ?? 0, energiesKwh[index + 1] ?? 0]
  return { kwh: from + (to - from) * (place - index), when: 'now' }
}

function gateDay(start: number, now: number, zone: Zone): string {
  return dayOf(start, zone) === dayOf(now, zone) ? '' : `${weekday(start, zone)} `
}
