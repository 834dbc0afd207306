/** The panes over and under the rows, on their axis of time: the price with its band, and the position by market. */
import { memo } from 'react'
import { Hatch, HourLines, PaneTitle, TimeAxis, ValueAxis } from '../../shared/charts/panes'
import { linear, type Scale, stepPath, ticks } from '../../shared/charts/scale'
import { decimal, signed } from '../../shared/format'
import { QUARTER_MS, type Span, type Zone } from '../../shared/time/marketDay'
import { quarter, time } from '../../shared/time/words'
import type { Prices } from '../virtual-assets/data'
import type { Band } from './data'

interface Axis {
  span: Span
  zone: Zone
  x: Scale
  width: number
  /** Left of the rows' charts. */
  left: number
  /** The quarter-hour of the day whose values are read. */
  read: number | null
}

const PRICE = { top: 26, height: 86 }

export function PricePane({ prices, band, ...axis }: Axis & { prices: Prices; band: Band | undefined }) {
  const { span, zone, x, width, left, read } = axis
  const known = prices.values.filter((one): one is number => one !== null)
  const until = span.start + prices.published * QUARTER_MS
  const edges = { left, right: 0 }
  const priceRead = read === null ? null : (prices.values[read] ?? null)
  const isExpected = read !== null && read >= prices.published
  const [p10, p90] = read === null ? [null, null] : [band?.p10[read] ?? null, band?.p90[read] ?? null]
  return (
    <svg className="plan-pane" width={width} height={PRICE.top + PRICE.height + 6} role="img" aria-label="Price">
      <PaneTitle
        edges={edges}
        width={width}
        top={PRICE.top}
        title="Price"
        note={
          prices.published === prices.values.length
            ? 'EUR/MWh · day-ahead'
            : known.length < prices.values.length
              ? `EUR/MWh · known until ${time(span.start + known.length * QUARTER_MS, zone)}`
              : `EUR/MWh · expected from ${time(until, zone)}, P10–P90`
        }
        aside={
          read === null
            ? ''
            : `${quarter(span.start + read * QUARTER_MS, zone)}${isExpected && p10 !== null && p90 !== null ? ` · P10 ${decimal(p10)}, P90 ${decimal(p90)} · expected` : ''}`
        }
        isShort
        value={priceRead === null ? '' : `${decimal(priceRead, 2)} €`}
        tone="var(--price)"
      />
      <PriceLines span={span} zone={zone} x={x} width={width} left={left} prices={prices} band={band} />
      <Cross x={x} span={span} read={read} top={PRICE.top} bottom={PRICE.top + PRICE.height + 6} />
    </svg>
  )
}

interface LineProps extends Omit<Axis, 'read'> {
  prices: Prices
  band: Band | undefined
}

const PriceLines = memo(function PriceLines({ span, zone, x, width, left, prices, band }: LineProps) {
  const { top, height } = PRICE
  const shown = prices.values.map((value, index) => ({
    value,
    low: index >= prices.published ? (band?.p10[index] ?? value) : value,
    high: index >= prices.published ? (band?.p90[index] ?? value) : value,
  }))
  const all = shown.flatMap(({ value, low, high }) => [value, low, high]).filter((one): one is number => one !== null)
  const [low, high] = [Math.min(0, ...all), Math.max(10, ...all)]
  const y = linear(low, high, top + height, top)
  const at = (index: number) => x(span.start + index * QUARTER_MS)
  const points = shown.map(({ value }, index) => [at(index), value === null ? null : y(value)] as const)
  return (
    <>
      <HourLines span={span} zone={zone} x={x} top={top} bottom={top + height + 6} />
      <ValueAxis edges={{ left, right: 0 }} width={width} values={ticks(low, high, 3)} scale={y} tell={decimal} />
      {shown.map(({ low: from, high: to }, index) =>
        from === null || to === null || from === to ? null : (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: quarter-hours of one day in their order
            key={index}
            x={at(index)}
            width={at(index + 1) - at(index)}
            y={y(to)}
            height={y(from) - y(to)}
            className="plan-band"
          />
        ),
      )}
      <path d={stepPath(points.slice(0, prices.published), at(prices.published))} className="price-line" />
      <path d={stepPath(points.slice(prices.published), x(span.end))} className="price-line is-plan" />
    </>
  )
})

