import type { UseQueryResult } from '@tanstack/react-query'
import { ValueAxis } from '../../shared/charts/panes'
import { linear, linePath, type Scale, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, euro } from '../../shared/format'
import { dayMonth, length, weekday } from '../../shared/time/words'
import { Card, Legend, type LegendItem } from '../../shared/ui/Card'
import { ProblemNote, Skeleton } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { type Auction, deliveryOf, isWithin, type PastWindow, type Valuation } from './data'

interface Props {
  auction: Auction
  valuation: UseQueryResult<Valuation>
  /** A price that is being typed. */
  draft: number | null
}

const EDGES = { left: 48, right: 104 }
const TOP = 34
const BOTTOM = 30
const BOX = 30

/** What windows like this one were worth and were thought to be worth, and what this one may be. */
export function ValuationFan({ auction, valuation, draft }: Props) {
  const delivery = deliveryOf(auction)
  const legend: LegendItem[] = [
    { label: 'P10–P90', color: 'color-mix(in srgb, var(--price) 22%, transparent)', kind: 'box' },
    { label: 'median', color: 'var(--price)', kind: 'line' },
    { label: 'came true', color: 'var(--ink)', kind: 'dot' },
  ]
  const isWaiting = valuation.isFetching && !valuation.data
  return (
    <Card
      className="fan"
      title="What it is worth"
      note={`EUR for ${length(delivery.start, delivery.end)}`}
      actions={valuation.data ? <Legend items={legend} /> : undefined}
    >
      {valuation.isError && <ProblemNote error={valuation.error} onRetry={() => void valuation.refetch()} />}
      {isWaiting && (
        <div className="card-body" role="status" aria-label="Valuing">
          <Skeleton height={220} />
        </div>
      )}
      {!isWaiting && <Drawing auction={auction} valuation={valuation.data} draft={draft} />}
    </Card>
  )
}

interface DrawingProps {
  auction: Auction
  valuation: Valuation | undefined
  draft: number | null
}

function Drawing({ auction, valuation, draft }: DrawingProps) {
  const zone = useZone()
  const [ref, { width, height }] = useSize<HTMLDivElement>()
  const standing = auction.currentBid?.price
  const bid = draft ?? standing
  const past = valuation?.calibration.pastWindows ?? []
  const prices = [
    ...past.flatMap((one) => [one.p10, one.p90, one.value]),
    ...(valuation ? [valuation.p10, valuation.p90] : []),
    ...[draft, standing].filter((price): price is number => typeof price === 'number'),
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
  const [least, most] = [Math.min(...prices), Math.max(...prices)]
  const spare = (most - least || most * 0.2) * 0.08
  const [low, high] = [Math.max(0, least - spare), most + spare]
  const y = linear(low, high, height - BOTTOM, TOP)
  const right = Math.max(EDGES.left + 80, width - EDGES.right)
  const box = { left: right - BOX, right }
  return (
    <div ref={ref} className="fan-drawing">
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={describe(valuation, standing, draft)}>
          <text x={EDGES.left} y={16} className="axis">
            <Record past={past} bid={bid} width={width} />
          </text>
          <ValueAxis
            edges={EDGES}
            width={width}
            values={ticks(low, high, Math.max(3, Math.floor(height / 60)))}
            scale={y}
            tell={thousands}
          />
          {past.length > 1 && <Past past={past} x={timeScale(past, EDGES.left + 8, box.left - 34)} y={y} />}
          {valuation && <ThisOne valuation={valuation} past={past} box={box} from={box.left - 34} y={y} />}
          {standing !== undefined && (
            <line
              x1={EDGES.left}
              x2={right}
              y1={y(standing)}
              y2={y(standing)}
              className={draft !== null && draft !== standing ? 'fan-standing' : 'fan-bid'}
            />
          )}
          {draft !== null && draft !== standing && (
            <line x1={EDGES.left} x2={right} y1={y(draft)} y2={y(draft)} className="fan-draft" />
          )}
          <Labels valuation={valuation} bid={bid} y={y} x={right} />
          <line x1={EDGES.left} x2={right} y1={height - BOTTOM} y2={height - BOTTOM} className="axis-line" />
          {past.length > 1 && <Months past={past} x={timeScale(past, EDGES.left + 8, box.left - 34)} y={height - 10} />}
          <text x={right} y={height - 10} textAnchor="end" className="axis axis-strong">
            this one
          </text>
        </svg>
      )}
    </div>
  )
}

function thousands(value: number): string {
  if (Math.abs(value) < 1000) return decimal(value)
  return `${decimal(value / 1000, value % 1000 === 0 ? 0 : 1)}k`
}

