/** The markets of a day under each other on one axis of time, those that take orders to be chosen. */
import { memo, type PointerEvent, type RefObject, useMemo, useState } from 'react'
import { Hatch, HourLines, TimeAxis } from '../../shared/charts/panes'
import { linear, type Scale, stepPath } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { useNow } from '../../shared/clock'
import { decimal, euro, megawatts, plural, signed, signedEuro } from '../../shared/format'
import { type Day, momentOf, QUARTER_MS, type Span, spanOf, type Zone } from '../../shared/time/marketDay'
import { countdown, nearTime, quarter } from '../../shared/time/words'
import { Card, Legend, type LegendItem } from '../../shared/ui/Card'
import { Icon } from '../../shared/ui/Icon'
import { useZone } from '../../shared/zone'
import {
  type Arc,
  hoursOfProduct,
  isReserve,
  nettingOf,
  type Order,
  type Room,
  type StageSums,
  takesOrders,
  volumesOf,
} from './data'
import { limitInWords, stageInWords } from './words'

const LEGEND: LegendItem[] = [
  { label: 'sold', color: 'var(--discharge)' },
  { label: 'bought', color: 'var(--charge)' },
  { label: 'proposed', color: 'var(--discharge)', kind: 'hatch' },
  { label: 'held for reserve', color: 'var(--fcr)', kind: 'outline' },
]

export interface Proposed {
  /** kW by quarter-hour, all batteries. */
  change: number[]
  reserved: Map<string, number>
  worth: number
}

interface Props {
  stages: StageSums[]
  day: Day
  chosen: string
  onChoose: (stage: string) => void
  proposed: Proposed | null
  arcs: readonly Arc[]
  headroom: Room | undefined
  orders: readonly Order[]
}

const ROW = 64
const EMPTY_ROW = 40
const POSITION = 130
const ARCS = 46

export function Gates({ stages, day, chosen, onChoose, proposed, arcs, headroom, orders }: Props) {
  const zone = useZone()
  const span = useMemo(() => spanOf(day), [day])
  const [frame, { width }] = useSize<HTMLDivElement>()
  const [read, setRead] = useState<number | null>(null)
  const x = useMemo(() => linear(span.start, span.end, 0, Math.max(1, width)), [span, width])
  const count = stages[0]?.position.length ?? 0
  const point = (event: PointerEvent<HTMLElement>) => {
    const box = frame.current?.getBoundingClientRect()
    if (!box || width === 0) return
    const index = Math.floor(((event.clientX - box.left) / width) * count)
    setRead(index >= 0 && index < count ? index : null)
  }
  const shown = stages.filter((one) => takesOrders(one.stage) || one.stage === 'CONTINUOUS' || hasAny(one))
  const stands = stages.at(-1)?.position ?? []
  const cross = read === null ? null : span.start + (read + 0.5) * QUARTER_MS
  const axis = { span, zone, x, width, cross }
  return (
    <Card
      title="Gate by gate"
      note="MW traded at each, one axis of time; sold up"
      actions={<Legend items={LEGEND} />}
      className="gates"
    >
      <div className="gates-body" onPointerMove={point} onPointerLeave={() => setRead(null)}>
        <p className="gates-read tabular" aria-live="off">
          {read === null ? (
            <span className="note">Point at a quarter-hour to read it; ↑ and ↓ choose a gate.</span>
          ) : (
            <ReadOut {...{ read, stages, proposed, headroom, span, zone, chosen }} />
          )}
        </p>
        <div role="radiogroup" aria-label="Gate">
          {shown.map((one, index) => (
            <GateRow
              key={one.stage}
              one={one}
              axis={axis}
              frame={index === 0 ? frame : undefined}
              isChosen={one.stage === chosen}
              proposed={one.stage === chosen ? proposed : null}
              orders={orders.filter((order) => order.stage === one.stage)}
              onChoose={takesOrders(one.stage) ? () => onChoose(one.stage) : null}
            />
          ))}
        </div>
        <PositionRow {...{ stages, axis, proposed, arcs, stands }} />
        {headroom && <HeadroomRow room={headroom} axis={axis} />}
        <div className="gate-row gate-axis">
          <span />
          <svg width={width} height={20} aria-hidden="true">
            <TimeAxis span={span} zone={zone} x={x} y={14} now={0} pointed={cross} />
            {cross !== null && read !== null && (
              <text
                x={Math.min(Math.max(x(cross), 40), width - 40)}
                y={14}
                textAnchor="middle"
                className="axis axis-strong"
              >
                {quarter(span.start + read * QUARTER_MS, zone)}
              </text>
            )}
          </svg>
          <span />
        </div>
      </div>
    </Card>
  )
}

const hasAny = (one: StageSums): boolean =>
  one.traded.bought + one.traded.sold > 0 || Math.abs(one.earned) >= 0.005 || one.reserved.size > 0

interface Axis {
  span: Span
  zone: Zone
  x: Scale
  width: number
  cross: number | null
}