function Cross({ x, span, read, top, bottom }: Pick<Axis, 'x' | 'span' | 'read'> & { top: number; bottom: number }) {
  if (read === null) return null
  const at = x(span.start + (read + 0.5) * QUARTER_MS)
  return <line x1={at} x2={at} y1={top} y2={bottom} className="plan-cross" />
}

export interface Position {
  /** MW of each quarter-hour of the day, all batteries shown. */
  scheduled: number[]
  dayAhead: number[]
  later: number[]
}

const POSITION = { top: 26, height: 74 }

/** What was traded, market by market, and what of the plans is open. */
export function PositionPane({ position, note, ...axis }: Axis & { position: Position; note: string }) {
  const { span, zone, x, width, left, read } = axis
  const { top, height } = POSITION
  const isWide = width - left > 520
  const reach = Math.max(1, ...position.scheduled.map(Math.abs), ...position.dayAhead.map(Math.abs))
  const y = linear(-reach, reach, top + height, top)
  const power = read === null ? null : (position.scheduled[read] ?? 0)
  return (
    <svg className="plan-pane" width={width} height={top + height + 24} role="img" aria-label={`Position. ${note}`}>
      <PaneTitle
        edges={{ left, right: 0 }}
        width={width}
        top={top}
        title="Position by market"
        note={isWide ? 'MW · export up' : 'MW'}
        aside={
          read === null
            ? isWide
              ? note
              : note.replace(/, next gate.*/, '')
            : quarter(span.start + read * QUARTER_MS, zone)
        }
        value={power === null ? '' : `${signed(power)} MW`}
      />
      <Bars {...{ span, zone, x, width, left, position, reach }} y={y} />
      <TimeAxis span={span} zone={zone} x={x} y={top + height + 18} now={0} />
      <Cross x={x} span={span} read={read} top={top} bottom={top + height} />
    </svg>
  )
}

interface BarsProps extends Omit<Axis, 'read'> {
  position: Position
  reach: number
  y: Scale
}

const Bars = memo(function Bars({ span, zone, x, width, left, position, reach, y }: BarsProps) {
  const { top, height } = POSITION
  const at = (index: number) => x(span.start + index * QUARTER_MS)
  return (
    <>
      <defs>
        <Hatch name="plan-open-out" tone="var(--discharge)" />
        <Hatch name="plan-open-in" tone="var(--charge)" />
      </defs>
      <HourLines span={span} zone={zone} x={x} top={top} bottom={top + height} />
      <ValueAxis edges={{ left, right: 0 }} width={width} values={[-reach, 0, reach]} scale={y} tell={tellReach} />
      {position.scheduled.map((scheduled, index) => {
        const dayAhead = position.dayAhead[index] ?? 0
        const later = position.later[index] ?? 0
        const parts = [
          { mw: dayAhead, className: dayAhead > 0 ? 'bar-out' : 'bar-in' },
          { mw: later, className: `${later > 0 ? 'bar-out' : 'bar-in'} is-closed` },
          { mw: scheduled - dayAhead - later, className: '' },
        ]
        let [up, down] = [0, 0]
        return parts.map(({ mw, className }, part) => {
          if (Math.abs(mw) < 0.005) return null
          const from = mw > 0 ? up : down
          if (mw > 0) up += mw
          else down += mw
          return (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: quarter-hours of one day in their order
              key={`${index}-${part}`}
              x={at(index) + 0.5}
              width={Math.max(1, at(index + 1) - at(index) - 1)}
              y={Math.min(y(from), y(from + mw))}
              height={Math.abs(y(from + mw) - y(from))}
              className={className || undefined}
              fill={className ? undefined : `url(#plan-open-${mw > 0 ? 'out' : 'in'})`}
            />
          )
        })
      })}
    </>
  )
})

const tellReach = (value: number) => signed(value, 0)
