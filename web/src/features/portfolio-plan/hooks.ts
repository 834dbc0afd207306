/** What the portfolio plan's screen derives from plans, edits and prices. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { decimal, euro, megawatts } from '../../shared/format'
import { QUARTER_MS, type Zone } from '../../shared/time/marketDay'
import { countdown, time } from '../../shared/time/words'
import { blockLeaving } from '../../shell/router'
import type { Prices } from '../virtual-assets/data'
import { value } from '../virtual-assets/projection'
import type { Band, Planned, Traded, Trading } from './data'
import type { Edits } from './draft'
import { type Look, readLook } from './drawing'
import type { Position } from './Panes'
import { pricesOf, type RowState, rowOf, sumOf } from './rows'

/** Colours of the theme, read again when it changes. */
export function useLook(): Look {
  const [look, setLook] = useState(readLook)
  useEffect(() => {
    const observer = new MutationObserver(() => setLook(readLook()))
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => observer.disconnect()
  }, [])
  return look
}

export interface Based extends Planned {
  isOvertaken: boolean
}

/**
 * The versions that editing began with: they stay while a battery has edits, so that saving names them and no change
 * of a colleague is overwritten. `keep` goes on from what is stored now, with the edits on top.
 */
export function useBases(found: readonly Planned[], edits: Edits): { based: Based[]; keep: (id: string) => void } {
  const [bases, setBases] = useState(() => new Map<string, Planned>())
  const based = useMemo(
    () =>
      found.map((latest): Based => {
        const { id } = latest.asset
        const base = bases.get(id)
        if (base && edits.get(id)?.size && !isSamePlan(base, latest)) return { ...base, isOvertaken: true }
        bases.set(id, latest)
        return { ...latest, isOvertaken: false }
      }),
    [found, edits, bases],
  )
  const keep = useCallback((id: string) => {
    setBases((old) => new Map([...old].filter(([one]) => one !== id)))
  }, [])
  return { based, keep }
}

const isSamePlan = ({ plan: one }: Planned, { plan: other }: Planned): boolean =>
  one.powersKw.length === other.powersKw.length &&
  one.powersKw.every((power, index) => Math.abs(power - (other.powersKw[index] ?? 0)) < 1e-5)

/** How many quarter-hours from the plan's start on are past their gate. */
export function closedOf({ asset, plan }: Planned, now: number): number {
  const first = plan.quarters[0] ?? 0
  const open = now + asset.dispatchGateClosureSeconds * 1000
  return Math.min(plan.quarters.length, Math.max(0, Math.floor((open - first) / QUARTER_MS) + 1))
}

/** Within what the quarter-hours can take and give, and only where the gate is open. */
export function openOnly(row: RowState, changes: ReadonlyMap<number, number>, now: number): Map<number, number> {
  const closed = closedOf(row, now)
  return new Map(
    [...changes].flatMap(([index, power]) => {
      const limits = row.plan.limits[index]
      if (index < closed || !limits) return []
      return [[index, Math.min(limits.discharge, Math.max(-limits.charge, power))] as const]
    }),
  )
}

/** What stands at these places of a plan. */
export const storedAt = (powersKw: readonly number[], indices: readonly number[]) =>
  new Map(indices.map((index) => [index, powersKw[index] ?? 0] as const))

/** The first power that a battery cannot give or take, in a sentence; null where there is none. */
export function beyondLimits(rows: ReadonlyMap<string, RowState>, changes: Edits): string | null {
  for (const [id, own] of changes) {
    const row = rows.get(id)
    for (const [index, kw] of own) {
      const limits = row?.plan.limits[index]
      if (!row || !limits || (kw <= limits.discharge && kw >= -limits.charge)) continue
      const most =
        kw > 0 ? `discharges at most ${megawatts(limits.discharge)}` : `charges at most ${megawatts(limits.charge)}`
      return `${megawatts(kw)} MW is beyond ${row.asset.name}: it ${most} MW then.`
    }
  }
  return null
}

/** A row is worked out again only where its plan, its edits or the prices are others: a hand moves one of fifty. */
export function useRows(
  based: readonly Based[],
  edits: Edits,
  values: Prices['values'],
  start: number,
  now: number,
  zone: Zone,
) {
  const known = useRef(new Map<string, { of: unknown[]; row: RowState }>())
  return useMemo(
    () =>
      based.map((one) => {
        const { id } = one.asset
        const closed = closedOf(one, now)
        const of = [one.plan, one.asset, one.isOvertaken, edits.get(id), values, closed, zone]
        const before = known.current.get(id)
        if (before && of.every((each, index) => each === before.of[index])) return before.row
        const row = rowOf(one, edits.get(id), pricesOf(one.plan, start, values), closed, one.isOvertaken, zone)
        known.current.set(id, { of, row })
        return row
      }),
    [based, edits, values, start, now, zone],
  )
}

