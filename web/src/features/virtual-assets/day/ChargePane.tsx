import { useMemo } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import { areaPath, PaneTitle, ValueAxis } from '../../../shared/charts/panes'
import { linear, linePath } from '../../../shared/charts/scale'
import { decimal, megawatts } from '../../../shared/format'
import { QUARTER_MS } from '../../../shared/time/marketDay'
import type { Breach } from '../projection'
import { type Drawing, EDGES, startOf } from './drawing'

interface Props extends Drawing {
  energiesKwh: number[]
  breach: Breach | null
  now: number
}

const PERCENTS = [0, 25, 50, 75, 100]

/** What is stored: past solid, the plan dashed, what is stored at the service thin and dotted beside an edit. */
export function ChargePane({ asset, plan, x, width, panes, powersKw, read, energiesKwh, breach, now }: Props) {
  const { top, height } = panes.charge
  const y = useMemo(() => linear(0, 100, top + height, top), [top, height])
  const percent = (kwh: number | undefined) => ((kwh ?? 0) / asset.energyCapacity) * 100
  const placed = (kwh: number[]) => kwh.map((each, index) => [x(startOf(plan, index)), y(percent(each))] as const)
  const curve = placed(energiesKwh)
  const split = plan.quarters.filter((start) => start <= now).length
  const isEdited = powersKw.some((power, index) => power !== plan.powersKw[index])
  const last = curve.at(-1)
  const shown = read === null ? energiesKwh.length - 1 : read + 1
  const [pointed, stored] = [percent(energiesKwh[shown]), percent(plan.energiesKwh[shown])]
  return (
    <>
      <defs>
        <clipPath id="charge-pane">
          <rect x={EDGES.left} width={width - EDGES.left - EDGES.right + 6} y={top - 2} height={height + 4} />
        </clipPath>
      </defs>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={top}
        title="State of charge"
        note={`% of ${megawatts(asset.energyCapacity)} MWh`}
        aside={isEdited ? `stored plan ${decimal(stored, 1)} %, edited` : read === null ? 'ends the day at' : ''}
        value={`${decimal(pointed, 1)} %`}
        tone="var(--soc)"
      />
      <ValueAxis edges={EDGES} width={width} values={PERCENTS} scale={y} tell={decimal} />
      {breach && (
        <rect
          x={x(startOf(plan, breach.index))}
          width={Math.max(
            3,
            x(startOf(plan, lastOutside(energiesKwh, asset, breach.index)) + QUARTER_MS) -
              x(startOf(plan, breach.index)),
          )}
          y={top}
          height={height}
          className="day-breach"
        />
      )}
      <g clipPath="url(#charge-pane)">
        <path d={areaPath(curve, y(0))} className="charge-area" />
        <line x1={EDGES.left} x2={width - EDGES.right} y1={y(50)} y2={y(50)} className="target-line" />
        {isEdited && <path d={linePath(placed(plan.energiesKwh))} className="stored-line" />}
        <path d={linePath(curve.slice(0, split + 1))} className="charge-line" />
        <path d={linePath(curve.slice(split))} className="charge-line is-plan" />
        {last && <circle cx={last[0]} cy={last[1]} r={4} className="charge-end" />}
        {read !== null && curve[shown] && (
          <circle cx={curve[shown][0]} cy={curve[shown][1]} r={4} className="charge-pointed" />
        )}
      </g>
      <text x={EDGES.left + 6} y={y(50) - 5} className="axis target-text pane-title">
        target 50 %
      </text>
    </>
  )
}

/** Where the curve is back within its bounds. */
function lastOutside(energiesKwh: number[], asset: VirtualAsset, from: number): number {
  let index = from
  const isOutside = (kwh: number) => kwh > asset.availableEnergyCapacity + 1e-3 || kwh < -1e-3
  while (index + 2 < energiesKwh.length && isOutside(energiesKwh[index + 2] ?? 0)) index += 1
  return index
}
