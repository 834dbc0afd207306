import type { PhysicalAsset } from '../../shared/api/resources'
import { linear, linePath, type Scale, stepPath, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, megawatts, signed } from '../../shared/format'
import { HOUR_MS, type Span } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { Card, Legend } from '../../shared/ui/Card'
import { ProblemNote, Skeleton } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import type { DispatchPoint, Points, useTelemetry } from './data'

interface Props {
  asset: PhysicalAsset
  telemetry: ReturnType<typeof useTelemetry>
  dispatch: DispatchPoint[] | undefined
  today: Span
  now: number
}

const LEFT = 52
const RIGHT = 16
const PANES = {
  charge: { top: 22, height: 58 },
  power: { top: 104, height: 74 },
  temperature: { top: 204, height: 42 },
}
const HEIGHT = 278

/** Today in three panes over one axis of time: what was measured, and what was asked for. */
export function TodayCard({ asset, telemetry, dispatch, today, now }: Props) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const { series, isLoading, error } = telemetry
  const isEmpty = series.active_power.length + series.state_of_charge.length === 0
  return (
    <Card
      title="Today"
      note="one-minute telemetry"
      actions={
        <Legend
          items={[
            { label: 'measured', color: 'var(--soc)', kind: 'line' },
            { label: 'dispatched', color: 'var(--ink)', kind: 'line' },
            { label: 'projected', color: 'var(--soc)', kind: 'dashed' },
          ]}
        />
      }
    >
      {error ? <ProblemNote error={error} /> : null}
      <div ref={ref} className="today">
        {isLoading && <Skeleton height={HEIGHT - 20} />}
        {!isLoading && isEmpty && !dispatch?.length && (
          <p className="today-none note">No telemetry today. It appears here the second it arrives.</p>
        )}
        {!isLoading && (!isEmpty || Boolean(dispatch?.length)) && width > 0 && (
          <Panes asset={asset} series={series} dispatch={dispatch ?? []} today={today} now={now} width={width} />
        )}
      </div>
    </Card>
  )
}

interface PanesProps {
  asset: PhysicalAsset
  series: Props['telemetry']['series']
  dispatch: DispatchPoint[]
  today: Span
  now: number
  width: number
}

function Panes({ asset, series, dispatch, today, now, width }: PanesProps) {
  const zone = useZone()
  const x = linear(today.start, today.end, LEFT, width - RIGHT)
  const due = dispatch.map((point) => [Date.parse(point.time), point.power / 1000] as const)
  const measured = series.active_power.map(([at, value]) => [at, value / 1000] as const)
  const largest = Math.max(
    1,
    ...measured.map(([, value]) => Math.abs(value)),
    ...due.map(([, value]) => Math.abs(value)),
  )
  const reach = niceReach(largest)
  const charge = linear(0, 100, PANES.charge.top + PANES.charge.height, PANES.charge.top)
  const power = linear(-reach, reach, PANES.power.top + PANES.power.height, PANES.power.top)
  const projected: Points = dispatch.flatMap((point) =>
    point.stateOfChargePercentage === undefined || Date.parse(point.time) < now
      ? []
      : [[Date.parse(point.time), point.stateOfChargePercentage]],
  )
  const last = { charge: series.state_of_charge.at(-1)?.[1], power: measured.at(-1)?.[1] }
  const endOfDay = projected.at(-1)?.[1]
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={describe(asset, last.charge, last.power)}>
      <defs>
        <clipPath id="power-out">
          <rect x={LEFT} width={width} y={0} height={power(0)} />
        </clipPath>
        <clipPath id="power-in">
          <rect x={LEFT} width={width} y={power(0)} height={HEIGHT} />
        </clipPath>
      </defs>
      <rect
        x={LEFT}
        width={Math.max(0, x(now) - LEFT)}
        y={PANES.charge.top}
        height={PANES.temperature.top + PANES.temperature.height - PANES.charge.top}
        className="past"
      />
      <Hours today={today} x={x} />
      <Pane
        title="State of charge"
        note={`% of ${megawatts(asset.parameters.energyCapacity)} MWh`}
        value={last.charge === undefined ? '' : `${decimal(last.charge, 1)} %`}
        {...(endOfDay === undefined ? {} : { aside: `projected at 24:00 ${decimal(endOfDay, 1)} %` })}
        tone="var(--soc)"
        top={PANES.charge.top}
        width={width}
      />
      <Axis values={[0, 50, 100]} scale={charge} width={width} tell={(value) => decimal(value)} />
      <path d={areaPath(series.state_of_charge, x, charge, charge(0))} className="charge-area" />
      <path
        d={linePath(series.state_of_charge.map(([at, value]) => [x(at), charge(value)] as const))}
        className="charge-line"
      />
      <path
        d={linePath(projected.map(([at, value]) => [x(at), charge(value)] as const))}
        className="charge-line is-plan"
      />

      <Pane
        title="Power"
        note={`MW · rated ±${megawatts(asset.parameters.ratedDischargePower)} · export up`}
        value={last.power === undefined ? '' : `${signed(last.power, 2)} MW`}
        tone={(last.power ?? 0) >= 0 ? 'var(--discharge-text)' : 'var(--charge-text)'}
        top={PANES.power.top}
        width={width}
      />
      <Axis
        values={[-reach, 0, reach]}
        scale={power}
        width={width}
        tell={(value) => signed(value, Number.isInteger(value) ? 0 : 1)}
      />
      <g clipPath="url(#power-out)">
        <path d={areaPath(measured, x, power, power(0))} className="power-area-out" />
      </g>
      <g clipPath="url(#power-in)">
        <path d={areaPath(measured, x, power, power(0))} className="power-area-in" />
      </g>
      <path
        d={stepPath(
          due.filter(([at]) => at <= now).map(([at, value]) => [x(at), power(value)] as const),
          x(now),
        )}
        className="due-line"
      />
      <path
        d={stepPath(
          due.filter(([at]) => at > now).map(([at, value]) => [x(at), power(value)] as const),
          x(today.end),
        )}
        className="due-line is-plan"
      />

      <Temperature points={series.temperature} x={x} width={width} />
      <TimeAxis today={today} x={x} zone={zone} />
      <line
        x1={x(now)}
        x2={x(now)}
        y1={PANES.charge.top}
        y2={PANES.temperature.top + PANES.temperature.height}
        className="now-line"
      />
      <NowTag at={x(now)} label={`now ${time(now, zone)}`} y={HEIGHT - 22} />
    </svg>
  )
}

