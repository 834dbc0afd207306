import { plural } from '../../shared/format'
import { Button, IconButton } from '../../shared/ui/Button'
import { Legend, type LegendItem } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import type { Prices } from '../virtual-assets/data'
import type { Draft } from './draft'
import { knownUntil } from './hooks'

const LEGEND: LegendItem[] = [
  { label: 'discharge', color: 'var(--discharge)' },
  { label: 'charge', color: 'var(--charge)' },
  { label: 'stored', color: 'var(--ink)', kind: 'line' },
  { label: 'state of charge', color: 'var(--soc)', kind: 'line' },
  { label: 'open', color: 'var(--discharge)', kind: 'hatch' },
]

interface Props {
  count: number
  chosen: number
  /** Of the chosen, those with something to repair. */
  wrong: number
  /** The day before, `Mon 16 Nov`. */
  before: string
  mayEdit: boolean
  mayDecide: boolean
  prices: Prices
  start: number
  progress: { done: number; of: number } | null
  draft: Draft
  onTickAll: (isOn: boolean) => void
  onOptimise: () => void
  onRepair: () => void
  onCopy: () => void
  onPaste: () => void
  onStep: (type: 'undo' | 'redo') => void
  onCSV: () => void
  onExcel: () => void
}

/** What can be done with the batteries that are ticked. */
export function Tools(props: Props) {
  const { count, chosen, wrong, before, mayEdit, mayDecide, prices, start, progress, draft } = props
  const zone = useZone()
  const isPriced = prices.values.length > 0 && !prices.values.includes(null)
  const none = chosen === 0
  return (
    <div className="plan-tools">
      <label className="plan-all">
        <input
          type="checkbox"
          ref={(box) => {
            if (box) box.indeterminate = !none && chosen < count
          }}
          checked={chosen === count}
          onChange={() => props.onTickAll(chosen < count)}
        />
        <strong>
          {chosen} of {count} selected
        </strong>
      </label>
      {mayEdit && mayDecide && (
        <>
          <Button isCompact isBusy={progress !== null} disabled={none || !isPriced} onClick={props.onOptimise}>
            Optimise {chosen} <kbd>O</kbd>
          </Button>
          <Button isCompact isBusy={progress !== null} disabled={wrong === 0} onClick={props.onRepair}>
            Repair {wrong} <kbd>R</kbd>
          </Button>
        </>
      )}
      {mayEdit && (
        <>
          <Button isCompact disabled={none} onClick={props.onCopy}>
            Copy {before}
          </Button>
          <Button isCompact onClick={props.onPaste}>
            Paste
          </Button>
          <IconButton
            name="undo"
            label="Undo"
            disabled={draft.undo.length === 0}
            onClick={() => props.onStep('undo')}
          />
          <IconButton
            name="redo"
            label="Redo"
            disabled={draft.redo.length === 0}
            onClick={() => props.onStep('redo')}
          />
        </>
      )}
      <Button isCompact icon="download" onClick={props.onCSV}>
        CSV
      </Button>
      <Button isCompact icon="download" onClick={props.onExcel}>
        Excel
      </Button>
      {progress && (
        <span role="status">
          {progress.done} of {plural(progress.of, 'battery', 'batteries')} · Esc stops
        </span>
      )}
      {!isPriced && (
        <span className="note">{knownUntil(prices, start, zone)}, so there is nothing to optimise for.</span>
      )}
      <Legend items={LEGEND} />
    </div>
  )
}
