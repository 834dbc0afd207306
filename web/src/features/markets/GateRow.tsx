/** One gate: when it closes, what was traded or is held there, what is proposed, what it earned. */
import { memo, type RefObject } from 'react'
import { Hatch, HourLines } from '../../shared/charts/panes'
import { linear } from '../../shared/charts/scale'
import { useNow } from '../../shared/clock'
import { decimal, euro, megawatts, plural, signedEuro } from '../../shared/format'
import { type Day, momentOf, type Span } from '../../shared/time/marketDay'
import { countdown, nearTime } from '../../shared/time/words'
import { Icon } from '../../shared/ui/Icon'
import { useZone } from '../../shared/zone'
import { hoursOfProduct, isReserve, nettingOf, type Order, type StageSums, volumesOf } from './data'
import { type Axis, Bars, type Proposed } from './drawing'
import { stageInWords } from './words'

const ROW = 64
const EMPTY_ROW = 40

export const hasAny = (one: StageSums): boolean =>
  one.traded.bought + one.traded.sold > 0 || Math.abs(one.earned) >= 0.005 || one.reserved.size > 0

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

export function GateRow({ one, axis, frame, isChosen, proposed, orders, onChoose }: RowProps) {
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
