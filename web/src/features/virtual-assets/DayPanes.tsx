/** Three panes over one axis of time: state of charge, power (drawn by dragging) and price. */
import { type PointerEvent, useRef } from 'react'
import type { VirtualAsset } from '../../shared/api/resources'
import { linear, linePath, type Scale, stepPath, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, megawatts, signed } from '../../shared/format'
import { HOUR_MS, QUARTER_MS, type Span } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { useZone } from '../../shared/zone'
import type { DayPlan, Held, Prices } from './data'
import { type Breach, bought, sold } from './projection'

const LEFT = 46
const RIGHT = 18
const HEIGHT = 588
const PANES = { charge: { top: 26, height: 176 }, power: { top: 244, height: 196 }, price: { top: 474, height: 82 } }
const STEP_KW = 100

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
  const {
    asset,
    plan,
    span,
    powersKw,
    energiesKwh,
    breach,
    prices,
    held,
    now,
    selection,
    isEditable,
    isClosed,
    onDraw,
  } = props
  const zone = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const stroke = useRef<{ index: number; level: number; hasDrawn: boolean } | null>(null)
  const x = linear(span.start, span.end, LEFT, Math.max(LEFT + 1, width - RIGHT))
  const y = {
    charge: linear(0, 100, PANES.charge.top + PANES.charge.height, PANES.charge.top),
    power: linear(
      -asset.ratedChargePower,
      asset.ratedDischargePower,
      PANES.power.top + PANES.power.height,
      PANES.power.top,
    ),
  }
  const isChanged = (index: number) => powersKw[index] !== plan.powersKw[index]

  const placeOf = (event: PointerEvent<SVGElement>): { index: number; level: number } => {
    const box = event.currentTarget.getBoundingClientRect()
    const at = span.start + ((event.clientX - box.left) / box.width) * (span.end - span.start)
    const index = plan.quarters.findIndex((start) => at >= start && at < start + QUARTER_MS)
    const share = (event.clientY - box.top) / box.height
    const kw = asset.ratedDischargePower - share * (asset.ratedChargePower + asset.ratedDischargePower)
    return { index, level: Math.round(kw / STEP_KW) * STEP_KW }
  }
  const begin = (event: PointerEvent<SVGElement>) => {
    if (!isEditable || event.button !== 0) return
    const { index, level } = placeOf(event)
    if (index < 0 || isClosed(index)) return
    event.currentTarget.setPointerCapture(event.pointerId)
    stroke.current = { index, level, hasDrawn: true }
    onDraw(new Map([[index, level]]), false)
  }
  const move = (event: PointerEvent<SVGElement>) => {
    const from = stroke.current
    if (!from) return
    const { index, level: pointed } = placeOf(event)
    if (index < 0) return
    const level = event.shiftKey ? from.level : pointed
    const changes = new Map<number, number>()
    const [low, high] = [Math.min(from.index, index), Math.max(from.index, index)]
    for (let each = low; each <= high; each += 1) {
      if (isClosed(each)) continue
      // Between two readings of a quick hand, the levels in between.
      const share = high === low ? 1 : Math.abs(each - from.index) / (high - low)
      changes.set(each, Math.round((from.level + (level - from.level) * share) / STEP_KW) * STEP_KW)
    }
    stroke.current = { index, level, hasDrawn: true }
    onDraw(changes, true)
  }
  const finish = () => {
    stroke.current = null
  }

  const percent = (kwh: number) => (kwh / asset.energyCapacity) * 100
  const at = (index: number) => plan.quarters[index] ?? (plan.quarters.at(-1) ?? span.start) + QUARTER_MS
  const curve = energiesKwh.map((kwh, index) => [x(at(index)), y.charge(percent(kwh))] as const)
  const stored = plan.energiesKwh.map((kwh, index) => [x(at(index)), y.charge(percent(kwh))] as const)
  const split = plan.quarters.filter((start) => start <= now).length
  const isEdited = powersKw.some((_, index) => isChanged(index))
  const last = curve.at(-1)
  const selected = selection && ([Math.min(...selection), Math.max(...selection)] as const)
  const barWidth = Math.max(1, (x(span.start + QUARTER_MS) - x(span.start)) * 0.78)
  const bottom = PANES.price.top + PANES.price.height
  return (
    <div ref={ref} className="day-panes">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={describe(asset, energiesKwh, powersKw)}>
          <defs>
            <clipPath id="charge-pane">
              <rect
                x={LEFT}
                width={width - LEFT - RIGHT + 6}
                y={PANES.charge.top - 2}
                height={PANES.charge.height + 4}
              />
            </clipPath>
          </defs>
          {now > span.start && (
            <rect
              x={LEFT}
              width={Math.max(0, Math.min(x(now), width - RIGHT) - LEFT)}
              y={PANES.charge.top}
              height={bottom - PANES.charge.top}
              className="past"
            />
          )}
          {selected && (
            <rect
              x={x(at(selected[0]))}
              width={x(at(selected[1]) + QUARTER_MS) - x(at(selected[0]))}
              y={PANES.charge.top}
              height={bottom - PANES.charge.top}
              className="day-selection"
            />
          )}
          <Hours span={span} x={x} bottom={bottom} />

          <PaneTitle
            top={PANES.charge.top}
            width={width}
            title="State of charge"
            note={`% of ${megawatts(asset.energyCapacity)} MWh`}
            aside={isEdited ? `stored plan ${decimal(percent(plan.energiesKwh.at(-1) ?? 0), 1)} %` : 'ends the day at'}
            value={`${decimal(percent(energiesKwh.at(-1) ?? 0), 1)} %`}
            tone="var(--soc)"
          />
          <Axis values={[0, 25, 50, 75, 100]} scale={y.charge} width={width} tell={(value) => decimal(value)} />
          {breach && (
            <rect
              x={x(at(breach.index))}
              width={Math.max(
                3,
                x(at(lastOutside(energiesKwh, asset, breach.index)) + QUARTER_MS) - x(at(breach.index)),
              )}
              y={PANES.charge.top}
              height={PANES.charge.height}
              className="day-breach"
            />
          )}
          <g clipPath="url(#charge-pane)">
            <path d={area(curve, y.charge(0))} className="charge-area" />
            <line x1={LEFT} x2={width - RIGHT} y1={y.charge(50)} y2={y.charge(50)} className="target-line" />
            {isEdited && <path d={linePath(stored)} className="stored-line" />}
            <path d={linePath(curve.slice(0, split + 1))} className="charge-line" />
            <path d={linePath(curve.slice(split))} className="charge-line is-plan" />
            {last && <circle cx={last[0]} cy={last[1]} r={4} className="charge-end" />}
          </g>
          <text x={LEFT + 6} y={y.charge(50) - 5} className="axis target-text">
            target 50 %
          </text>

          <PaneTitle
            top={PANES.power.top}
            width={width}
            title="Power"
            note="MW · export up, import down"
            aside={`buys ${decimal(bought(powersKw), 1)} MWh, sells`}
            value={`${decimal(sold(powersKw), 1)} MWh`}
            tone="var(--discharge-text)"
          />
          <Axis
            values={powerTicks(asset)}
            scale={(mw) => y.power(mw * 1000)}
            width={width}
            tell={(value) => signed(value, Number.isInteger(value) ? 0 : 1)}
          />
          {held.map((one) => (
            <HeldBand key={`${one.market}-${one.start}`} held={one} asset={asset} span={span} x={x} y={y.power} />
          ))}
          {powersKw.map((power, index) => {
            if (power === 0 && !isChanged(index)) return null
            const start = at(index)
            const storedPower = plan.powersKw[index] ?? 0
            return (
              <g key={start}>
                <rect
                  x={x(start) + (x(start + QUARTER_MS) - x(start)) * 0.11}
                  width={barWidth}
                  y={Math.min(y.power(power), y.power(0))}
                  height={Math.abs(y.power(power) - y.power(0))}
                  rx={1}
                  className={`${power >= 0 ? 'bar-out' : 'bar-in'} ${isClosed(index) ? 'is-closed' : ''}`}
                />
                {isChanged(index) && (
                  <line
                    x1={x(start)}
                    x2={x(start + QUARTER_MS)}
                    y1={y.power(storedPower)}
                    y2={y.power(storedPower)}
                    className="stored-tick"
                  />
                )}
                {plan.cuts.has(start) && !isChanged(index) && (
                  <line
                    x1={x(start)}
                    x2={x(start + QUARTER_MS)}
                    y1={y.power(plan.cuts.get(start)?.to ?? 0)}
                    y2={y.power(plan.cuts.get(start)?.to ?? 0)}
                    className="cut-tick"
                  />
                )}
              </g>
            )
          })}
          <line x1={LEFT} x2={width - RIGHT} y1={y.power(0)} y2={y.power(0)} className="axis-line" />
          {/* Drawing is for pointers; the table beside it does the same for keys. */}
          <rect
            x={LEFT}
            width={Math.max(0, width - LEFT - RIGHT)}
            y={PANES.power.top}
            height={PANES.power.height}
            className={isEditable ? 'draw-area' : 'draw-area is-off'}
            onPointerDown={begin}
            onPointerMove={move}
            onPointerUp={finish}
            onPointerCancel={finish}
          />
          <PricePane prices={prices} span={span} x={x} width={width} />
          <TimeAxis span={span} x={x} zone={zone} now={now} />
          {now > span.start && now < span.end && (
            <>
              <line x1={x(now)} x2={x(now)} y1={PANES.charge.top} y2={bottom} className="now-line" />
              <rect x={x(now) - 34} y={HEIGHT - 22} width={68} height={19} rx={5} className="now-tag" />
              <text x={x(now)} y={HEIGHT - 9} textAnchor="middle" className="now-tag-text">
                now {time(now, zone)}
              </text>
            </>
          )}
        </svg>
      )}
    </div>
  )
}

