/** Hour by day: what was earned when. The repeated hour of autumn splits its cell; spring has none. */
import { useSize } from '../../shared/charts/size'
import { decimal } from '../../shared/format'
import { addDays, type Day, dayOf, hoursOf, type Span } from '../../shared/time/marketDay'
import { Card } from '../../shared/ui/Card'
import type { Bucket } from './data'

const LEFT = 34
const TOP = 4
const ROW = 6
const BOTTOM = 22

interface Props {
  hours: Bucket[]
  span: Span
  chosen: Day
}

export function HeatMap({ hours, span, chosen }: Props) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const values = new Map(hours.map((bucket) => [bucket.time, bucket.total]))
  const days: Day[] = []
  for (let day = dayOf(span.start); day < dayOf(span.end); day = addDays(day, 1)) days.push(day)
  const most = Math.max(1, ...hours.map((bucket) => bucket.total))
  const least = Math.min(0, ...hours.map((bucket) => bucket.total))
  const column = Math.max(1, (width - LEFT - 12) / days.length)
  const height = TOP + 24 * ROW + BOTTOM
  const shade = (value: number) =>
    value >= 0
      ? `color-mix(in srgb, var(--brand) ${Math.round(8 + (value / most) * 92)}%, var(--surface))`
      : `color-mix(in srgb, var(--charge) ${Math.round(10 + (value / Math.min(-1, least)) * 80)}%, var(--surface))`
  return (
    <Card
      title="Hour by hour"
      note="EUR, hour × day"
      actions={
        <span className="note heat-scale">
          <span aria-hidden="true" />
          {decimal(least)} … +{decimal(most)}
        </span>
      }
    >
      <div ref={ref} className="heat">
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`Revenue of ${days.length} days by the hour, between ${decimal(least)} and ${decimal(most)} EUR.`}
          >
            {[0, 6, 12, 18].map((hour) => (
              <text key={hour} x={LEFT - 8} y={TOP + hour * ROW + 8} textAnchor="end" className="axis">
                {String(hour).padStart(2, '0')}
              </text>
            ))}
            {days.map((day, index) => (
              <g key={day}>
                {cellsOf(day).map(({ start, hour, part }) => {
                  const value = values.get(start)
                  if (value === undefined) return null
                  const share = part === null ? 1 : 0.5
                  return (
                    <rect
                      key={start}
                      x={LEFT + index * column + (part === 1 ? column / 2 : 0)}
                      width={Math.max(0.5, column * share - 1)}
                      y={TOP + hour * ROW}
                      height={ROW - 1}
                      style={{ fill: shade(value) }}
                    />
                  )
                })}
                {day === chosen && (
                  <rect
                    x={LEFT + index * column - 1}
                    width={column + 1}
                    y={TOP - 2}
                    height={24 * ROW + 3}
                    className="heat-chosen"
                  />
                )}
              </g>
            ))}
            {days.map((day, index) => {
              const count = hoursOf(day).length
              const isOdd = count !== 24
              const isCrowded = [1, 2].some((near) =>
                [index - near, index + near].some((at) => days[at] && hoursOf(days[at]).length !== 24),
              )
              if (!isOdd && (isCrowded || !(day === chosen || index % 7 === 2))) return null
              return (
                <text
                  key={day}
                  x={LEFT + (index + 0.5) * column}
                  y={height - 6}
                  textAnchor="middle"
                  className={`axis ${isOdd ? 'heat-odd' : ''}`}
                >
                  {Number(day.slice(8))}
                  {isOdd ? `, ${count} h` : ''}
                </text>
              )
            })}
          </svg>
        )}
      </div>
    </Card>
  )
}

function cellsOf(day: Day): { start: number; hour: number; part: 0 | 1 | null }[] {
  return hoursOf(day).map(({ start, hour, label }) => ({
    start,
    hour,
    part: label.endsWith('A') ? 0 : label.endsWith('B') ? 1 : null,
  }))
}
