/** What the rows of a day share: their axis, what is proposed, and bars by quarter-hour. */
import type { Scale } from '../../shared/charts/scale'
import { QUARTER_MS, type Span, type Zone } from '../../shared/time/marketDay'

export interface Proposed {
  /** kW by quarter-hour, all batteries. */
  change: number[]
  reserved: Map<string, number>
  worth: number
}

export interface Axis {
  span: Span
  zone: Zone
  x: Scale
  width: number
  cross: number | null
}

export function Bars({
  powersKw,
  axis,
  y,
  hatch,
}: {
  powersKw: readonly number[]
  axis: Axis
  y: Scale
  hatch?: string
}) {
  const { span, x } = axis
  const step = x(span.start + QUARTER_MS) - x(span.start)
  return powersKw.map((kw, index) =>
    Math.abs(kw) < 0.5 ? null : (
      <rect
        // biome-ignore lint/suspicious/noArrayIndexKey: quarter-hours of one day in their order
        key={index}
        x={index * step + 0.5}
        width={Math.max(1, step - 1)}
        y={Math.min(y(0), y(kw))}
        height={Math.max(0.5, Math.abs(y(kw) - y(0)))}
        className={hatch ? undefined : kw > 0 ? 'bar-out' : 'bar-in'}
        fill={hatch ? `url(#${hatch}-${kw > 0 ? 'out' : 'in'})` : undefined}
      />
    ),
  )
}
