/** The sum of all gates, which purchase each sale lives on, and by how much plans may still move. */
import { memo } from 'react'
import { HourLines } from '../../shared/charts/panes'
import { linear, stepPath } from '../../shared/charts/scale'
import { decimal, euro, megawatts } from '../../shared/format'
import { QUARTER_MS } from '../../shared/time/marketDay'
import { type Arc, nettingOf, type Room, type StageSums, volumesOf } from './data'
import { type Axis, Bars, type Proposed } from './drawing'
import { limitInWords } from './words'

const POSITION = 130
const ARCS = 46

interface PositionProps {
  stages: readonly StageSums[]
  axis: Axis
  proposed: Proposed | null
  arcs: readonly Arc[]
  stands: readonly number[]
}

const MOST_ARCS = 40

/** The sum of all, with the proposal and without, and which purchase each sale lives on. */
export const PositionRow = memo(function PositionRow({ stages, axis, proposed, arcs, stands }: PositionProps) {
  const { span, zone, x, width, cross } = axis
  const dayAhead = stages.find((one) => one.stage === 'DAY_AHEAD')
  const after = proposed ? stands.map((kw, index) => kw + (proposed.change[index] ?? 0)) : stands
  const reach = Math.max(
    100,
    ...after.map(Math.abs),
    ...stands.map(Math.abs),
    ...(dayAhead?.position ?? []).map(Math.abs),
  )
  const top = arcs.length > 0 ? ARCS : 8
  const height = POSITION + top
  const y = linear(-reach, reach, height - 6, top)
  const net = volumesOf(after)
  const gross = stages.reduce(
    (sum, one) => ({ bought: sum.bought + one.traded.bought, sold: sum.sold + one.traded.sold }),
    proposed ? volumesOf(proposed.change) : { bought: 0, sold: 0 },
  )
  const points = (powers: readonly number[]) =>
    powers.map((kw, index) => [x(span.start + index * QUARTER_MS), y(kw)] as const)
  const most = Math.max(1, ...arcs.map((one) => one.energy))
  return (
    <div className="gate-row gate-position">
      <div className="gate-name">
        <span className="gate-title">
          <strong>Position</strong>
          <span className="note">MW, all batteries, sold up</span>
          <span className="note">{proposed ? 'bars with the proposal, line as it stands' : 'after all gates'}</span>
          {dayAhead?.status === 'PAST' && <span className="note">dotted after day-ahead</span>}
        </span>
      </div>
      <div className="gate-chart">
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`Position: buys ${decimal(net.bought, 1)}, sells ${decimal(net.sold, 1)} MWh`}
        >
          <HourLines span={span} zone={zone} x={x} top={top} bottom={height} />
          <line x1={0} x2={width} y1={y(0)} y2={y(0)} className="axis-line" />
          {net.bought + net.sold > 0 && (
            <text x={4} y={top + 10} className="axis pane-title">
              ±{megawatts(reach)} MW
            </text>
          )}
          <Bars powersKw={after} axis={axis} y={y} />
          {dayAhead?.status === 'PAST' && (
            <path d={stepPath(points(dayAhead.position), width)} className="gate-after-day-ahead" />
          )}
          {proposed && <path d={stepPath(points(stands), width)} className="gate-stands" />}
          {arcs.slice(0, MOST_ARCS).map((arc) => {
            const [from, to] = [x(arc.from), x(arc.to)]
            const high = Math.max(4, top - 6 - Math.min(ARCS - 10, Math.abs(to - from) / 4))
            return (
              <path
                key={`${arc.battery} ${arc.from} ${arc.to}`}
                d={`M${from.toFixed(1)} ${top}Q${((from + to) / 2).toFixed(1)} ${(2 * high - top).toFixed(1)} ${to.toFixed(1)} ${top}`}
                className="gate-arc"
                strokeWidth={1 + (2 * arc.energy) / most}
              >
                <title>{tellTrip(arc)}</title>
              </path>
            )
          })}
          {cross !== null && <line x1={x(cross)} x2={x(cross)} y1={0} y2={height} className="gate-cross" />}
        </svg>
      </div>
      <div className="gate-figures tabular">
        <strong>{euro(stages.reduce((sum, one) => sum + one.earned, 0) + (proposed?.worth ?? 0), 2)}</strong>
        <span className="note">{proposed ? 'earned, and expected of the proposal' : 'earned at all gates'}</span>
        <span className="tone-charge">buys {decimal(net.bought, 1)} MWh</span>
        <span className="tone-discharge">sells {decimal(net.sold, 1)} MWh</span>
        {nettingOf(gross, net) >= 0.05 && (
          <span className="note">
            all gates: {decimal(gross.bought, 1)} and {decimal(gross.sold, 1)}; {decimal(nettingOf(gross, net), 1)} of
            each nets
          </span>
        )}
      </div>
    </div>
  )
})