function timeScale(past: PastWindow[], left: number, right: number): Scale {
  return linear(Date.parse(past[0]?.start ?? ''), Date.parse(past.at(-1)?.start ?? ''), left, right)
}

/** How often the range held, in the words of the pane's header. */
function Record({ past, bid, width }: { past: PastWindow[]; bid: number | undefined; width: number }) {
  if (past.length === 0) return <tspan>There are too few past windows to say how often such a range holds.</tspan>
  const within = past.filter(isWithin).length
  const more = bid === undefined ? 0 : past.filter((one) => one.value > bid).length
  return (
    <>
      <tspan className="axis-strong">Past windows</tspan> {within} of {past.length} came within P10–P90
      {bid !== undefined && width > 500 && ` · ${more} were worth more than ${euro(bid, 0)}`}
    </>
  )
}

function Past({ past, x, y }: { past: PastWindow[]; x: Scale; y: Scale }) {
  const at = (one: PastWindow) => x(Date.parse(one.start))
  const band =
    linePath(past.map((one) => [at(one), y(one.p90)] as const)) +
    [...past]
      .reverse()
      .map((one) => `L${at(one).toFixed(1)} ${y(one.p10).toFixed(1)}`)
      .join('')
  return (
    <>
      <path d={`${band}Z`} className="fan-band" />
      <path d={linePath(past.map((one) => [at(one), y(one.p50)] as const))} className="fan-median" />
      {past.map((one) => (
        <circle
          key={one.start}
          cx={at(one)}
          cy={y(one.value)}
          r={past.length > 50 ? 2.5 : 3.5}
          className={isWithin(one) ? 'fan-true' : 'fan-true is-outside'}
        />
      ))}
    </>
  )
}

interface ThisOneProps {
  valuation: Valuation
  past: PastWindow[]
  box: { left: number; right: number }
  from: number
  y: Scale
}

function ThisOne({ valuation, past, box, from, y }: ThisOneProps) {
  const last = past.at(-1)
  return (
    <>
      {last && (
        <>
          <path
            d={`M${from} ${y(last.p90)}L${box.left} ${y(valuation.p90)}V${y(valuation.p10)}L${from} ${y(last.p10)}Z`}
            className="fan-bridge"
          />
          <line x1={from} x2={box.left} y1={y(last.p50)} y2={y(valuation.p50)} className="fan-median is-ahead" />
        </>
      )}
      <rect
        x={box.left}
        width={box.right - box.left}
        y={y(valuation.p90)}
        height={Math.max(1, y(valuation.p10) - y(valuation.p90))}
        rx={2}
        className="fan-box"
      />
      <line x1={box.left} x2={box.right} y1={y(valuation.p50)} y2={y(valuation.p50)} className="fan-median" />
    </>
  )
}

/** The first window, then the first one of each month that has room. */
function Months({ past, x, y }: { past: PastWindow[]; x: Scale; y: number }) {
  const zone = useZone()
  let until = Number.NEGATIVE_INFINITY
  return past.map((one, index) => {
    const at = Date.parse(one.start)
    const before = past[index - 1]
    const text = dayMonth(at, zone)
    const isNew = !before || dayMonth(Date.parse(before.start), zone).replace(/^\d+ /, '') !== text.replace(/^\d+ /, '')
    if (!isNew || x(at) < until) return null
    until = x(at) + 54
    return (
      <text key={one.start} x={x(at)} y={y} textAnchor={index === 0 ? 'start' : 'middle'} className="axis">
        {index === 0 ? text : text.replace(/^\d+ /, '')}
      </text>
    )
  })
}

interface LabelsProps {
  valuation: Valuation | undefined
  bid: number | undefined
  y: Scale
  x: number
}

/** At the right edge, pushed apart where they would touch. */
function Labels({ valuation, bid, y, x }: LabelsProps) {
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
              <rect x={x + 6} y={at - 9} width={EDGES.right - 12} height={18} rx={4} className="fan-tag" />
              <text x={x + 13} y={at + 4} className="fan-tag-text">
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
  if (valuation) {
    const past = valuation.calibration.pastWindows
    parts.push(
      `Worth between ${euro(valuation.p10, 0)} and ${euro(valuation.p90, 0)} with eighty percent, median ${euro(valuation.p50, 0)}.`,
    )
    if (past.length > 0) parts.push(`${past.filter(isWithin).length} of ${past.length} past windows came within it.`)
  }
  if (standing !== undefined) parts.push(`Your bid of ${euro(standing)} stands.`)
  if (draft !== null && draft !== standing) parts.push(`You are naming ${euro(draft)}.`)
  return parts.join(' ') || 'Nothing is known yet.'
}
