import type { VirtualAsset } from '../../../shared/api/resources'
import { useNow } from '../../../shared/clock'
import { plural } from '../../../shared/format'
import { QUARTER_MS } from '../../../shared/time/marketDay'
import { age } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { Icon } from '../../../shared/ui/Icon'
import type { DayPlan } from '../data'
import { useChangeSince } from './versions'

interface Props {
  asset: VirtualAsset
  base: DayPlan
  theirs: DayPlan
  onCompare: () => void
}

/** Told while the reader still edits, before saving finds out. */
export function ChangedNotice({ asset, base, theirs, onCompare }: Props) {
  const now = useNow()
  const change = useChangeSince(asset, base.version, theirs.version, spanOfPlan(theirs))
  const count = theirs.powersKw.filter((power, index) => power !== base.powersKw[index]).length
  if (count === 0) return null
  const author = change.data?.author ?? 'A colleague'
  const passed = change.data ? now - change.data.savedAt : 0
  return (
    <div className="changed-notice" role="status">
      <Icon name="user" />
      <p>
        <strong>{author}</strong> changed {plural(count, 'quarter-hour')}{' '}
        {passed < 90_000 ? 'just now' : `${age(passed)} ago`}. Your changes are kept.
      </p>
      <Button isCompact onClick={onCompare}>
        Compare
      </Button>
    </div>
  )
}

export function spanOfPlan(plan: DayPlan): [number, number] {
  return [plan.quarters[0] ?? 0, (plan.quarters.at(-1) ?? 0) + QUARTER_MS]
}
