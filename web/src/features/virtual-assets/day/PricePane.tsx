import { memo } from 'react'
import { PaneTitle, ValueAxis } from '../../../shared/charts/panes'
import type { Scale } from '../../../shared/charts/scale'
import { linear, stepPath, ticks } from '../../../shared/charts/scale'
import { decimal } from '../../../shared/format'
import { QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import type { Prices } from '../data'
import { type Drawing, EDGES, type Pane } from './drawing'

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
  const { top } = panes.price
  const values = prices?.values ?? []
  const known = values.filter((price): price is number => price !== null)
  const title = prices?.source === 'forecast' ? 'Expected price' : 'Day-ahead price'
  if (!prices || known.length === 0)
    return <PaneTitle edges={EDGES} width={width} top={top} title={title} note="not known yet" />
  const at = read === null ? null : Math.round(((plan.quarters[read] ?? 0) - span.start) / QUARTER_MS)
  const pointed = at === null ? null : (values[at] ?? null)
  return (
    <>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={top}
        title={title}
        note={
          prices.source === 'both'
            ? 'EUR/MWh · DE-LU · dashed: expected, not published yet'
            : prices.source === 'forecast'
              ? 'EUR/MWh · DE-LU · median of the forecast'
              : 'EUR/MWh · DE-LU'
        }
        aside={pointed === null ? `low ${decimal(Math.min(...known))} €, high` : ''}
        value={pointed === null ? `${decimal(Math.max(...known))} €` : `${decimal(pointed, 2)} €`}
        tone="var(--price)"
      />
      <PriceLine pane={panes.price} prices={prices} span={span} x={x} width={width} />
    </>
  )
}

interface LineProps {
  pane: Pane
  prices: Prices
  span: Span
  x: Scale
  width: number
}

/** Prices do not follow the hand that draws a plan: their line stays as it is. */
const PriceLine = memo(function PriceLine({ pane, prices, span, x, width }: LineProps) {
  const { top, height } = pane
  const known = prices.values.filter((price): price is number => price !== null)
  const [low, high] = [Math.min(0, ...known), Math.max(...known, 10)]
  const y = linear(low, high, top + height, top)
  const points = prices.values.map(
    (price, index) => [x(span.start + index * QUARTER_MS), price === null ? null : y(price)] as const,
  )
  const edge = span.start + prices.published * QUARTER_MS
  return (
    <>
      <ValueAxis edges={EDGES} width={width} values={ticks(low, high, 3)} scale={y} tell={decimal} />
      <path d={stepPath(points.slice(0, prices.published), x(edge))} className="price-line" />
      <path d={stepPath(points.slice(prices.published), x(span.end))} className="price-line is-plan" />
    </>
  )
})
