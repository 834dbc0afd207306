/** Hour by day: what was earned when. The repeated hour of autumn splits its cell; spring has none. */
import { useSize } from '../../shared/charts/size'
import { decimal, euro } from '../../shared/format'
import { addDays, type Day, dayOf, hoursOf, type Span } from '../../shared/time/marketDay'
import { dayMonth } from '../../shared/time/words'
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
  const counts = days.map((day) => hoursOf(day).length)
  const most = Math.max(1, ...hours.map((bucket) => bucket.total))
  const least = Math.min(0, ...hours.map((bucket) => bucket.total))
  const column = Math.max(1, (width - LEFT - 12) / days.length)
  const height = TOP + 24 * ROW + BOTTOM
  return (
    <Card
      title="Hour by hour"
      note="EUR, hour × day"
      actions={
        <span className="note heat-scale">
          <span aria-hidden="true" />
          {euro(least, 0)} … +{euro(most, 0)}
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
            {shadesOf(days, values, { most, least, column }).map(({ key, colour, path }) => (
              <path key={key} d={path} style={{ fill: colour }} />
            ))}
            {days.includes(chosen) && (
              <rect
                x={LEFT + days.indexOf(chosen) * column - 1}
                width={column + 1}
                y={TOP - 2}
                height={24 * ROW + 3}
                className="heat-chosen"
              />
            )}
            {days.map((day, index) => {
              if (days.length > 60) return <Month key={day} day={day} x={LEFT + index * column} y={height - 6} />
              const count = counts[index] ?? 24
              const isOdd = count !== 24
              const isCrowded = NEAR.some((near) =>
                [index - near, index + near].some((at) => (counts[at] ?? 24) !== 24),
              )
              const isBesideChosen =
                day !== chosen && Math.abs(index - days.indexOf(chosen)) <= 2 && days.includes(chosen)
              if (!isOdd && (isCrowded || isBesideChosen || !(day === chosen || index % 7 === 2))) return null
              return (
                <text
                  key={day}
                  x={LEFT + (index + 0.5) * column}
                  y={height - 6}
                  textAnchor="middle"
                  className={`axis ${isOdd ? 'heat-odd' : ''}`}
                >
                  {isOdd ? `${dayMonth(Date.parse(`${day}T12:00:00Z`), 'UTC')}, ${count} h` : Number(day.slice(8))}
                </text>
              )
            })}
          </svg>
        )}
      </div>
    </Card>
  )
}

function Month({ day, x, y }: { day: Day; x: number; y: number }) {
  if (!day.endsWith('-01')) return null
  return (
    <text x={x} y={y} className="axis">
      {dayMonth(Date.parse(`${day}T12:00:00Z`), 'UTC').replace(/^\d+ /, '')}
    </text>
  )
}

/** So many columns beside a long label have none. */
const NEAR = [1, 2, 3, 4]
const SHADES = 10

interface Drawn {
  most: number
  least: number
  column: number
}

/** The cells of each shade as one path: a year of hours is twenty-one shapes, not eight thousand. */
function shadesOf(days: Day[], values: Map<number, number>, { most, least, column }: Drawn) {
  const paths = new Map<number, string>()
  const gap = column > 4 ? 1 : 0
  days.forEach((day, index) => {
    for (const { start, hour, part } of cellsOf(day)) {
      const value = values.get(start)
      if (value === undefined) continue
      const shade =
        value >= 0 ? Math.round((value / most) * SHADES) : -Math.ceil((value / Math.min(-1, least)) * SHADES)
      const x = LEFT + index * column + (part === 1 ? column / 2 : 0)
      const width = Math.max(0.5, column * (part === null ? 1 : 0.5) - gap).toFixed(2)
      const cell = `M${x.toFixed(2)} ${TOP + hour * ROW}h${width}v${ROW - 1}h-${width}z`
      paths.set(shade, (paths.get(shade) ?? '') + cell)
    }
  })
  return [...paths].map(([shade, path]) => ({
    key: shade,
    path,
    colour:
      shade >= 0
        ? `color-mix(in srgb, var(--brand) ${Math.round(8 + (shade / SHADES) * 92)}%, var(--surface))`
        : `color-mix(in srgb, var(--charge) ${Math.round(10 - (shade / SHADES) * 80)}%, var(--surface))`,
  }))
}

function cellsOf(day: Day): { start: number; hour: number; part: 0 | 1 | null }[] {
  return hoursOf(day).map(({ start, hour, label }) => ({
    start,
    hour,
    part: label.endsWith('A') ? 0 : label.endsWith('B') ? 1 : null,
  }))
}
