import type { UseQueryResult } from '@tanstack/react-query'
import { linear, stepPath, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, euro, percent } from '../../shared/format'
import { length, time, weekday } from '../../shared/time/words'
import { Card, Legend, type LegendItem } from '../../shared/ui/Card'
import { ProblemNote, Skeleton } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { type Auction, type Bid, deliveryOf, endOf, startOf, type Valuation } from './data'

interface Props {
  auction: Auction
  valuation: UseQueryResult<Valuation>
  bids: Bid[]
  now: number
  /** A price that is being typed. */
  draft: number | null
}

const RIGHT = 104
const LEFT = 48
const TOP = 28
const BOTTOM = 30

/** What the window may be worth, and one's own bids against it, from the opening to the end. */
export function ValuationFan({ auction, valuation, bids, now, draft }: Props) {
  const delivery = deliveryOf(auction)
  const legend: LegendItem[] = [{ label: 'your bid', color: 'var(--brand)', kind: 'line' }]
  if (valuation.data) {
    legend.unshift({ label: 'median', color: 'var(--price)', kind: 'line' })
    legend.unshift({ label: 'P10–P90', color: 'color-mix(in srgb, var(--price) 22%, transparent)', kind: 'box' })
  }
  return (
    <Card
      className="fan"
      title="What it is worth"
      note={`EUR for ${length(delivery.start, delivery.end)}`}
      actions={<Legend items={legend} />}
    >
      {valuation.isError && <ProblemNote error={valuation.error} onRetry={() => void valuation.refetch()} />}
      {valuation.isFetching && !valuation.data && (
        <div className="card-body" role="status" aria-label="Valuing">
          <Skeleton height={220} />
        </div>
      )}
      {!(valuation.isFetching && !valuation.data) && (
        <Drawing auction={auction} valuation={valuation.data} bids={bids} now={now} draft={draft} />
      )}
      {valuation.data && <Calibration valuation={valuation.data} />}
    </Card>
  )
}

function Calibration({ valuation }: { valuation: Valuation }) {
  const { windows, coverage } = valuation.calibration
  if (windows === 0 || coverage === null || coverage === undefined)
    return <p className="card-body note">There are too few past windows to say how often such a range holds.</p>
  const within = Math.round(coverage * windows)
  return (
    <p className="card-body note">
      <strong>Past windows</strong> {within} of {windows} came within P10–P90 ({percent(coverage)}), each valued with
      what was known before it.
    </p>
  )
}

interface DrawingProps {
  auction: Auction
  valuation: Valuation | undefined
  bids: Bid[]
  now: number
  draft: number | null
}

