/** A battery's row, drawn on a canvas: fifty of them are drawn anew within a frame or two. */
import type { RowState } from './rows'

export interface Look {
  charge: string
  discharge: string
  soc: string
  line: string
  ink: string
  past: string
  danger: string
}

const NAMES: Record<keyof Look, string> = {
  charge: '--charge',
  discharge: '--discharge',
  soc: '--soc',
  line: '--line-strong',
  ink: '--ink',
  past: '--past',
  danger: '--danger',
}

export function readLook(): Look {
  const style = getComputedStyle(document.documentElement)
  return Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, style.getPropertyValue(name)])) as never
}

export interface Extent {
  width: number
  height: number
  /** Of the day. */
  start: number
  end: number
  /** How many quarter-hours from the plan's start on are past their gate. */
  closed: number
  isPale: boolean
}

/** Export up, import down on one scale of the battery's own; the store's course behind, stored powers as ticks. */
export function drawRow(canvas: HTMLCanvasElement, row: RowState, extent: Extent, look: Look): void {
  const { width, height, start, end, closed, isPale } = extent
  const context = canvas.getContext('2d')
  if (!context || width === 0) return
  const ratio = devicePixelRatio || 1
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  context.scale(ratio, ratio)
  const { asset, plan, powersKw, energiesKwh, live } = row
  const x = (at: number) => ((at - start) / (end - start)) * width
  const first = plan.quarters[0] ?? start
  const step = x(first + 900_000) - x(first)
  const left = x(first)
  const reach = Math.max(asset.ratedChargePower, asset.ratedDischargePower) || 1
  const middle = height / 2
  const y = (kw: number) => middle - (kw / reach) * (middle - 1)
  const level = (kwh: number) => height - 1 - (kwh / asset.energyCapacity) * (height - 2)
  if (closed > 0) {
    context.fillStyle = look.past
    context.fillRect(left, 0, closed * step, height)
  }
  // The store's course.
  context.beginPath()
  energiesKwh.forEach((kwh, index) => {
    if (index === 0) context.moveTo(left, level(kwh))
    else context.lineTo(left + index * step, level(kwh))
  })
  context.strokeStyle = look.soc
  context.globalAlpha = isPale ? 0.4 : 0.9
  context.lineWidth = 1.2
  context.stroke()
  context.globalAlpha = isPale ? 0.1 : 0.16
  context.lineTo(left + energiesKwh.length * step - step, height)
  context.lineTo(left, height)
  context.fillStyle = look.soc
  context.fill()
  context.globalAlpha = 1
  context.fillStyle = look.line
  context.fillRect(left, middle, plan.quarters.length * step, 1)
  powersKw.forEach((kw, index) => {
    if (kw !== 0) {
      context.globalAlpha = isPale || index < closed ? 0.5 : 1
      context.fillStyle = kw > 0 ? look.discharge : look.charge
      context.fillRect(left + (index + 0.1) * step, Math.min(middle, y(kw)), step * 0.8, Math.abs(y(kw) - middle))
    }
    if (!live.has(index)) return
    context.globalAlpha = 1
    context.fillStyle = look.ink
    context.fillRect(left + index * step, y(plan.powersKw[index] ?? 0) - 0.5, step, 1)
  })
  context.globalAlpha = 1
  context.fillStyle = look.danger
  for (const at of plan.cuts.keys()) context.fillRect(x(at), 0, step, 2)
}
