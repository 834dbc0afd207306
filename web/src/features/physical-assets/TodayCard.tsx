import type { PhysicalAsset } from '../../shared/api/resources'
import { areaPath, HourLines, NowMark, PaneTitle, Past, TimeAxis, ValueAxis } from '../../shared/charts/panes'
import { linear, linePath, type Scale, stepPath, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, megawatts, signed } from '../../shared/format'
import { quarterAt, type Span } from '../../shared/time/marketDay'
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

const EDGES = { left: 52, right: 16 }
const CHARGE = { top: 22, height: 64 }
const POWER = { top: 112, height: 88 }
const TEMPERATURE = { top: 226, height: 42 }
const TWO_PANES = [POWER.top]
const THREE_PANES = [POWER.top, TEMPERATURE.top]
const FOOT = 34

/** Today in panes over one axis of time: what was measured, and what was asked for. */
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
        {isLoading && <Skeleton height={260} />}
        {!isLoading && !error && isEmpty && !dispatch?.length && (
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
  const x = linear(today.start, today.end, EDGES.left, width - EDGES.right)
  const hasTemperature = series.temperature.length > 0
  const last = hasTemperature ? TEMPERATURE : POWER
  const bottom = last.top + last.height
  const at = { span: today, zone, x, now }
  return (
    <svg width={width} height={bottom + FOOT} role="img" aria-label={describe(asset, series)}>
      <Past {...at} top={CHARGE.top} height={bottom - CHARGE.top} />
      <HourLines {...at} top={CHARGE.top} bottom={bottom} />
      <ChargePane asset={asset} points={series.state_of_charge} dispatch={dispatch} x={x} width={width} now={now} />
      <PowerPane
        asset={asset}
        points={series.active_power}
        dispatch={dispatch}
        x={x}
        width={width}
        now={now}
        end={today.end}
      />
      {hasTemperature && <Temperature points={series.temperature} x={x} width={width} />}
      <TimeAxis {...at} y={bottom + 20} />
      <NowMark {...at} top={CHARGE.top} bottom={bottom} tops={hasTemperature ? THREE_PANES : TWO_PANES} />
    </svg>
  )
}

interface PaneProps {
  asset: PhysicalAsset
  points: Points
  dispatch: DispatchPoint[]
  x: Scale
  width: number
  now: number
}

function ChargePane({ asset, points, dispatch, x, width, now }: PaneProps) {
  const y = linear(0, 100, CHARGE.top + CHARGE.height, CHARGE.top)
  const measured = points.map(([at, value]) => [x(at), y(value)] as const)
  const ahead = dispatch.filter((point) => Date.parse(point.time) >= now && point.stateOfChargePercentage !== undefined)
  const [last, end] = [points.at(-1)?.[1], ahead.at(-1)?.stateOfChargePercentage]
  return (
    <>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={CHARGE.top}
        title="State of charge"
        note={`% of ${megawatts(asset.parameters.energyCapacity)} MWh`}
        aside={end === undefined ? '' : `${decimal(end, 1)} % projected at 24:00 · now`}
        value={last === undefined ? '' : `${decimal(last, 1)} %`}
        tone="var(--soc)"
      />
      <ValueAxis edges={EDGES} width={width} values={[0, 50, 100]} scale={y} tell={(value) => decimal(value)} />
      <path d={areaPath(measured, y(0))} className="charge-area" />
      <path d={linePath(measured)} className="charge-line" />
      <path
        d={linePath(ahead.map((point) => [x(Date.parse(point.time)), y(point.stateOfChargePercentage ?? 0)] as const))}
        className="charge-line is-plan"
      />
    </>
  )
}

function PowerPane({ asset, points, dispatch, x, width, now, end }: PaneProps & { end: number }) {
  const due = dispatch.map((point) => [Date.parse(point.time), point.power / 1000] as const)
  const measured = points.map(([at, value]) => [at, value / 1000] as const)
  const reach = niceReach(Math.max(1, ...[...measured, ...due].map(([, value]) => Math.abs(value))))
  const y = linear(-reach, reach, POWER.top + POWER.height, POWER.top)
  const drawn = measured.map(([at, value]) => [x(at), y(value)] as const)
  const last = measured.at(-1)?.[1]
  const steps = (list: typeof due, until: number) =>
    stepPath(
      list.map(([at, value]) => [x(at), y(value)] as const),
      x(until),
    )
  return (
    <>
      <defs>
        <clipPath id="power-out">
          <rect x={EDGES.left} width={width} y={0} height={y(0)} />
        </clipPath>
        <clipPath id="power-in">
          <rect x={EDGES.left} width={width} y={y(0)} height={POWER.height} />
        </clipPath>
      </defs>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={POWER.top}
        title="Power"
        note={`MW · rated ±${megawatts(asset.parameters.ratedDischargePower)} · export up`}
        aside={deviationInWords(measured, due)}
        value={last === undefined ? '' : `${signed(last, 2)} MW`}
        tone={(last ?? 0) >= 0 ? 'var(--discharge-text)' : 'var(--charge-text)'}
      />
      <ValueAxis
        edges={EDGES}
        width={width}
        values={[-reach, 0, reach]}
        scale={y}
        tell={(value) => signed(value, Number.isInteger(value) ? 0 : 1)}
      />
      <path d={areaPath(drawn, y(0))} className="power-area-out" clipPath="url(#power-out)" />
      <path d={areaPath(drawn, y(0))} className="power-area-in" clipPath="url(#power-in)" />
      <path
        d={steps(
          due.filter(([at]) => at <= now),
          now,
        )}
        className="due-line"
      />
      <path
        d={steps(
          due.filter(([at]) => at > now),
          end,
        )}
        className="due-line is-plan"
      />
    </>
  )
}

/** How far measured power was from what was due, on average; nothing where the two never met. */
function deviationInWords(
  measured: readonly (readonly [number, number])[],
  due: readonly (readonly [number, number])[],
): string {
  const asked = new Map(due)
  const off = measured.flatMap(([at, value]) => {
    const wanted = asked.get(quarterAt(at))
    return wanted === undefined ? [] : [Math.abs(value - wanted)]
  })
  if (off.length === 0) return ''
  return `mean deviation ${decimal(off.reduce((sum, each) => sum + each, 0) / off.length, 2)} MW · now`
}

function niceReach(largest: number): number {
  const steps = [1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000]
  return steps.find((step) => step >= largest) ?? largest
}

function describe(asset: PhysicalAsset, series: Props['telemetry']['series']): string {
  const [charge, power] = [series.state_of_charge.at(-1)?.[1], series.active_power.at(-1)?.[1]]
  const said = [`${asset.name} today.`]
  if (charge !== undefined) said.push(`State of charge ${decimal(charge, 1)} percent.`)
  if (power !== undefined) said.push(`Power ${signed(power / 1000, 2)} MW.`)
  return said.join(' ')
}

function Temperature({ points, x, width }: { points: Points; x: Scale; width: number }) {
  const { top, height } = TEMPERATURE
  const values = points.map(([, value]) => value)
  const low = Math.floor(Math.min(...values) - 1)
  const high = Math.ceil(Math.max(...values) + 1)
  const y = linear(low, high, top + height, top)
  return (
    <>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={top}
        title="Temperature"
        note="°C"
        value={`${decimal(values.at(-1) ?? 0, 1)} °C`}
      />
      <ValueAxis edges={EDGES} width={width} values={ticks(low, high, 2)} scale={y} tell={(value) => decimal(value)} />
      <path d={linePath(points.map(([at, value]) => [x(at), y(value)] as const))} className="temperature-line" />
    </>
  )
}