/** By how much the plans are worth more at the prices of P10 throughout, and of P90 throughout. */
export function useWorthAt(rows: readonly RowState[], band: Band | undefined, prices: Prices, start: number) {
  return useMemo(() => {
    if (!band || prices.published === prices.values.length) return null
    const at = (name: keyof Band): number | null => {
      const values = prices.values.map((price, index) =>
        index < prices.published ? price : (band[name][index] ?? null),
      )
      return sumOf(rows, (row) => {
        const own = pricesOf(row.plan, start, values)
        const [after, before] = [value(row.powersKw, own), value(row.plan.powersKw, own)]
        return after === null || before === null ? null : after - before
      })
    }
    const [p10, p90] = [at('p10'), at('p90')]
    return p10 === null || p90 === null ? null : { p10, p90 }
  }, [rows, band, prices, start])
}

/** MW of the day's quarter-hours, all batteries together. */
export function usePosition(
  rows: readonly RowState[],
  count: number,
  start: number,
  trading: Trading | undefined,
): Position {
  return useMemo(() => {
    const sums: Position = {
      scheduled: new Array(count).fill(0),
      dayAhead: new Array(count).fill(0),
      later: new Array(count).fill(0),
    }
    for (const { asset, plan, powersKw } of rows) {
      const first = Math.round(((plan.quarters[0] ?? start) - start) / QUARTER_MS)
      powersKw.forEach((power, index) => {
        sums.scheduled[first + index] = (sums.scheduled[first + index] ?? 0) + power / 1000
      })
      const traded = trading?.of.get(asset.id)
      for (const name of ['dayAhead', 'later'] as const)
        traded?.[name].forEach((power, index) => {
          sums[name][index] = (sums[name][index] ?? 0) + power / 1000
        })
    }
    return sums
  }, [rows, count, start, trading])
}

/** MWh of a plan that no trade stands against; null while trades are not known. */
export function openOf({ plan, powersKw }: RowState, traded: Traded | undefined, start: number): number | null {
  if (!traded) return null
  const first = Math.round(((plan.quarters[0] ?? start) - start) / QUARTER_MS)
  const at = (index: number) => (traded.dayAhead[index] ?? 0) + (traded.later[index] ?? 0)
  return powersKw.reduce((sum, power, index) => sum + Math.abs(power - at(first + index)) / 4000, 0)
}

export function openInWords({ scheduled, dayAhead, later }: Position, gate: Trading['gate'], now: number): string {
  const open = scheduled.map((power, index) => power - (dayAhead[index] ?? 0) - (later[index] ?? 0))
  const sum = (sign: number) => open.reduce((all, power) => all + Math.max(0, sign * power) / 4, 0)
  const when = gate && gate.at > now ? `, next gate in ${countdown(gate.at - now)}` : ''
  return `open: to buy ${decimal(sum(-1), 1)}, to sell ${decimal(sum(1), 1)} MWh${when}`
}

export function worthInWords(rows: readonly RowState[]): string {
  const sum = rows.some((row) => row.isInBreach) ? null : sumOf(rows, (row) => row.worth)
  return sum === null ? '–' : euro(sum, 0)
}

export function knownUntil(prices: Prices, start: number, zone: Zone): string {
  const missing = prices.values.indexOf(null)
  if (missing <= 0) return 'No price of this day is published or expected yet'
  return `Prices are known until ${time(start + missing * QUARTER_MS, zone)}`
}

/** `Elbe is in breach: save is off.` */
export function nameOf(
  rows: readonly RowState[],
  is: (row: RowState) => boolean,
  one: string,
  many: string,
): string | null {
  const names = rows.filter(is).map((row) => row.asset.name)
  if (names.length === 0) return null
  return `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''} ${names.length === 1 ? one : many}.`
}

/** Leaving with unsaved changes asks first. */
export function useWarning(isEdited: boolean): void {
  useEffect(() => {
    if (!isEdited) return
    blockLeaving(() => confirm('Leave without saving your changes?'))
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => {
      blockLeaving(null)
      removeEventListener('beforeunload', ask)
    }
  }, [isEdited])
}
