/** When it is not all there: a bar for each unavailability, and one for what is being written. */
import type { Scale } from '../../../shared/charts/scale'
import { megawatts, words } from '../../../shared/format'
import type { Span } from '../../../shared/time/marketDay'
import { isPlanned, type Unavailability } from '../data'
import type { Draft } from '../UnavailabilityForm'

export const ROWS = { unplanned: 12, planned: 38 }
const BAR = 16

interface BarProps {
  item: Unavailability
  x: Scale
  span: Span
  width: number
  draft: Draft | null
}

export function Bar({ item, x, span, width, draft }: BarProps) {
  const row = isPlanned(item.type) ? 'planned' : 'unplanned'
  const start = x(Math.max(span.start, Date.parse(item.start)))
  const end = x(Math.min(span.end, Date.parse(item.end)))
  const power = Math.max(item.volume.powerCapacity.charge, item.volume.powerCapacity.discharge)
  const isLate = end > width - 150
  // The draft says what it is; a label under it would not be read.
  const isCovered =
    draft !== null && isPlanned(draft.type) === isPlanned(item.type) && Math.abs(x(draft.start) - start) < 150
  return (
    <g>
      <rect x={start} width={Math.max(5, end - start)} y={ROWS[row]} height={BAR} rx={3} className={`gantt-${row}`} />
      {!isCovered && (
        <text
          x={isLate ? start - 6 : Math.max(start + 5, end) + 6}
          y={ROWS[row] + 12}
          textAnchor={isLate ? 'end' : 'start'}
          className="axis"
        >
          <tspan className="axis-strong">{words(item.type)}</tspan> {megawatts(power)} MW
        </text>
      )}
    </g>
  )
}

export function DraftBar({ draft, x }: { draft: Draft; x: Scale }) {
  const row = isPlanned(draft.type) ? 'planned' : 'unplanned'
  const end = Math.max(x(draft.start) + 6, x(draft.end))
  return (
    <g>
      <rect x={x(draft.start)} width={end - x(draft.start)} y={ROWS[row]} height={BAR} rx={3} className="gantt-draft" />
      <text x={end + 6} y={ROWS[row] + 12} className="axis draft-text">
        <tspan className="axis-strong draft-text">this draft</tspan> {megawatts(draft.powerKw)} MW
      </text>
    </g>
  )
}