interface RowProps {
  one: StageSums
  axis: Axis
  frame: RefObject<HTMLDivElement | null> | undefined
  isChosen: boolean
  proposed: Proposed | null
  orders: readonly Order[]
  /** null: it takes no orders. */
  onChoose: (() => void) | null
}

function GateRow({ one, axis, frame, isChosen, proposed, orders, onChoose }: RowProps) {
  const isDrawn = isReserve(one.stage) ? one.reserved.size > 0 || proposed !== null : hasAny(one) || proposed !== null
  const height = isDrawn ? ROW : EMPTY_ROW
  return (
    <div className={`gate-row ${isChosen ? 'is-chosen' : ''}`}>
      {onChoose ? (
        <label className="gate-name">
          <input type="radio" name="gate" checked={isChosen} onChange={onChoose} className="visually-hidden" />
          <span className={`gate-mark ${isChosen ? 'is-on' : ''}`}>
            {one.status === 'PAST' && <Icon name="check" size={12} />}
          </span>
          <span className="gate-title">
            <strong>{stageInWords(one.stage)}</strong>
            <GateTime one={one} />
          </span>
        </label>
      ) : (
        <div className="gate-name">
          <span className="gate-mark" />
          <span className="gate-title">
            <strong>{stageInWords(one.stage)}</strong>
            <span className="note">{one.stage === 'CONTINUOUS' ? 'recorded trades' : 'without a gate'}</span>
          </span>
        </div>
      )}
      <div ref={frame} className="gate-chart">
        <RowChart one={one} axis={axis} proposed={proposed} height={height} />
      </div>
      <GateFigures one={one} proposed={proposed} orders={orders} />
    </div>
  )
}

const URGENT_MS = 5 * 60_000

function GateTime({ one }: { one: StageSums }) {
  const now = useNow()
  const zone = useZone()
  if (one.gate === null) return null
  const left = one.gate - now
  const at = nearTime(one.gate, now, zone)
  if (left <= 0) return <span className="note">{at}</span>
  const isNext = one.status === 'NEXT'
  return (
    <span className={`note ${left < URGENT_MS ? 'tone-danger' : isNext ? 'tone-good' : ''}`}>
      {isNext ? `${at} · in ${countdown(left)}` : at}
    </span>
  )
}

function GateFigures({
  one,
  proposed,
  orders,
}: {
  one: StageSums
  proposed: Proposed | null
  orders: readonly Order[]
}) {
  const net = volumesOf(one.change)
  // Of a market whose course is not known before the first gate nothing can be said to net.
  const nets = net.bought + net.sold > 0 ? nettingOf(one.traded, net) : 0
  const waiting = orders.filter((order) => order.status === 'STANDING' || order.status === 'OVERDUE').length
  const failed = orders.filter((order) => order.status === 'NOT_EXECUTED').length
  const after = proposed ? volumesOf(proposed.change) : null
  const hasEarned = one.traded.bought + one.traded.sold > 0 || Math.abs(one.earned) >= 0.005
  const hasResult = hasEarned || (one.status === 'PAST' && orders.length > waiting)
  return (
    <div className="gate-figures tabular">
      {hasResult && (
        <>
          <strong>{signedOr(one.earned)}</strong>
          <span className="note">earned</span>
          {one.traded.bought + one.traded.sold > 0 && (
            <span className="note">
              buys {decimal(one.traded.bought, 1)}, sells {decimal(one.traded.sold, 1)} MWh
              {nets >= 0.05 && ` · ${decimal(nets, 1)} nets`}
            </span>
          )}
        </>
      )}
      {waiting > 0 && <span className="note tone-warning">{plural(waiting, 'order')} waiting</span>}
      {failed > 0 && <span className="note">{failed} not executed</span>}
      {proposed && (
        <>
          <strong className="tone-good">{signedEuro(proposed.worth, 2)}</strong>
          <span className="note">expected, proposed</span>
          {after && after.bought + after.sold > 0 && (
            <span className="note">
              buys {decimal(after.bought, 1)}, sells {decimal(after.sold, 1)} MWh
            </span>
          )}
        </>
      )}
      {!hasResult && !proposed && waiting === 0 && (
        <span className="note">{one.status === 'PAST' ? 'nothing traded' : '–'}</span>
      )}
      {one.problems.map((problem) => (
        <span key={problem} className="note tone-danger">
          {problem}
        </span>
      ))}
    </div>
  )
}

const signedOr = (value: number): string => (Math.abs(value) < 0.005 ? euro(0, 2) : euro(value, 2))

interface ChartProps {
  one: StageSums
  axis: Axis
  proposed: Proposed | null
  height: number
}