function niceReach(largest: number): number {
  const steps = [1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000]
  return steps.find((step) => step >= largest) ?? largest
}

function areaPath(points: readonly (readonly [number, number])[], x: Scale, y: Scale, base: number): string {
  const first = points[0]
  const last = points.at(-1)
  if (!first || !last) return ''
  return `${linePath(points.map(([at, value]) => [x(at), y(value)] as const))}L${x(last[0]).toFixed(1)} ${base}L${x(first[0]).toFixed(1)} ${base}Z`
}

function describe(asset: PhysicalAsset, charge: number | undefined, power: number | undefined): string {
  const said = [`${asset.name} today.`]
  if (charge !== undefined) said.push(`State of charge ${decimal(charge, 1)} percent.`)
  if (power !== undefined) said.push(`Power ${signed(power, 2)} MW.`)
  return said.join(' ')
}

interface PaneProps {
  title: string
  note: string
  value: string
  aside?: string
  tone: string
  top: number
  width: number
}

function Pane({ title, note, value, aside, tone, top, width }: PaneProps) {
  return (
    <>
      <text x={LEFT} y={top - 8} className="axis">
        <tspan className="axis-strong">{title}</tspan> {note}
      </text>
      <text x={width - RIGHT} y={top - 8} textAnchor="end" className="axis">
        {aside ? `${aside}  ` : ''}
        <tspan className="pane-value" style={{ fill: tone }}>
          {value}
        </tspan>
      </text>
    </>
  )
}

function Axis({
  values,
  scale,
  width,
  tell,
}: {
  values: number[]
  scale: Scale
  width: number
  tell: (value: number) => string
}) {
  return (
    <>
      {values.map((value) => (
        <g key={value}>
          <line
            x1={LEFT}
            x2={width - RIGHT}
            y1={scale(value)}
            y2={scale(value)}
            className={value === 0 ? 'axis-line' : 'grid-line'}
          />
          <text x={LEFT - 8} y={scale(value) + 4} textAnchor="end" className="axis">
            {tell(value)}
          </text>
        </g>
      ))}
    </>
  )
}

function Temperature({ points, x, width }: { points: Points; x: Scale; width: number }) {
  const { top, height } = PANES.temperature
  if (points.length === 0) return null
  const values = points.map(([, value]) => value)
  const low = Math.floor(Math.min(...values) - 1)
  const high = Math.ceil(Math.max(...values) + 1)
  const y = linear(low, high, top + height, top)
  return (
    <>
      <Pane
        title="Temperature"
        note="°C"
        value={`${decimal(values.at(-1) ?? 0, 1)} °C`}
        tone="var(--ink)"
        top={top}
        width={width}
      />
      <Axis values={ticks(low, high, 2)} scale={y} width={width} tell={(value) => decimal(value)} />
      <path d={linePath(points.map(([at, value]) => [x(at), y(value)] as const))} className="temperature-line" />
    </>
  )
}

function threeHourly(today: Span): number[] {
  const moments = []
  for (let at = today.start; at <= today.end; at += 3 * HOUR_MS) moments.push(at)
  return moments
}

function Hours({ today, x }: { today: Span; x: Scale }) {
  return threeHourly(today).map((at) => (
    <line
      key={at}
      x1={x(at)}
      x2={x(at)}
      y1={PANES.charge.top}
      y2={PANES.temperature.top + PANES.temperature.height}
      className="grid-line"
    />
  ))
}

function TimeAxis({ today, x, zone }: { today: Span; x: Scale; zone: 'Europe/Berlin' | 'UTC' }) {
  const all = threeHourly(today)
  return all.map((at, index) => (
    <text
      key={at}
      x={x(at)}
      y={HEIGHT - 8}
      className="axis"
      textAnchor={index === 0 ? 'start' : index === all.length - 1 ? 'end' : 'middle'}
    >
      {index === all.length - 1 && zone !== 'UTC' ? '24:00' : time(at, zone)}
    </text>
  ))
}

export function NowTag({ at, label, y }: { at: number; label: string; y: number }) {
  return (
    <g>
      <rect x={at - 34} y={y} width={68} height={19} rx={5} className="now-tag" />
      <text x={at} y={y + 13} textAnchor="middle" className="now-tag-text">
        {label}
      </text>
    </g>
  )
}
