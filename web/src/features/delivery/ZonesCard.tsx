import type { PhysicalAsset } from '../../shared/api/resources'
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, megawatts, plural, signed } from '../../shared/format'
import { HOUR_MS, type Span } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { Card, Legend } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import { type DispatchPoint, type ZoneQuarter, zoneSeries } from './data'

const LEFT = 46
const RIGHT = 16
const TITLE = 30
const SPACE = 440

interface Props {
  batteries: PhysicalAsset[]
  dispatches: Map<string, DispatchPoint[]>
  span: Span
  now: number
}

interface Zone {
  name: string
  count: number
  powerKw: number
  series: ZoneQuarter[]
  up: number
  down: number
}

/** Every zone over the day, all with the same MW to the pixel. */
export function ZonesCard({ batteries, dispatches, span, now }: Props) {
  const reader = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const zones = zonesOf(batteries, dispatches, span)
  const reach = zones.reduce((sum, zone) => sum + zone.up + zone.down, 0) || 1
  const perMw = (SPACE - zones.length * TITLE) / reach
  const x = linear(span.start, span.end, LEFT, width - RIGHT)
  const quarter = (x(span.start + 900_000) - x(span.start)) * 0.82
  let top = 0
  const placed = zones.map((zone) => {
    const at = top + TITLE
    top = at + Math.max(24, (zone.up + zone.down) * perMw)
    return { zone, at, zero: at + zone.up * perMw, bottom: top }
  })
  const height = top + 30
  const isToday = span.start <= now && now < span.end
  return (
    <Card
      title="Zones"
      note="MW, the same scale in every zone"
      actions={
        <Legend
          items={[
            { label: 'export', color: 'var(--discharge)' },
            { label: 'import', color: 'var(--charge)' },
            { label: 'plan', color: 'color-mix(in srgb, var(--discharge) 45%, var(--surface))' },
          ]}
        />
      }
    >
      <div ref={ref}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={describe(zones, now)}>
            {placed.map(({ zone, at, zero, bottom }) => (
              <g key={zone.name}>
                {now > span.start && (
                  <rect
                    x={LEFT}
                    width={Math.max(0, Math.min(x(now), width - RIGHT) - LEFT)}
                    y={at}
                    height={bottom - at}
                    className="zone-past"
                  />
                )}
                <ZoneTitle zone={zone} at={at} width={width} now={now} />
                {[zone.up, -zone.down]
                  .filter((value) => Math.abs(value) * perMw > 12)
                  .map((value) => (
                    <g key={value}>
                      <line
                        x1={LEFT}
                        x2={width - RIGHT}
                        y1={zero - value * perMw}
                        y2={zero - value * perMw}
                        className="grid-line"
                      />
                      <text x={LEFT - 8} y={zero - value * perMw + 4} textAnchor="end" className="axis">
                        {signed(value, Number.isInteger(value) ? 0 : 1)}
                      </text>
                    </g>
                  ))}
                <text x={LEFT - 8} y={zero + 4} textAnchor="end" className="axis">
                  0
                </text>
                <Bars series={zone.series} x={x} zero={zero} perMw={perMw} width={quarter} now={now} />
                <line x1={LEFT} x2={width - RIGHT} y1={zero} y2={zero} className="axis-line" />
              </g>
            ))}
            {threeHourly(span).map((at, index, all) => (
              <text
                key={at}
                x={x(at)}
                y={height - 8}
                className="axis"
                textAnchor={index === 0 ? 'start' : index === all.length - 1 ? 'end' : 'middle'}
              >
                {index === all.length - 1 ? '24:00' : time(at, reader)}
              </text>
            ))}
            {isToday && <line x1={x(now)} x2={x(now)} y1={TITLE} y2={height - 26} className="now-line" />}
          </svg>
        )}
      </div>
    </Card>
  )
}

function zonesOf(batteries: PhysicalAsset[], dispatches: Map<string, DispatchPoint[]>, span: Span): Zone[] {
  const names = [...new Set(batteries.map((one) => one.deliveryZone))]
  return names
    .map((name) => {
      const members = batteries.filter((one) => one.deliveryZone === name)
      const series = zoneSeries(
        members.flatMap((one) => {
          const points = dispatches.get(one.id)
          return points ? [points] : []
        }),
        span,
      )
      return {
        name,
        count: members.length,
        powerKw: members.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0),
        series,
        up: Math.ceil(Math.max(1, ...series.map((one) => one.out))),
        down: Math.ceil(Math.max(1, ...series.map((one) => -one.in))),
      }
    })
    .sort((a, b) => b.powerKw - a.powerKw)
}

function ZoneTitle({ zone, at, width, now }: { zone: Zone; at: number; width: number; now: number }) {
  const current = zone.series.find((one) => one.time <= now && now < one.time + 900_000)
  const net = current ? current.out + current.in : null
  return (
    <>
      <text x={LEFT} y={at - 8} className="axis">
        <tspan className="axis-strong">{zone.name}</tspan> {plural(zone.count, 'battery', 'batteries')} ·{' '}
        {megawatts(zone.powerKw)} MW
      </text>
      {net !== null && current && (
        <text x={width - RIGHT} y={at - 8} textAnchor="end" className="axis">
          out {decimal(current.out, 1)}, in {decimal(-current.in, 1)} · dispatched{' '}
          <tspan className={net >= 0 ? 'zone-net zone-out' : 'zone-net zone-in'}>{signed(net)} MW</tspan>
        </text>
      )}
    </>
  )
}

interface BarsProps {
  series: ZoneQuarter[]
  x: (value: number) => number
  zero: number
  perMw: number
  width: number
  now: number
}

function Bars({ series, x, zero, perMw, width, now }: BarsProps) {
  return series.flatMap((one) => {
    const tone = one.time >= now ? 'is-planned' : ''
    const bars = []
    if (one.out > 0)
      bars.push(
        <rect
          key={`${one.time}-out`}
          x={x(one.time)}
          width={width}
          y={zero - one.out * perMw}
          height={one.out * perMw}
          className={`zone-bar-out ${tone}`}
        />,
      )
    if (one.in < 0)
      bars.push(
        <rect
          key={`${one.time}-in`}
          x={x(one.time)}
          width={width}
          y={zero}
          height={-one.in * perMw}
          className={`zone-bar-in ${tone}`}
        />,
      )
    return bars
  })
}

function threeHourly(span: Span): number[] {
  const moments = []
  for (let at = span.start; at <= span.end; at += 3 * HOUR_MS) moments.push(at)
  return moments
}

function describe(zones: Zone[], now: number): string {
  const said = zones.map((zone) => {
    const current = zone.series.find((one) => one.time <= now && now < one.time + 900_000)
    return `${zone.name} ${current ? signed(current.out + current.in) : '0'} MW`
  })
  return `Dispatched now: ${said.join(', ')}.`
}