export function tellTrip({ trip, battery }: Arc): string {
  const { bought, sold } = trip
  if (!bought || !sold) return battery
  return `${battery}: ${decimal(bought.energy / 1000, 1)} MWh bought at ${decimal(bought.price, 2)}, sold at ${decimal(sold.price, 2)} EUR/MWh gains ${euro(trip.gain, 2)}`
}

interface HeadroomProps {
  room: Room
  axis: Axis
  /** How many batteries are shown. */
  count: number
}

export function HeadroomRow({ room, axis, count }: HeadroomProps) {
  // Where none was found nothing is drawn: that would read as none is left.
  if (room.refused.length === count)
    return (
      <div className="gate-row gate-unfound">
        <div className="gate-name">
          <span className="gate-title">
            <strong>Headroom</strong>
          </span>
        </div>
        <Unfound room={room} />
      </div>
    )
  return (
    <>
      <HeadroomCourse room={room} axis={axis} />
      {room.refused.length > 0 && <Unfound room={room} />}
    </>
  )
}

function Unfound({ room: { refused } }: { room: Room }) {
  return (
    <ul className="gate-refusals" aria-label="Headroom that was not found">
      {refused.map(({ name, why }) => (
        <li key={name} className="tone-warning">
          Not found for {name}: {why}
        </li>
      ))}
    </ul>
  )
}

function HeadroomCourse({ room, axis }: { room: Room; axis: Axis }) {
  const { span, zone, x, width, cross } = axis
  const height = 54
  const reach = Math.max(100, ...room.up, ...room.down)
  const y = linear(-reach, reach, height - 4, 4)
  const total = { up: volumesOf(room.up).sold, down: volumesOf(room.down).sold }
  return (
    <div className="gate-row">
      <div className="gate-name">
        <span className="gate-title">
          <strong>Headroom</strong>
          <span className="note">by how much one quarter-hour’s plan may move</span>
        </span>
      </div>
      <div className="gate-chart">
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`Headroom: at most ${megawatts(Math.max(0, ...room.up))} MW up`}
        >
          <HourLines span={span} zone={zone} x={x} top={0} bottom={height} />
          <path
            d={`${stepPath(
              room.up.map((kw, index) => [x(span.start + index * QUARTER_MS), y(kw)] as const),
              width,
            )}`}
            className="gate-room is-up"
          />
          <path
            d={`${stepPath(
              room.down.map((kw, index) => [x(span.start + index * QUARTER_MS), y(-kw)] as const),
              width,
            )}`}
            className="gate-room is-down"
          />
          <line x1={0} x2={width} y1={y(0)} y2={y(0)} className="axis-line" />
          <text x={4} y={12} className="axis pane-title">
            ±{megawatts(reach)} MW
          </text>
          {cross !== null && <line x1={x(cross)} x2={x(cross)} y1={0} y2={height} className="gate-cross" />}
        </svg>
      </div>
      <div className="gate-figures">
        {total.up + total.down === 0 ? <span className="note">none is left</span> : null}
        {room.limits.slice(0, 2).map(([limit], index) => (
          <span key={limit} className="note">
            {index === 0 ? 'mostly by ' : 'then by '}
            {limitInWords(limit)}
          </span>
        ))}
      </div>
    </div>
  )
}
