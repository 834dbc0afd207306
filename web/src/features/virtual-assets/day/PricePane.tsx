import { PaneTitle, ValueAxis } from '../../../shared/charts/panes'
import { linear, stepPath, ticks } from '../../../shared/charts/scale'
import { decimal } from '../../../shared/format'
import { QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import type { Prices } from '../data'
import { type Drawing, EDGES } from './drawing'

/** The price of the day, or what it is expected to be. */
export function PricePane({
  plan,
  x,
  width,
  panes,
  read,
  prices,
  span,
}: Drawing & { prices: Prices | undefined; span: Span }) {
  const { top, height } = panes.price
  const values = prices?.values ?? []
  const known = values.filter((price): price is number => price !== null)
  const title = prices?.isForecast ? 'Expected price' : 'Day-ahead price'
  if (known.length === 0) return <PaneTitle edges={EDGES} width={width} top={top} title={title} note="not known yet" />
  const [low, high] = [Math.min(0, ...known), Math.max(...known, 10)]
  const y = linear(low, high, top + height, top)
  const at = read === null ? null : Math.round(((plan.quarters[read] ?? 0) - span.start) / QUARTER_MS)
  const pointed = at === null ? null : (values[at] ?? null)
  return (
    <>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={top}
        title={title}
        note="EUR/MWh · DE-LU"
        aside={pointed === null ? `low ${decimal(Math.min(...known))} €, high` : ''}
        value={pointed === null ? `${decimal(Math.max(...known))} €` : `${decimal(pointed, 2)} €`}
        tone="var(--price)"
      />
      <ValueAxis edges={EDGES} width={width} values={ticks(low, high, 3)} scale={y} tell={(value) => decimal(value)} />
      <path
        d={stepPath(
          values.map((price, index) => [x(span.start + index * QUARTER_MS), price === null ? null : y(price)] as const),
          x(span.end),
        )}
        className={prices?.isForecast ? 'price-line is-plan' : 'price-line'}
      />
    </>
  )
}
