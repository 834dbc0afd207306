/** Revenue by product, one stack for each bucket: gains up, losses down, a gap between the parts. */
import type { KeyboardEvent } from 'react'
import { linear, type Scale, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, euro } from '../../shared/format'
import { type Bucket, PRODUCTS, type Product } from './data'

const LEFT = 52
const RIGHT = 12
const BOTTOM = 26
const TOP = 10

interface Props {
  buckets: Bucket[]
  height: number
  /** Under a bucket; empty for most. */
  labelOf: (bucket: Bucket, index: number) => string
  name: string
  chosen?: number
  onChoose?: (index: number) => void
  gap?: number
  /** Bottom to top. */
  products?: readonly Product[]
}

const HALF_LABEL = 18

export function Stacks({ buckets, height, labelOf, name, chosen, onChoose, gap = 0.25, products = PRODUCTS }: Props) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const sums = buckets.map((bucket) => {
    const values = products.map(({ key }) => bucket.parts[key] ?? 0)
    return {
      up: values.filter((value) => value > 0).reduce((sum, value) => sum + value, 0),
      down: values.filter((value) => value < 0).reduce((sum, value) => sum + value, 0),
    }
  })
  const high = Math.max(1, ...sums.map((sum) => sum.up))
  const low = Math.min(0, ...sums.map((sum) => sum.down))
  const y = linear(low, high, height - BOTTOM, TOP)
  const step = (width - LEFT - RIGHT) / Math.max(1, buckets.length)
  const thousand = high >= 10_000
  return (
    <div ref={ref}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={name}>
          {ticks(low, high, Math.max(2, Math.floor(height / 45))).map((value) => (
            <g key={value}>
              <line
                x1={LEFT}
                x2={width - RIGHT}
                y1={y(value)}
                y2={y(value)}
                className={value === 0 ? 'axis-line' : 'grid-line'}
              />
              <text x={LEFT - 8} y={y(value) + 4} textAnchor="end" className="axis">
                {thousand && value !== 0 ? `${decimal(value / 1000)}k` : decimal(value)}
              </text>
            </g>
          ))}
          {chosen !== undefined && chosen >= 0 && (
            <rect
              x={LEFT + chosen * step}
              width={step}
              y={TOP}
              height={height - BOTTOM - TOP}
              className="stack-chosen"
            />
          )}
          {products.map(({ key, colour }, place) => (
            <path key={key} d={pathOf(buckets, products, place, { step, gap, y })} style={{ fill: colour }} />
          ))}
          {buckets.map((bucket, index) => {
            const text = labelOf(bucket, index)
            const x = LEFT + (index + 0.5) * step
            // A label that would leave the chart ends with it.
            const isLast = x + HALF_LABEL > width
            return text ? (
              <text
                key={bucket.time}
                x={isLast ? width - 2 : x}
                y={height - 8}
                textAnchor={isLast ? 'end' : 'middle'}
                className={`axis ${index === chosen ? 'axis-strong' : ''}`}
              >
                {text}
              </text>
            ) : null
          })}
        </svg>
      )}
      {onChoose && (
        <div
          className="stack-buttons"
          role="toolbar"
          aria-label={`${name}: choose one`}
          style={{ paddingLeft: LEFT, paddingRight: RIGHT, height: height - BOTTOM }}
          onKeyDown={(event) => walk(event, buckets.length, chosen ?? 0, onChoose)}
        >
          {buckets.map((bucket, index) => (
            <button
              key={bucket.time}
              type="button"
              tabIndex={index === (chosen ?? 0) ? 0 : -1}
              aria-label={`${labelOf(bucket, -1)}, ${euro(bucket.total)}`}
              aria-pressed={index === chosen}
              onClick={() => onChoose(index)}
            />
          ))}
        </div>
      )}
    </div>
  )
}

/** Arrows walk along the buckets: one stop for Tab, however many there are. */
function walk(event: KeyboardEvent<HTMLElement>, count: number, from: number, onChoose: (index: number) => void): void {
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }
  const step = steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  const next = Math.min(count - 1, Math.max(0, from + step))
  onChoose(next)
  ;(event.currentTarget.children[next] as HTMLElement | undefined)?.focus()
}

interface Drawn {
  step: number
  gap: number
  y: Scale
}

/** All pieces of one product as one path: what a year has is drawn as quickly as a week. */
function pathOf(buckets: Bucket[], products: readonly Product[], place: number, { step, gap, y }: Drawn): string {
  const width = Math.max(0.5, step * (1 - gap)).toFixed(2)
  let path = ''
  buckets.forEach((bucket, index) => {
    const values = products.map(({ key }) => bucket.parts[key] ?? 0)
    const value = values[place] ?? 0
    if (value === 0) return
    const from = values
      .slice(0, place)
      .reduce((sum, each) => (Math.sign(each) === Math.sign(value) ? sum + each : sum), 0)
    const top = Math.min(y(from), y(from + value))
    const size = Math.abs(y(from + value) - y(from))
    const x = (LEFT + index * step + (step * gap) / 2).toFixed(2)
    path += `M${x} ${top.toFixed(2)}h${width}v${Math.max(0, size > 3 ? size - 0.8 : size).toFixed(2)}h-${width}z`
  })
  return path
}