const RowChart = memo(function RowChart({ one, axis, proposed, height }: ChartProps) {
  const { span, zone, x, width, cross } = axis
  const reserved = isReserve(one.stage)
  const change = proposed && !reserved ? proposed.change : []
  const reach = Math.max(100, ...one.change.map(Math.abs), ...change.map(Math.abs))
  const y = linear(-reach, reach, height - 6, 6)
  return (
    <svg width={width} height={height} role="img" aria-label={describe(one, proposed)}>
      <defs>
        <Hatch name={`${one.stage}-out`} tone="var(--discharge)" />
        <Hatch name={`${one.stage}-in`} tone="var(--charge)" />
      </defs>
      <HourLines span={span} zone={zone} x={x} top={0} bottom={height} />
      <line x1={0} x2={width} y1={height / 2} y2={height / 2} className="axis-line" />
      {reserved ? (
        <Blocks reserved={one.reserved} proposed={proposed?.reserved ?? null} axis={axis} height={height} />
      ) : (
        <>
          <Bars powersKw={one.change} axis={axis} y={y} />
          <Bars powersKw={change} axis={axis} y={y} hatch={one.stage} />
          {[...one.change, ...change].some((kw) => kw !== 0) && (
            <text x={4} y={12} className="axis pane-title">
              ±{megawatts(reach)} MW
            </text>
          )}
        </>
      )}
      {cross !== null && <line x1={x(cross)} x2={x(cross)} y1={0} y2={height} className="gate-cross" />}
    </svg>
  )
})

function describe(one: StageSums, proposed: Proposed | null): string {
  const said = `${stageInWords(one.stage)}: bought ${decimal(one.traded.bought, 1)}, sold ${decimal(one.traded.sold, 1)} MWh`
  return proposed ? `${said}; proposed is expected to earn ${euro(proposed.worth, 2)}` : said
}

function Bars({ powersKw, axis, y, hatch }: { powersKw: readonly number[]; axis: Axis; y: Scale; hatch?: string }) {
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

interface BlocksProps {
  reserved: Map<string, number>
  proposed: Map<string, number> | null
  axis: Axis
  height: number
}

/** Reserves in their blocks: upward over the line, downward under it, FCR around it. */
function Blocks({ reserved, proposed, axis, height }: BlocksProps) {
  const all = [
    ...[...reserved].map(([product, kw]) => ({ product, kw, isProposed: false })),
    ...[...(proposed ?? [])]
      .filter(([product]) => !reserved.has(product))
      .map(([product, kw]) => ({ product, kw, isProposed: true })),
  ]
  return all.map(({ product, kw, isProposed }) => {
    const hours = hoursOfProduct(product)
    if (!hours || kw <= 0) return null
    const [from, to] = hours.map((hour) => axis.x(momentOf(dayOfSpan(axis.span), hour * 60))) as [number, number]
    const [top, bottom] = product.startsWith('NEGPOS')
      ? [height / 2 - 12, height / 2 + 12]
      : product.startsWith('POS')
        ? [height / 2 - 20, height / 2]
        : [height / 2, height / 2 + 20]
    const sign = product.startsWith('NEGPOS') ? '±' : product.startsWith('POS') ? '+' : '−'
    return (
      <g
        key={product}
        className={`gate-block ${product.startsWith('NEGPOS') ? 'is-fcr' : ''} ${isProposed ? 'is-proposed' : ''}`}
      >
        <rect x={from + 1} width={Math.max(1, to - from - 2)} y={top} height={bottom - top} rx={3} />
        {to - from > 44 && (
          <text x={(from + to) / 2} y={(top + bottom) / 2 + 4} textAnchor="middle">
            {sign}
            {megawatts(kw)} MW
          </text>
        )}
      </g>
    )
  })
}

const dayOfSpan = (span: Span): Day => new Date(span.start + 12 * 3_600_000).toISOString().slice(0, 10)

interface PositionProps {
  stages: readonly StageSums[]
  axis: Axis
  proposed: Proposed | null
  arcs: readonly Arc[]
  stands: readonly number[]
}

const MOST_ARCS = 40

/** The sum of all, with the proposal and without, and which purchase each sale lives on. */
const PositionRow = memo(function PositionRow({ stages, axis, proposed, arcs, stands }: PositionProps) {
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

function HeadroomRow({ room, axis }: { room: Room; axis: Axis }) {
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

interface ReadProps {
  read: number
  stages: readonly StageSums[]
  proposed: Proposed | null
  headroom: Room | undefined
  span: Span
  zone: Zone
  chosen: string
}

function ReadOut({ read, stages, proposed, headroom, span, zone, chosen }: ReadProps) {
  const mw = (kw: number) => signed(kw / 1000, 1)
  const parts = stages
    .filter((one) => Math.abs(one.change[read] ?? 0) >= 50)
    .map((one) => `${stageInWords(one.stage)} ${mw(one.change[read] ?? 0)}`)
  const stands = stages.at(-1)?.position[read] ?? 0
  return (
    <>
      <strong>{quarter(span.start + read * QUARTER_MS, zone)}</strong> {parts.map((part) => `${part} · `).join('')}
      position {mw(stands)}
      {proposed && Math.abs(proposed.change[read] ?? 0) >= 50 && (
        <>
          {' '}
          · {stageInWords(chosen)} proposes {mw(proposed.change[read] ?? 0)}
        </>
      )}
      {headroom && (
        <>
          {' '}
          · headroom {mw(headroom.up[read] ?? 0)} / {mw(-(headroom.down[read] ?? 0))}
        </>
      )}{' '}
      MW
    </>
  )
}
