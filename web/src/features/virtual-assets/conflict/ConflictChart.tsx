/** Power and state of charge of one version, with the ranges that differ marked by their numbers. */
import { useMemo } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import { areaPath, HourLines, PaneTitle, TimeAxis, ValueAxis } from '../../../shared/charts/panes'
import { linear, linePath, type Scale } from '../../../shared/charts/scale'
import { useSize } from '../../../shared/charts/size'
import { decimal, megawatts, signed } from '../../../shared/format'
import { QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import { useZone } from '../../../shared/zone'
import type { DayPlan } from '../data'
import { powerScaleOf, startOf } from '../day/drawing'
import type { Range } from './merge'

const EDGES = { left: 38, right: 14 }
const TITLE = 22
const FOOT = 24
const GAP = 30

interface Props {
  asset: VirtualAsset
  plan: DayPlan
  span: Span
  powersKw: number[]
  /** Ticks: what is compared with. */
  beforeKw: number[]
  /** Left out, power is all that is drawn. */
  energiesKwh?: number[]
  ranges: Range[]
  isClosed: (index: number) => boolean
  height: number
  name: string
}

export function ConflictChart(props: Props) {
  const { asset, plan, span, powersKw, beforeKw, energiesKwh, ranges, height, name } = props
  const zone = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const room = height - 2 * TITLE - GAP - FOOT
  const power = { top: TITLE, height: energiesKwh ? Math.round(room * 0.64) : height - TITLE - FOOT }
  const charge = { top: TITLE + power.height + GAP, height: Math.round(room * 0.36) }
  const bottom = energiesKwh ? charge.top + charge.height : power.top + power.height
  const x = useMemo(
    () => linear(span.start, span.end, EDGES.left, Math.max(EDGES.left + 1, width - EDGES.right)),
    [span, width],
  )
  const y = powerScaleOf(asset, power)
  const at = { span, zone, x }
  return (
    <div ref={ref} style={{ height }}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={describe(name, asset, powersKw, energiesKwh)}>
          {ranges.map((range, place) => (
            <RangeBand
              key={range.from}
              range={range}
              number={place + 1}
              plan={plan}
              x={x}
              top={power.top}
              bottom={bottom}
            />
          ))}
          <HourLines {...at} top={power.top} bottom={bottom} />
          <PaneTitle edges={EDGES} width={width} top={power.top} title="Power" note="MW · export up, import down" />
          <ValueAxis
            edges={EDGES}
            width={width}
            values={[-asset.ratedChargePower / 1000, 0, asset.ratedDischargePower / 1000]}
            scale={(mw) => y(mw * 1000)}
            tell={(mw) => signed(mw, Number.isInteger(mw) ? 0 : 1)}
          />
          {powersKw.map((each, index) => {
            const start = startOf(plan, index)
            const before = beforeKw[index] ?? 0
            if (each === 0 && before === 0) return null
            const [left, right] = [x(start), x(start + QUARTER_MS)]
            return (
              <g key={start}>
                <rect
                  x={left + (right - left) * 0.11}
                  width={Math.max(1, (right - left) * 0.78)}
                  y={Math.min(y(each), y(0))}
                  height={Math.abs(y(each) - y(0))}
                  className={`${each >= 0 ? 'bar-out' : 'bar-in'} ${props.isClosed(index) ? 'is-closed' : ''}`}
                />
                {each !== before && <line x1={left} x2={right} y1={y(before)} y2={y(before)} className="stored-tick" />}
              </g>
            )
          })}
          {energiesKwh && (
            <ChargeStrip asset={asset} plan={plan} energiesKwh={energiesKwh} x={x} pane={charge} width={width} />
          )}
          <TimeAxis {...at} y={bottom + 18} now={0} />
        </svg>
      )}
    </div>
  )
}

function describe(name: string, asset: VirtualAsset, powersKw: number[], energiesKwh: number[] | undefined): string {
  if (!energiesKwh) return `${name}: ${powersKw.filter((power) => power !== 0).length} quarter-hours with power`
  return `${name}: ends the day at ${decimal(((energiesKwh.at(-1) ?? 0) / asset.energyCapacity) * 100, 1)} percent`
}

interface StripProps {
  asset: VirtualAsset
  plan: DayPlan
  energiesKwh: number[]
  x: Scale
  pane: { top: number; height: number }
  width: number
}

function ChargeStrip({ asset, plan, energiesKwh, x, pane: charge, width }: StripProps) {
  const e = linear(0, asset.energyCapacity, charge.top + charge.height, charge.top)
  const curve = energiesKwh.map((kwh, index) => [x(startOf(plan, index)), e(kwh)] as const)
  const end = ((energiesKwh.at(-1) ?? 0) / asset.energyCapacity) * 100
  return (
    <>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={charge.top}
        title="State of charge"
        note={`% of ${megawatts(asset.energyCapacity)} MWh`}
        value={`${decimal(end, 1)} %`}
      />
      <ValueAxis
        edges={EDGES}
        width={width}
        values={[0, 50, 100]}
        scale={(percent) => e((percent / 100) * asset.energyCapacity)}
        tell={decimal}
      />
      <path d={areaPath(curve, e(0))} className="charge-area" />
      <line
        x1={EDGES.left}
        x2={width - EDGES.right}
        y1={e(asset.energyCapacity / 2)}
        y2={e(asset.energyCapacity / 2)}
        className="target-line"
      />
      <path d={linePath(curve)} className="charge-line is-plan" />
    </>
  )
}

interface BandProps {
  range: Range
  number: number
  plan: DayPlan
  x: Scale
  top: number
  bottom: number
}

function RangeBand({ range, number, plan, x, top, bottom }: BandProps) {
  const [left, right] = [x(startOf(plan, range.from)), x(startOf(plan, range.to))]
  const tone = range.changedBy === 'both' && !range.isClosed ? 'is-both' : ''
  return (
    <g className={`range-band ${tone}`}>
      <rect x={left} width={Math.max(2, right - left)} y={top} height={bottom - top} />
      <circle cx={(left + right) / 2} cy={top + 9} r={7.5} />
      <text x={(left + right) / 2} y={top + 12.5} textAnchor="middle">
        {number}
      </text>
    </g>
  )
}