function describe(asset: VirtualAsset, energiesKwh: number[], powersKw: number[]): string {
  const end = ((energiesKwh.at(-1) ?? 0) / asset.energyCapacity) * 100
  return `${asset.name}: buys ${decimal(bought(powersKw), 1)} and sells ${decimal(sold(powersKw), 1)} MWh, ends the day at ${decimal(end, 1)} percent.`
}

/** Where the curve is back within its bounds. */
function lastOutside(energiesKwh: number[], asset: VirtualAsset, from: number): number {
  let index = from
  const isOutside = (kwh: number) => kwh > asset.availableEnergyCapacity + 1e-3 || kwh < -1e-3
  while (index + 2 < energiesKwh.length && isOutside(energiesKwh[index + 2] ?? 0)) index += 1
  return index
}

function powerTicks(asset: VirtualAsset): number[] {
  const [charge, discharge] = [asset.ratedChargePower / 1000, asset.ratedDischargePower / 1000]
  return [-charge, -charge / 2, 0, discharge / 2, discharge]
}

function area(points: readonly (readonly [number, number])[], base: number): string {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return ''
  return `${linePath(points)}L${last[0].toFixed(1)} ${base}L${first[0].toFixed(1)} ${base}Z`
}

interface TitleProps {
  top: number
  width: number
  title: string
  note: string
  aside: string
  value: string
  tone: string
}

