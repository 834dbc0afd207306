import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, euro, signed } from '../../shared/format'
import { dayOf, momentOf } from '../../shared/time/marketDay'
import { dayMonth } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { ProblemNote, Skeleton } from '../../shared/ui/states'
import { Link } from '../../shell/router'
import { type DayRevenue, useDailyRevenue } from './data'

const DAYS = 30
const HEIGHT = 190

/** What is kept of what the batteries earn: today, in thirty days, and each day of them. */
export function RevenueCard({ now }: { now: number }) {
  const today = dayOf(now)
  const revenue = useDailyRevenue(today, 2 * DAYS - 1)
  return (
    <Card title="Revenue" note="EUR, what you keep" actions={<Link to="/revenue">Open</Link>}>
      {revenue.isError && <ProblemNote error={revenue.error} onRetry={() => void revenue.refetch()} />}
      {revenue.isLoading && (
        <div className="card-body" role="status" aria-label="Loading">
          <Skeleton height={HEIGHT + 60} />
        </div>
      )}
      {revenue.data && <Figures days={revenue.data} />}
    </Card>
  )
}

function Figures({ days }: { days: DayRevenue[] }) {
  // The same thirty days, today among them, that the screen Revenue opens with.
  const last = days.slice(-DAYS)
  const before = days.slice(-2 * DAYS, -DAYS)
  const today = days.at(-1)
  const sum = (some: DayRevenue[]) => some.reduce((total, one) => total + one.value, 0)
  const month = sum(last)
  const earlier = sum(before)
  // As the screen Revenue has it: a window that was mostly empty is nothing to compare with.
  const isComparable = earlier > 0 && before.filter((one) => one.value !== 0).length >= DAYS * 0.8
  const change = isComparable ? ((month - earlier) / earlier) * 100 : null
  return (
    <div className="card-body">
      <dl className="revenue-figures">
        <div>
          <dt>Today, by 24:00</dt>
          <dd>
            <strong>{euro(today?.value ?? 0, 0)}</strong>
          </dd>
        </div>
        <div>
          <dt>{DAYS} days, with today</dt>
          <dd>
            <strong>{euro(month, 0)}</strong>
            {change !== null && (
              <span className="note">
                <b className={change < 0 ? 'tone-danger' : 'tone-good'}>{signed(change)} %</b> on the {DAYS} before
              </span>
            )}
          </dd>
        </div>
      </dl>
      <Bars days={last} mean={month / DAYS} />
    </div>
  )
}

function Bars({ days, mean }: { days: DayRevenue[]; mean: number }) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const values = days.map((one) => one.value)
  const top = Math.max(...values, 1)
  const bottom = Math.min(...values, 0)
  const y = linear(bottom, top, HEIGHT - 20, 6)
  const step = width / days.length
  const label = (one: DayRevenue | undefined) => (one ? dayMonth(momentOf(one.day, 720), 'Europe/Berlin') : '')
  return (
    <div ref={ref}>
      <p className="note revenue-mean">
        <span>Day</span>
        <span>mean {euro(mean, 0)}</span>
      </p>
      <svg width={width} height={HEIGHT} role="img" aria-label={`Revenue by day; mean ${decimal(mean)} EUR`}>
        {days.map((one, index) => (
          <rect
            key={one.day}
            x={index * step + 1}
            width={Math.max(1, step - 2)}
            y={Math.min(y(0), y(one.value))}
            height={Math.max(one.value === 0 ? 0 : 1, Math.abs(y(one.value) - y(0)))}
            rx={1}
            className={index === days.length - 1 ? 'bar-today' : 'bar-day'}
          />
        ))}
        <line x1={0} x2={width} y1={y(mean)} y2={y(mean)} className="bar-mean" />
        <line x1={0} x2={width} y1={y(0)} y2={y(0)} className="axis-line" />
        <text x={0} y={HEIGHT - 4} className="axis">
          {label(days[0])}
        </text>
        <text x={width / 2} y={HEIGHT - 4} className="axis" textAnchor="middle">
          {label(days[Math.floor(days.length / 2)])}
        </text>
        <text x={width} y={HEIGHT - 4} className="axis axis-strong" textAnchor="end">
          today
        </text>
      </svg>
    </div>
  )
}
