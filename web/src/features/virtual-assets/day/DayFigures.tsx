import type { VirtualAsset } from '../../../shared/api/resources'
import { useNow } from '../../../shared/clock'
import { decimal, euro, signedEuro } from '../../../shared/format'
import { QUARTER_MS } from '../../../shared/time/marketDay'
import { countdown, time } from '../../../shared/time/words'
import { type Figure, Figures } from '../../../shared/ui/Card'
import { useZone } from '../../../shared/zone'
import { nextGate } from '../../overview/next'
import type { DayPlan } from '../data'
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
  isForecast: boolean
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
  isForecast,
}: FiguresProps) {
  const zone = useZone()
  const now = useNow()
  const index = Math.max(0, plan.quarters.filter((at) => at <= now).length - 1)
  const storedKwh = energiesKwh[index] ?? 0
  const offKwh = endKwh - 0.5 * asset.energyCapacity
  const isBalanced = Math.abs(offKwh) <= asset.finalSoCTolerance * asset.energyCapacity + 1e-6
  const worth = value(powersKw, prices)
  const before = value(plan.powersKw, prices)
  const spent = cycles(powersKw, {
    ...asset,
    energyCapacityKwh: asset.energyCapacity,
    availableEnergyKwh: asset.availableEnergyCapacity,
  })
  const gate = nextGate(now, asset.dispatchGateClosureSeconds)
  const end: Figure = {
    label: 'End of delivery',
    value: decimal((endKwh / asset.energyCapacity) * 100, 1),
    unit: '%',
    below:
      breachIndex !== null
        ? `out of bounds at ${time(plan.quarters[breachIndex] ?? 0, zone)}`
        : isBalanced
          ? 'balanced at 50 %'
          : `${decimal(Math.abs(offKwh) / 1000, 2)} MWh ${offKwh < 0 ? 'short of' : 'above'} 50 %`,
    tone: breachIndex !== null ? 'danger' : isBalanced ? 'good' : 'warning',
  }
  const gain = worth !== null && before !== null ? worth - before : null
  const figures: Figure[] = [
    {
      label: 'State of charge',
      value: decimal((storedKwh / asset.energyCapacity) * 100, 1),
      unit: '%',
      below: `${decimal(storedKwh / 1000, 1)} of ${decimal(asset.energyCapacity / 1000)} MWh stored`,
    },
    end,
    {
      label: isForecast ? 'Plan value, expected' : 'Plan value, day-ahead',
      value: worth === null ? '–' : euro(worth, 0),
      below:
        worth === null
          ? 'prices are not known yet'
          : isEdited && breachIndex === null && gain !== null
            ? `${signedEuro(gain)} against what is stored`
            : `${euro(worth / (asset.ratedDischargePower / 1000), 0)} per MW`,
    },
    {
      label: 'Cycles of the day',
      value: decimal(spent, 2),
      unit: asset.dailyCycleLimit ? `of ${decimal(asset.dailyCycleLimit)}` : '',
      below: asset.dailyCycleLimit && spent > asset.dailyCycleLimit ? 'beyond the limit' : 'exported over capacity',
    },
    {
      label: 'Next gate',
      value: countdown(gate.gate - now),
      below: `for ${time(gate.start, zone)}–${time(gate.start + QUARTER_MS, zone)}`,
    },
  ]
  if (asset.dailyCycleLimit && spent > asset.dailyCycleLimit && figures[3]) figures[3].tone = 'warning'
  return <Figures figures={figures} />
}