function PaneTitle({ top, width, title, note, aside, value, tone }: TitleProps) {
  return (
    <>
      <text x={LEFT} y={top - 10} className="axis">
        <tspan className="axis-strong">{title}</tspan> {note}
      </text>
      <text x={width - RIGHT} y={top - 10} textAnchor="end" className="axis">
        {aside}{' '}
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
  return values.map((value) => (
    <g key={value}>
      <line x1={LEFT} x2={width - RIGHT} y1={scale(value)} y2={scale(value)} className="grid-line" />
      <text x={LEFT - 8} y={scale(value) + 4} textAnchor="end" className="axis">
        {tell(value)}
      </text>
    </g>
  ))
}

function HeldBand({ held, asset, span, x, y }: { held: Held; asset: VirtualAsset; span: Span; x: Scale; y: Scale }) {
  const [start, end] = [Math.max(span.start, held.start), Math.min(span.end, held.end)]
  const isUp = held.market !== 'AFRR_NEG'
  const isDown = held.market !== 'AFRR_POS'
  const name = held.market === 'FCR' ? 'FCR' : 'aFRR'
  return (
    <g>
      {isUp && (
        <rect
          x={x(start)}
          width={x(end) - x(start)}
          y={y(asset.ratedDischargePower)}
          height={y(asset.ratedDischargePower - held.powerKw) - y(asset.ratedDischargePower)}
          className="held-band"
        />
      )}
      {isDown && (
        <rect
          x={x(start)}
          width={x(end) - x(start)}
          y={y(-asset.ratedChargePower + held.powerKw)}
          height={y(-asset.ratedChargePower) - y(-asset.ratedChargePower + held.powerKw)}
          className="held-band"
        />
      )}
      <text
        x={(x(start) + x(end)) / 2}
        y={(isUp ? y(asset.ratedDischargePower - held.powerKw / 2) : y(-asset.ratedChargePower + held.powerKw / 2)) + 4}
        textAnchor="middle"
        className="held-label"
      >
        {name} {megawatts(held.powerKw)} MW
      </text>
    </g>
  )
}

function PricePane({ prices, span, x, width }: { prices: Prices | undefined; span: Span; x: Scale; width: number }) {
  const { top, height } = PANES.price
  const known = (prices?.values ?? []).filter((price): price is number => price !== null)
  const title = prices?.isForecast ? 'Expected price' : 'Day-ahead price'
  if (known.length === 0)
    return (
      <text x={LEFT} y={top - 10} className="axis">
        <tspan className="axis-strong">{title}</tspan> not known yet
      </text>
    )
  const low = Math.min(0, ...known)
  const high = Math.max(...known, 10)
  const y = linear(low, high, top + height, top)
  const points = (prices?.values ?? []).map(
    (price, index) => [x(span.start + index * QUARTER_MS), price === null ? null : y(price)] as const,
  )
  return (
    <>
      <PaneTitle
        top={top}
        width={width}
        title={title}
        note="EUR/MWh · DE-LU"
        aside={`low ${decimal(Math.min(...known))} €, high`}
        value={`${decimal(Math.max(...known))} €`}
        tone="var(--price)"
      />
      <Axis values={ticks(low, high, 3)} scale={y} width={width} tell={(value) => decimal(value)} />
      <path d={stepPath(points, x(span.end))} className={prices?.isForecast ? 'price-line is-plan' : 'price-line'} />
    </>
  )
}

function threeHourly(span: Span): number[] {
  const moments = []
  for (let moment = span.start; moment <= span.end; moment += 3 * HOUR_MS) moments.push(moment)
  return moments
}

function Hours({ span, x, bottom }: { span: Span; x: Scale; bottom: number }) {
  return threeHourly(span).map((moment) => (
    <line key={moment} x1={x(moment)} x2={x(moment)} y1={PANES.charge.top} y2={bottom} className="grid-line" />
  ))
}

function TimeAxis({ span, x, zone, now }: { span: Span; x: Scale; zone: 'Europe/Berlin' | 'UTC'; now: number }) {
  const all = threeHourly(span).filter((moment) => Math.abs(x(moment) - x(now)) > 56)
  return all.map((moment) => (
    <text
      key={moment}
      x={x(moment)}
      y={HEIGHT - 8}
      className="axis"
      textAnchor={moment === span.start ? 'start' : moment === span.end ? 'end' : 'middle'}
    >
      {moment === span.end && zone !== 'UTC' ? '24:00' : time(moment, zone)}
    </text>
  ))
}
