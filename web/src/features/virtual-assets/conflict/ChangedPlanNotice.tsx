import type { VirtualAsset } from '../../../shared/api/resources'
import { clock } from '../../../shared/clock'
import { plural } from '../../../shared/format'
import { QUARTER_MS } from '../../../shared/time/marketDay'
import { ChangedNotice } from '../../../shared/ui/ChangedNotice'
import type { DayPlan } from '../data'
import { useChangeSince } from './versions'

interface Props {
  asset: VirtualAsset
  base: DayPlan
  theirs: DayPlan
  onCompare: () => void
}

export function ChangedPlanNotice({ asset, base, theirs, onCompare }: Props) {
  const change = useChangeSince(asset, base.version, theirs.version, spanOfPlan(theirs))
  const count = theirs.powersKw.filter((power, index) => power !== base.powersKw[index]).length
  if (count === 0) return null
  return (
    <ChangedNotice
      author={change.data?.author ?? 'A colleague'}
      did={`changed ${plural(count, 'quarter-hour')}`}
      at={change.data?.savedAt ?? clock.now()}
      onCompare={onCompare}
    >
      Your changes are kept.
    </ChangedNotice>
  )
}

export function spanOfPlan(plan: DayPlan): [number, number] {
  return [plan.quarters[0] ?? 0, (plan.quarters.at(-1) ?? 0) + QUARTER_MS]
}
