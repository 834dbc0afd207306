import { type PointerEvent, useRef } from 'react'
import type { Span } from '../../../shared/time/marketDay'
import { type Drawing, EDGES, quarterOf, useBox } from './drawing'

const STEP_KW = 100

interface Props extends Drawing {
  span: Span
  isEditable: boolean
  isClosed: (index: number) => boolean
  onDraw: (changes: Map<number, number>, isSameStroke: boolean) => void
}

/** Drawing is for pointers; the table beside it does the same for keys. */
export function DrawArea({ asset, plan, width, panes, span, isEditable, isClosed, onDraw }: Props) {
  const boxOf = useBox()
  const stroke = useRef<{ index: number; level: number } | null>(null)
  const placeOf = (event: PointerEvent<SVGElement>): { index: number; level: number } => {
    const box = boxOf(event)
    const index = quarterOf(plan, span, (event.clientX - box.left) / box.width)
    const share = (event.clientY - box.top) / box.height
    const kw = asset.ratedDischargePower - share * (asset.ratedChargePower + asset.ratedDischargePower)
    return { index, level: Math.round(kw / STEP_KW) * STEP_KW }
  }
  const begin = (event: PointerEvent<SVGElement>) => {
    if (!isEditable || event.button !== 0) return
    const { index, level } = placeOf(event)
    if (index < 0 || isClosed(index)) return
    event.currentTarget.setPointerCapture(event.pointerId)
    stroke.current = { index, level }
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
    stroke.current = { index, level }
    onDraw(changes, true)
  }
  const finish = () => {
    stroke.current = null
  }
  return (
    <rect
      x={EDGES.left}
      width={Math.max(0, width - EDGES.left - EDGES.right)}
      y={panes.power.top}
      height={panes.power.height}
      className={isEditable ? 'draw-area' : 'draw-area is-off'}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={finish}
      onPointerCancel={finish}
    />
  )
}
