/** Revenue by product, one stack for each bucket: gains up, losses down, a gap between the parts. */
import { linear, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, euro } from '../../shared/format'
import { type Bucket, PRODUCTS } from './data'

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
}

export function Stacks({ buckets, height, labelOf, name, chosen, onChoose, gap = 0.25 }: Props) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const sums = buckets.map((bucket) => {
    const values = PRODUCTS.map(({ key }) => bucket.parts[key] ?? 0)
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
                {thousand ? `${decimal(value / 1000)}k` : decimal(value)}
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
          {buckets.map((bucket, index) => {
            const x = LEFT + index * step + (step * gap) / 2
            let up = 0
            let down = 0
            return (
              <g key={bucket.time}>
                {PRODUCTS.map(({ key, colour }) => {
                  const value = bucket.parts[key] ?? 0
                  if (value === 0) return null
                  const from = value > 0 ? up : down
                  if (value > 0) up += value
                  else down += value
                  const size = Math.abs(y(from + value) - y(from))
                  return (
                    <rect
                      key={key}
                      x={x}
                      width={Math.max(0.5, step * (1 - gap))}
                      y={Math.min(y(from), y(from + value))}
                      height={Math.max(0, size > 3 ? size - 0.8 : size)}
                      style={{ fill: colour }}
                    />
                  )
                })}
                {labelOf(bucket, index) && (
                  <text
                    x={LEFT + (index + 0.5) * step}
                    y={height - 8}
                    textAnchor="middle"
                    className={`axis ${index === chosen ? 'axis-strong' : ''}`}
                  >
                    {labelOf(bucket, index)}
                  </text>
                )}
              </g>
            )
          })}
        </svg>
      )}
      {onChoose && (
        <div className="stack-buttons" style={{ paddingLeft: LEFT, paddingRight: RIGHT, height: height - BOTTOM }}>
          {buckets.map((bucket, index) => (
            <button
              key={bucket.time}
              type="button"
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