function Drawing({ auction, valuation, bids, now, draft }: DrawingProps) {
  const zone = useZone()
  const [ref, { width, height }] = useSize<HTMLDivElement>()
  const standing = auction.currentBid?.price
  const prices = [
    ...bids.map((bid) => bid.price),
    ...(valuation ? [valuation.p10, valuation.p90] : []),
    ...(draft === null ? [] : [draft]),
  ]
  if (prices.length === 0)
    return (
      <div ref={ref} className="fan-drawing fan-none">
        <p className="note">
          Nothing to draw yet: no bid of yours, and no valuation. {auction.item.deliveryZone} delivers from{' '}
          {weekday(deliveryOf(auction).start, zone)}.
        </p>
      </div>
    )
  const spread = Math.max(...prices) - Math.min(...prices) || Math.max(...prices) * 0.2
  const low = Math.max(0, Math.min(...prices) - spread * 0.25)
  const high = Math.max(...prices) + spread * 0.25
  const y = linear(low, high, height - BOTTOM, TOP)
  const [start, end] = [startOf(auction), endOf(auction)]
  const plotRight = Math.max(LEFT + 40, width - RIGHT)
  const x = linear(start, end, LEFT, plotRight)
  const until = Math.min(Math.max(now, start), end)
  const bidPoints = bids
    .filter((bid) => !bid.withdrawn)
    .sort((a, b) => a.sequence - b.sequence)
    .map((bid) => [x(Date.parse(bid.timestamp)), y(bid.price)] as const)
  const stops = [start, start + (end - start) / 2, end]
  return (
    <div ref={ref} className="fan-drawing">
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={describe(valuation, standing, draft)}>
          {ticks(low, high, Math.max(3, Math.floor(height / 60))).map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={plotRight} y1={y(value)} y2={y(value)} className="grid-line" />
              <text x={LEFT - 8} y={y(value) + 4} textAnchor="end" className="axis">
                {value >= 1000 ? `${decimal(value / 1000, value % 1000 === 0 ? 0 : 1)}k` : decimal(value)}
              </text>
            </g>
          ))}
          {valuation && (
            <>
              <rect
                x={LEFT}
                width={plotRight - LEFT}
                y={y(valuation.p90)}
                height={Math.max(1, y(valuation.p10) - y(valuation.p90))}
                className="fan-band"
              />
              <line x1={LEFT} x2={plotRight} y1={y(valuation.p50)} y2={y(valuation.p50)} className="fan-median" />
            </>
          )}
          {now > start && now < end && (
            <line x1={x(now)} x2={x(now)} y1={TOP} y2={height - BOTTOM} className="now-line" />
          )}
          <path d={stepPath(bidPoints, x(until))} className="fan-bid" />
          {bidPoints.map(([px, py]) => (
            <circle key={`${px}-${py}`} cx={px} cy={py} r={4} className="fan-dot" />
          ))}
          {draft !== null && draft !== standing && (
            <line x1={LEFT} x2={plotRight} y1={y(draft)} y2={y(draft)} className="fan-draft" />
          )}
          <Labels valuation={valuation} standing={standing} draft={draft} y={y} x={plotRight} />
          <line x1={LEFT} x2={plotRight} y1={height - BOTTOM} y2={height - BOTTOM} className="axis-line" />
          {stops.map((stop, index) => (
            <text
              key={stop}
              x={x(stop)}
              y={height - 10}
              className="axis"
              textAnchor={index === 0 ? 'start' : index === 1 ? 'middle' : 'end'}
            >
              {index === 0
                ? `opens ${time(stop, zone)}`
                : index === 2
                  ? `closes ${time(stop, zone)}`
                  : time(stop, zone)}
            </text>
          ))}
        </svg>
      )}
    </div>
  )
}

interface LabelsProps {
  valuation: Valuation | undefined
  standing: number | undefined
  draft: number | null
  y: (value: number) => number
  x: number
}

/** At the right edge, pushed apart where they would touch. */
function Labels({ valuation, standing, draft, y, x }: LabelsProps) {
  const bid = draft ?? standing
  const wanted = [
    ...(valuation
      ? [
          { key: 'P90', value: valuation.p90 },
          { key: 'P50', value: valuation.p50 },
          { key: 'P10', value: valuation.p10 },
        ]
      : []),
    ...(bid === undefined ? [] : [{ key: 'bid', value: bid }]),
  ].sort((a, b) => b.value - a.value)
  let above = Number.NEGATIVE_INFINITY
  return (
    <>
      {wanted.map(({ key, value }) => {
        const at = Math.max(y(value), above + 20)
        above = at
        if (key === 'bid')
          return (
            <g key={key}>
              <rect x={x + 8} y={at - 9} width={RIGHT - 10} height={18} rx={4} className="fan-tag" />
              <text x={x + 14} y={at + 4} className="fan-tag-text">
                bid {euro(value, 0)}
              </text>
            </g>
          )
        return (
          <text key={key} x={x + 10} y={at + 4} className="axis">
            {key} <tspan className={key === 'P50' ? 'fan-label fan-label-median' : 'fan-label'}>{euro(value, 0)}</tspan>
          </text>
        )
      })}
    </>
  )
}

function describe(valuation: Valuation | undefined, standing: number | undefined, draft: number | null): string {
  const parts = []
  if (valuation)
    parts.push(
      `Worth between ${euro(valuation.p10, 0)} and ${euro(valuation.p90, 0)} with eighty percent, median ${euro(valuation.p50, 0)}.`,
    )
  if (standing !== undefined) parts.push(`Your bid of ${euro(standing)} stands.`)
  if (draft !== null && draft !== standing) parts.push(`You are naming ${euro(draft)}.`)
  return parts.join(' ') || 'Nothing is known yet.'
}
