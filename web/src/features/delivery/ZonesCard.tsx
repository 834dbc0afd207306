import { type PointerEvent, useState } from 'react'
import type { PhysicalAsset } from '../../shared/api/resources'
import { Hatch, HourLines, NARROW, NowMark, Past, TimeAxis } from '../../shared/charts/panes'
import { linear, type Scale, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, megawatts, plural, signed } from '../../shared/format'
import { QUARTER_MS, quarterAt, type Span } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { Card, Legend } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import { type Bar, barsOf, isMissed, reachOf, type Zone, type ZoneQuarter } from './data'

const LEFT = 46
const RIGHT = 16
const TITLE = 30
const FOOT = 34
const LEAST_HEIGHT = 460

interface Props {
  zones: Zone[]
  batteries: PhysicalAsset[]
  span: Span
  now: number
}

/** Every zone over the day, all with the same MW to the pixel. */
export function ZonesCard({ zones, batteries, span, now }: Props) {
  const reader = useZone()
  const [ref, { width, height: room }] = useSize<HTMLDivElement>()
  const [pointed, setPointed] = useState<number | null>(null)
  const height = Math.max(LEAST_HEIGHT, room)
  const placed = place(zones, batteries, height)
  const x = linear(span.start, span.end, LEFT, Math.max(LEFT + 1, width - RIGHT))
  const isToday = span.start <= now && now < span.end
  const read = pointed ?? (isToday ? quarterAt(now) : null)
  const point = (event: PointerEvent<SVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    const share = (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT)
    setPointed(share < 0 || share >= 1 ? null : quarterAt(span.start + share * (span.end - span.start)))
  }
  return (
    <Card
      className="zones"
      title="Zones"
      note={
        pointed === null
          ? 'MW, the same scale in every zone'
          : `MW, ${time(pointed, reader)}–${time(pointed + QUARTER_MS, reader)}`
      }
      actions={
        <Legend
          items={[
            { label: 'export', color: 'var(--discharge)' },
            { label: 'import', color: 'var(--charge)' },
            { label: 'netted', color: 'var(--ink-2)', kind: 'hatch' },
            { label: 'unserved', color: 'var(--danger)' },
            { label: 'plan', color: 'color-mix(in srgb, var(--discharge) 45%, var(--surface))' },
          ]}
        />
      }
    >
      <div ref={ref} className="zones-drawing">
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={describe(zones, now)}
            onPointerMove={point}
            onPointerLeave={() => setPointed(null)}
          >
            <defs>
              <Hatch name="netted" tone="var(--ink-3)" />
            </defs>
            {placed.map((one) => (
              <g key={one.zone.deliveryZone}>
                <Past span={span} x={x} now={now} top={one.top} height={one.bottom - one.top} />
                <HourLines span={span} zone={reader} x={x} top={one.top} bottom={one.bottom} />
                <ZoneAxis placed={one} width={width} />
                <Bars placed={one} x={x} now={now} />
                <line x1={LEFT} x2={width - RIGHT} y1={one.y(0)} y2={one.y(0)} className="axis-line" />
              </g>
            ))}
            <NowMark
              span={span}
              zone={reader}
              x={x}
              now={now}
              top={TITLE}
              bottom={height - FOOT}
              tops={placed.slice(1).map((one) => one.top)}
            />
            <TimeAxis span={span} zone={reader} x={x} y={height - 14} now={now} />
            {placed.map((one) => (
              <g key={one.zone.deliveryZone}>
                <ZoneTitle placed={one} width={width} read={read} />
              </g>
            ))}
            {pointed !== null && (
              <line x1={x(pointed)} x2={x(pointed)} y1={TITLE} y2={height - FOOT} className="zone-pointed" />
            )}
          </svg>
        )}
      </div>
    </Card>
  )
}

const AIR = 1.08

interface Placed {
  zone: Zone
  bars: Bar[]
  count: number
  powerKw: number
  up: number
  down: number
  top: number
  bottom: number
  y: Scale
}

