/** What all panes of a day share. */
import { type PointerEvent, useCallback, useEffect, useRef } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import type { Scale } from '../../../shared/charts/scale'
import { QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import type { DayPlan } from '../data'

export const EDGES = { left: 46, right: 18 }
const TITLE = 28
const GAP = 40
const FOOT = 32
const LEAST = 420

export interface Pane {
  top: number
  height: number
}

export interface Panes {
  charge: Pane
  power: Pane
  price: Pane
}

/** The height divided: nearly two fifths each for charge and power, the rest for the price. */
export function panesOf(height: number): Panes {
  const room = Math.max(LEAST, height) - TITLE - 2 * GAP - FOOT
  const charge = { top: TITLE, height: Math.round(room * 0.37) }
  const power = { top: charge.top + charge.height + GAP, height: Math.round(room * 0.41) }
  const price = { top: power.top + power.height + GAP, height: Math.round(room * 0.22) }
  return { charge, power, price }
}

export interface Drawing {
  asset: VirtualAsset
  plan: DayPlan
  x: Scale
  width: number
  panes: Panes
  powersKw: number[]
  /** The quarter-hour whose values stand in the headers, if it is one. */
  read: number | null
}

/** The start of a quarter-hour, or the end of the last. */
export function startOf(plan: DayPlan, index: number): number {
  return plan.quarters[index] ?? (plan.quarters.at(-1) ?? 0) + QUARTER_MS
}

export function powerScaleOf(asset: VirtualAsset, { top, height }: Pane): Scale {
  const span = asset.ratedChargePower + asset.ratedDischargePower
  return (kw) => top + ((asset.ratedDischargePower - kw) / span) * height
}

/** The quarter-hour at a share of the day's width; −1 where the battery has none. */
export function quarterOf(plan: DayPlan, span: Span, share: number): number {
  const first = plan.quarters[0]
  if (first === undefined) return -1
  const index = Math.floor((span.start + share * (span.end - span.start) - first) / QUARTER_MS)
  return index < 0 || index >= plan.quarters.length ? -1 : index
}

/** Where an element stands, read once until the page moves: reading it at every move of a hand would cost a layout. */
export function useBox(): (event: PointerEvent<Element>) => DOMRect {
  const known = useRef<{ element: Element; box: DOMRect } | null>(null)
  useEffect(() => {
    const forget = () => {
      known.current = null
    }
    addEventListener('scroll', forget, { capture: true, passive: true })
    addEventListener('resize', forget)
    return () => {
      removeEventListener('scroll', forget, { capture: true })
      removeEventListener('resize', forget)
    }
  }, [])
  return useCallback((event) => {
    const element = event.currentTarget
    const isNew = event.type !== 'pointermove' || known.current?.element !== element
    if (isNew || !known.current) known.current = { element, box: element.getBoundingClientRect() }
    return known.current.box
  }, [])
}
