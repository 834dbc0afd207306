/** What each battery's row says: its plan with its edits, what that is worth, and what is wrong with it. */
import type { VirtualAsset } from '../../shared/api/resources'
import { isBalanced } from '../../shared/balance'
import { decimal } from '../../shared/format'
import type { Zone } from '../../shared/time/marketDay'
import { quarter } from '../../shared/time/words'
import type { DayPlan } from '../virtual-assets/data'
import { projectionOf, value } from '../virtual-assets/projection'
import type { Planned } from './data'

export interface RowState {
  asset: VirtualAsset
  /** What editing began with. */
  plan: DayPlan
  /** Edits whose gate is open. */
  live: ReadonlyMap<number, number>
  /** Edits whose gate has passed since. */
  expired: readonly number[]
  powersKw: number[]
  energiesKwh: number[]
  endKwh: number
  isInBreach: boolean
  /** In a sentence, where something is wrong. */
  problem: string | null
  /** EUR, expected; null where a price is not known, or nothing may be said while the plan is in breach. */
  worth: number | null
  stored: number | null
  /** A colleague saved another plan of this day since the first edit. */
  isOvertaken: boolean
}

const NO_EDITS: ReadonlyMap<number, number> = new Map()

export function rowOf(
  { asset, plan }: Planned,
  edits: ReadonlyMap<number, number> = NO_EDITS,
  prices: readonly (number | null)[],
  closed: number,
  isOvertaken: boolean,
  zone: Zone,
): RowState {
  const live = new Map([...edits].filter(([index]) => index >= closed))
  const expired = [...edits.keys()].filter((index) => index < closed)
  const powersKw = plan.powersKw.map((power, index) => live.get(index) ?? power)
  const { energiesKwh, endKwh, breach } = projectionOf(asset, plan, powersKw)
  return {
    asset,
    plan,
    live,
    expired,
    powersKw,
    energiesKwh,
    endKwh,
    isInBreach: breach !== null,
    problem: breach
      ? `${quarter(plan.quarters[breach.index] ?? 0, zone)}: ${decimal(Math.abs(breach.kwh) / 1000, 2)} MWh ${breach.kwh > 0 ? 'above capacity' : 'below empty'}`
      : problemOf(asset, plan, endKwh, live.size > 0),
    worth: breach ? null : value(powersKw, prices),
    stored: value(plan.powersKw, prices),
    isOvertaken,
  }
}

function problemOf(asset: VirtualAsset, plan: DayPlan, endKwh: number, isEdited: boolean): string | null {
  if (plan.cuts.size > 0 && !isEdited) {
    const lost = [...plan.cuts.values()].reduce((sum, cut) => sum + Math.abs(cut.from - cut.to) / 4000, 0)
    return `${decimal(lost, 2)} MWh will be cut`
  }
  const off = endKwh - 0.5 * asset.energyCapacity
  if (!isBalanced(asset, off)) return `ends ${decimal(Math.abs(off) / 1000, 2)} MWh ${off < 0 ? 'short' : 'too full'}`
  return null
}

/** Prices of a plan's own quarter-hours: on the first day of a life those are fewer than the day's. */
export function pricesOf(plan: DayPlan, start: number, values: readonly (number | null)[]): (number | null)[] {
  return plan.quarters.map((at) => values[Math.round((at - start) / 900_000)] ?? null)
}

export interface Group {
  title: string
  rows: RowState[]
}

/**
 * What stored plans have wrong comes first, then zone by zone. The order is that of what is stored: no row moves under
 * a hand that edits it.
 */
export function groupsOf(rows: readonly RowState[], refused: ReadonlyMap<string, unknown>): Group[] {
  const isWrong = ({ asset, plan }: RowState) =>
    refused.has(asset.id) ||
    problemOf(asset, plan, (asset.endStateOfChargePercentage / 100) * asset.energyCapacity, false)
  const byName = (a: RowState, b: RowState) => a.asset.name.localeCompare(b.asset.name, 'en', { numeric: true })
  const wrong = rows.filter(isWrong).sort(byName)
  const zones = new Map<string, RowState[]>()
  for (const row of rows)
    if (!wrong.includes(row)) zones.set(row.asset.deliveryZone, [...(zones.get(row.asset.deliveryZone) ?? []), row])
  return [
    ...(wrong.length > 0 ? [{ title: 'Needs a look', rows: wrong }] : []),
    ...[...zones].sort(([a], [b]) => a.localeCompare(b)).map(([title, list]) => ({ title, rows: list.sort(byName) })),
  ]
}

/** Together; null while one of them has none. */
export function sumOf(rows: readonly RowState[], of: (row: RowState) => number | null): number | null {
  let sum = 0
  for (const row of rows) {
    const one = of(row)
    if (one === null) return null
    sum += one
  }
  return sum
}
