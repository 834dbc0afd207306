import { memo, useMemo } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import { NARROW, PaneTitle, ValueAxis } from '../../../shared/charts/panes'
import type { Scale } from '../../../shared/charts/scale'
import { decimal, megawatts, signed } from '../../../shared/format'
import { QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import type { Held } from '../data'
import { bought, sold } from '../projection'
import { type Drawing, EDGES, powerScaleOf, startOf } from './drawing'

interface Props extends Drawing {
  held: Held[]
  span: Span
  isClosed: (index: number) => boolean
}

/** Export up, import down; what is held for the grid eats the envelope, a mark shows what is stored or will be cut to. */
export function PowerPane({ asset, plan, x, width, panes, powersKw, read, held, span, isClosed }: Props) {
  const y = useMemo(() => powerScaleOf(asset, panes.power), [asset, panes.power])
  const axis = useMemo(() => ({ values: ticksOf(asset), scale: (mw: number) => y(mw * 1000) }), [asset, y])
  const power = read === null ? null : (powersKw[read] ?? 0)
  const stored = read === null ? 0 : (plan.powersKw[read] ?? 0)
  return (
    <>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={panes.power.top}
        title="Power"
        note={width < NARROW ? 'MW' : 'MW · export up, import down'}
        aside={
          power === null
            ? width < NARROW
              ? 'sells'
              : `buys ${decimal(bought(powersKw), 1)} MWh, sells`
            : power === stored
              ? ''
              : `stored ${signed(stored / 1000, 2)}`
        }
        isShort
        value={power === null ? `${decimal(sold(powersKw), 1)} MWh` : `${signed(power / 1000, 2)} MW`}
        tone={power !== null && power < 0 ? 'var(--charge-text)' : 'var(--discharge-text)'}
      />
      <ValueAxis edges={EDGES} width={width} {...axis} tell={tellTick} />
      {held.map((one) => (
        <HeldBand key={`${one.market}-${one.start}`} held={one} asset={asset} span={span} x={x} y={y} />
      ))}
      {powersKw.map((each, index) => {
        const before = plan.powersKw[index] ?? 0
        const isChanged = each !== before
        const start = startOf(plan, index)
        const cut = plan.cuts.get(start)
        if (each === 0 && !isChanged && !cut) return null
        return (
          <Bar
            key={start}
            left={x(start)}
            right={x(start + QUARTER_MS)}
            zero={y(0)}
            top={y(each)}
            tick={isChanged ? y(before) : cut ? y(cut.to) : null}
            tickName={isChanged ? 'stored-tick' : 'cut-tick'}
            isClosed={isClosed(index)}
          />
        )
      })}
      <line x1={EDGES.left} x2={width - EDGES.right} y1={y(0)} y2={y(0)} className="axis-line" />
    </>
  )
}

interface BarProps {
  left: number
  right: number
  zero: number
  top: number
  /** What is stored beside an edit, or what will be left of it. */
  tick: number | null
  tickName: string
  isClosed: boolean
}

/** Only those that a hand passes are drawn anew. */
const Bar = memo(function Bar({ left, right, zero, top, tick, tickName, isClosed }: BarProps) {
  return (
    <g>
      <rect
        x={left + (right - left) * 0.11}
        width={Math.max(1, (right - left) * 0.78)}
        y={Math.min(top, zero)}
        height={Math.abs(top - zero)}
        rx={1}
        className={`${top <= zero ? 'bar-out' : 'bar-in'} ${isClosed ? 'is-closed' : ''}`}
      />
      {tick !== null && <line x1={left} x2={right} y1={tick} y2={tick} className={tickName} />}
    </g>
  )
})

const tellTick = (value: number) => signed(value, Number.isInteger(value) ? 0 : 1)

function ticksOf(asset: VirtualAsset): number[] {
  const [charge, discharge] = [asset.ratedChargePower / 1000, asset.ratedDischargePower / 1000]
  return [-charge, -charge / 2, 0, discharge / 2, discharge]
}

function HeldBand({ held, asset, span, x, y }: { held: Held; asset: VirtualAsset; span: Span; x: Scale; y: Scale }) {
  const [start, end] = [Math.max(span.start, held.start), Math.min(span.end, held.end)]
  // The service names all blocks of a battery that lives on the day.
  if (end <= start) return null
  const [top, bottom] = [asset.ratedDischargePower, -asset.ratedChargePower]
  const isUp = held.market !== 'AFRR_NEG'
  const isDown = held.market !== 'AFRR_POS'
  const band = (from: number, to: number) => (
    <rect x={x(start)} width={x(end) - x(start)} y={y(from)} height={y(to) - y(from)} className="held-band" />
  )
  return (
    <g>
      {isUp && band(top, top - held.powerKw)}
      {isDown && band(bottom + held.powerKw, bottom)}
      {x(end) - x(start) >= 34 && (
        <text
          x={(x(start) + x(end)) / 2}
          y={y(isUp ? top - held.powerKw / 2 : bottom + held.powerKw / 2) + 4}
          textAnchor="middle"
          className="held-label"
        >
          {held.market === 'FCR' ? 'FCR' : 'aFRR'}
          {x(end) - x(start) >= 72 && ` ${megawatts(held.powerKw)} MW`}
        </text>
      )}
    </g>
  )
}
