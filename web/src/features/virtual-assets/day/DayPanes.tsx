/** Three panes over one axis of time: state of charge, power (drawn by dragging) and price. */
import { type PointerEvent, useCallback, useMemo, useState } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import { HourLines, NowMark, Past, TimeAxis } from '../../../shared/charts/panes'
import { linear } from '../../../shared/charts/scale'
import { useSize } from '../../../shared/charts/size'
import { decimal } from '../../../shared/format'
import { QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import { time } from '../../../shared/time/words'
import { useZone } from '../../../shared/zone'
import type { DayPlan, Held, Prices } from '../data'
import { type Breach, bought, sold } from '../projection'
import { ChargePane } from './ChargePane'
import { DrawArea } from './DrawArea'
import { type Drawing, EDGES, panesOf, quarterOf, useBox } from './drawing'
import { PowerPane } from './PowerPane'
import { PricePane } from './PricePane'

interface Props {
  asset: VirtualAsset
  plan: DayPlan
  span: Span
  powersKw: number[]
  energiesKwh: number[]
  breach: Breach | null
  prices: Prices | undefined
  held: Held[]
  now: number
  selection: [number, number] | null
  isEditable: boolean
  isClosed: (index: number) => boolean
  /** A stroke: the quarter-hours it passed and the level at each. */
  onDraw: (changes: Map<number, number>, isSameStroke: boolean) => void
}

export function DayPanes(props: Props) {
  const { asset, plan, span, powersKw, energiesKwh, now, selection } = props
  const zone = useZone()
  const [ref, { width, height }] = useSize<HTMLDivElement>()
  const boxOf = useBox()
  const [pointed, setPointed] = useState<number | null>(null)
  // The same while a hand draws: what depends on nothing else is not drawn anew.
  const panes = useMemo(() => panesOf(height), [height])
  const tops = useMemo(() => [panes.power.top, panes.price.top], [panes])
  const x = useMemo(
    () => linear(span.start, span.end, EDGES.left, Math.max(EDGES.left + 1, width - EDGES.right)),
    [span, width],
  )
  const bottom = panes.price.top + panes.price.height
  const read = pointed ?? (selection && selection[0] === selection[1] ? selection[0] : null)
  const drawing: Drawing = { asset, plan, x, width, panes, powersKw, read }
  const at = { span, zone, x, now }
  const point = (event: PointerEvent<SVGElement>) => {
    const share = (event.clientX - boxOf(event).left - EDGES.left) / (width - EDGES.left - EDGES.right)
    const index = quarterOf(plan, span, share)
    setPointed(index < 0 ? null : index)
  }
  const leave = useCallback(() => setPointed(null), [])
  return (
    <div ref={ref} className="day-panes">
      {width > 0 && height > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={describe(asset, energiesKwh, powersKw)}
          onPointerEnter={point}
          onPointerMove={point}
          onPointerLeave={leave}
        >
          <Past {...at} top={panes.charge.top} height={bottom - panes.charge.top} />
          {selection && <Selected {...drawing} selection={selection} bottom={bottom} />}
          <HourLines {...at} top={panes.charge.top} bottom={bottom} />
          <ChargePane {...drawing} energiesKwh={energiesKwh} breach={props.breach} now={now} />
          <PowerPane {...drawing} held={props.held} span={span} isClosed={props.isClosed} />
          <PricePane {...drawing} prices={props.prices} span={span} />
          <TimeAxis
            {...at}
            y={bottom + 20}
            pointed={pointed === null ? null : (plan.quarters[pointed] ?? 0) + QUARTER_MS / 2}
          />
          <NowMark {...at} top={panes.charge.top} bottom={bottom} tops={tops} />
          {pointed !== null && <Pointed {...drawing} index={pointed} bottom={bottom} />}
          <DrawArea
            {...drawing}
            span={span}
            isEditable={props.isEditable}
            isClosed={props.isClosed}
            onDraw={props.onDraw}
          />
        </svg>
      )}
    </div>
  )
}

function Selected({ plan, x, panes, selection, bottom }: Drawing & { selection: [number, number]; bottom: number }) {
  const start = x(plan.quarters[Math.min(...selection)] ?? 0)
  const end = x((plan.quarters[Math.max(...selection)] ?? 0) + QUARTER_MS)
  return (
    <rect
      x={start}
      width={Math.max(0, end - start)}
      y={panes.charge.top}
      height={bottom - panes.charge.top}
      className="day-selection"
    />
  )
}

/** The quarter-hour under the pointer: its values stand in the panes' headers, its time at the foot. */
function Pointed({ plan, x, width, panes, index, bottom }: Drawing & { index: number; bottom: number }) {
  const zone = useZone()
  const start = plan.quarters[index] ?? 0
  const middle = x(start + QUARTER_MS / 2)
  const tag = Math.min(Math.max(middle, EDGES.left + 40), width - 44)
  return (
    <g className="day-pointed">
      <line x1={middle} x2={middle} y1={panes.charge.top} y2={bottom} />
      <rect x={tag - 42} y={bottom + 6} width={84} height={19} rx={5} />
      <text x={tag} y={bottom + 19} textAnchor="middle" className="now-tag-text">
        {time(start, zone)}–{time(start + QUARTER_MS, zone)}
      </text>
    </g>
  )
}

function describe(asset: VirtualAsset, energiesKwh: number[], powersKw: number[]): string {
  const end = ((energiesKwh.at(-1) ?? 0) / asset.energyCapacity) * 100
  return `${asset.name}: buys ${decimal(bought(powersKw), 1)} and sells ${decimal(sold(powersKw), 1)} MWh, ends the day at ${decimal(end, 1)} percent.`
}