/** In the order of the table beside; each gets the height that its own reach needs. */
function place(zones: Zone[], batteries: PhysicalAsset[], height: number): Placed[] {
  const known = zones
    .map((zone) => {
      const members = batteries.filter((one) => one.deliveryZone === zone.deliveryZone)
      const bars = barsOf(zone.quarters)
      return {
        zone,
        bars,
        count: members.length,
        powerKw: members.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0),
        ...reachOf(bars),
      }
    })
    .sort((a, b) => a.zone.deliveryZone.localeCompare(b.zone.deliveryZone))
  // A little air above the highest and below the lowest bar: one that reaches the edge looks cut.
  for (const one of known) {
    one.up *= AIR
    one.down *= AIR
  }
  const reach = known.reduce((sum, one) => sum + one.up + one.down, 0) || 1
  const perMw = (height - FOOT - known.length * TITLE) / reach
  let bottom = 0
  return known.map((one) => {
    const top = bottom + TITLE
    bottom = top + (one.up + one.down) * perMw
    return { ...one, top, bottom, y: linear(-one.down, one.up, bottom, top) }
  })
}

const quarterOf = (zone: Zone, at: number | null): ZoneQuarter | undefined =>
  at === null ? undefined : zone.quarters.find((one) => Date.parse(one.time) === at)

function ZoneTitle({ placed, width, read }: { placed: Placed; width: number; read: number | null }) {
  const { zone, top } = placed
  const one = quarterOf(zone, read)
  const net = (one?.dispatched ?? 0) / 1000
  const missed = zone.quarters.filter(isMissed)
  return (
    <>
      <text x={LEFT} y={top - 9} className="axis zone-title">
        <tspan className="axis-strong">{zone.deliveryZone}</tspan>{' '}
        {placed.count > 0 && `${plural(placed.count, 'battery', 'batteries')} · ${megawatts(placed.powerKw)} MW`}
        {missed.length > 0 && (
          <tspan className="zone-missed-text" dx={8}>
            up to {decimal(Math.max(...missed.map((each) => Math.abs(each.unserved))) / 1000, 1)} MW unserved
          </tspan>
        )}
      </text>
      {one && (
        <text x={width - RIGHT} y={top - 9} textAnchor="end" className="axis zone-title">
          {width >= NARROW &&
            `scheduled ${decimal(one.scheduledExport / 1000, 1)} out, ${decimal(one.scheduledImport / 1000, 1)} in · netted ${decimal(one.netted / 1000, 1)} · dispatched `}
          <tspan className={`zone-net ${net < 0 ? 'zone-in' : net > 0 ? 'zone-out' : ''}`}>{signed(net)} MW</tspan>
        </text>
      )}
    </>
  )
}

function ZoneAxis({ placed, width }: { placed: Placed; width: number }) {
  const { up, down, y, top, bottom } = placed
  const values = ticks(-down, up, Math.max(3, Math.round((bottom - top) / 26)))
  return values.map((value) => (
    <g key={value}>
      <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} className="grid-line" />
      <text x={LEFT - 8} y={y(value) + 4} textAnchor="end" className="axis">
        {signed(value, Number.isInteger(value) ? 0 : 1)}
      </text>
    </g>
  ))
}

function Bars({ placed, x, now }: { placed: Placed; x: Scale; now: number }) {
  const { y } = placed
  return placed.bars.map((bar) => {
    const width = (x(bar.time + QUARTER_MS) - x(bar.time)) * 0.82
    const tone = bar.time > now ? 'is-planned' : ''
    const piece = (key: string, from: number, to: number, className: string) =>
      from === to ? null : (
        <rect
          key={key}
          x={x(bar.time)}
          width={width}
          y={Math.min(y(from), y(to))}
          height={Math.abs(y(to) - y(from))}
          className={className}
        />
      )
    return (
      <g key={bar.time}>
        {piece('out', 0, bar.out, `zone-bar-out ${tone}`)}
        {piece('in', 0, -bar.in, `zone-bar-in ${tone}`)}
        {piece('netted-out', bar.out, bar.out + bar.netted, 'zone-netted')}
        {piece('netted-in', -bar.in, -bar.in - bar.netted, 'zone-netted')}
        {piece('missed-out', bar.out + bar.netted, bar.out + bar.netted + bar.unservedOut, 'zone-missed')}
        {piece('missed-in', -bar.in - bar.netted, -bar.in - bar.netted - bar.unservedIn, 'zone-missed')}
      </g>
    )
  })
}

function describe(zones: Zone[], now: number): string {
  const at = quarterAt(now)
  const said = zones.map((zone) => {
    const one = quarterOf(zone, at)
    const missed = zone.quarters.filter(isMissed).length
    const net = one ? `${signed(one.dispatched / 1000)} MW now` : 'nothing now'
    return `${zone.deliveryZone} ${net}${missed > 0 ? `, ${plural(missed, 'quarter')} unserved` : ''}`
  })
  return `Dispatched: ${said.join('; ')}.`
}
