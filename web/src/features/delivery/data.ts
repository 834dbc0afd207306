/** What was planned for the batteries, zone by zone. */
import { useQuery } from '@tanstack/react-query'
import { allPages, answered, api, askMany, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { countStatuses, SITE_WORDS } from '../../shared/dispatch'
import { instant, QUARTER_MS, quarterAt, type Span } from '../../shared/time/marketDay'

export type Run = Schemas['DeliveryRun']
export type Zone = Schemas['DeliveryZone']
export type ZoneQuarter = Schemas['ZoneQuarter']

export type DispatchPoint = Schemas['DispatchPoint']
export type Performance = Schemas['DeliveryPerformance']
export type PerformancePoint = Schemas['PerformancePoint']

/** The runs of a day, newest first. */
export function useRuns({ start, end }: Span) {
  return useQuery({
    queryKey: ['delivery', 'runs', start],
    queryFn: () =>
      allPages<Run>(
        `/delivery/runs?${new URLSearchParams({ start: instant(start), end: instant(end), limit: '200' })}`,
        200,
      ),
  })
}

/** Scheduled, netted and unserved power of each zone. */
export function useZones({ start, end }: Span) {
  return useQuery({
    queryKey: ['delivery', 'zones', start],
    queryFn: () =>
      answered(api.GET('/delivery/zones', { params: { query: { start: instant(start), end: instant(end) } } })),
  })
}

export interface Delivered {
  dispatch: DispatchPoint[]
  /** Of the quarter-hours that are over; null where it may not be read. */
  performance: Performance | null
}

/** What every battery was to do and what it did, in one request; what is over is read as far as it is over. */
export function useDelivered(assets: PhysicalAsset[], { start, end }: Span, now: number) {
  const over = Math.min(end, quarterAt(now))
  const found = useQuery({
    // Apart from zones and runs: a plan that is saved changes no dispatch before the run that tells of it.
    queryKey: ['delivered', assets.map((one) => one.id).join(), start, over],
    queryFn: async () => {
      const query = (until: number) => new URLSearchParams({ start: instant(start), end: instant(until) })
      const answers = await askMany<unknown>(
        assets.flatMap((asset) => [
          `/physical-assets/${asset.id}/dispatch?${query(end)}`,
          ...(over > start ? [`/physical-assets/${asset.id}/performance?${query(over)}`] : []),
        ]),
      )
      // By battery: this stays on the screen while another list of answers, in another order, is on its way.
      return deliveredOf(
        assets.map((one) => one.id),
        answers,
        over > start,
      )
    },
    enabled: assets.length > 0,
    // Of the same day only: another day's figures are none of this one.
    placeholderData: (old, query) => (query?.queryKey[2] === start ? old : undefined),
  })
  return { ...found, delivered: found.data ?? NONE }
}

const NONE: Map<string, Delivered> = new Map()

/** By battery, from its dispatch and, once a quarter-hour is over, its performance; without those that were refused. */
export function deliveredOf(ids: readonly string[], answers: readonly unknown[], isBegun: boolean) {
  const step = isBegun ? 2 : 1
  return new Map(
    ids.flatMap((id, index) => {
      const dispatch = answers[index * step] as { dispatch: DispatchPoint[] } | null | undefined
      const performance = isBegun ? (answers[index * step + 1] as Performance | null | undefined) : null
      return dispatch ? [[id, { dispatch: dispatch.dispatch, performance: performance ?? null }] as const] : []
    }),
  )
}

/** What a site said last of its dispatch, up to a quarter-hour that has begun; null where it has said nothing. */
export function lastAcknowledged(points: DispatchPoint[], now: number): { time: number; words: string } | null {
  const last = points.findLast((point) => point.acknowledgement && Date.parse(point.time) <= now)
  if (!last?.acknowledgement) return null
  const { status } = last.acknowledgement
  return { time: Date.parse(last.time), words: SITE_WORDS[status] ?? status }
}

/** What a site said of the quarter-hours of a day, counted: `94 applied, 2 rejected`; empty where it said nothing. */
export function countAcknowledged(points: DispatchPoint[]): string {
  return countStatuses(points.flatMap(({ acknowledgement }) => acknowledgement?.status ?? []))
}

export interface Deviation {
  time: number
  /** MW measured less dispatched, without the response to reserves; all batteries together. */
  mw: number
  reserveMw: number
  /** 0 to 1, of the batteries that were to do something. */
  measuredShare: number
}

/** By quarter-hours, all batteries together. */
export function deviationsOf(performances: (Performance | null)[]): Deviation[] {
  const sums = new Map<number, Deviation & { count: number }>()
  for (const performance of performances)
    for (const point of performance?.performance ?? []) {
      const time = Date.parse(point.time)
      const sum = sums.get(time) ?? { time, mw: 0, reserveMw: 0, measuredShare: 0, count: 0 }
      sum.mw += (point.powerDeviation ?? 0) / 1000
      sum.reserveMw += (point.reserveResponse ?? 0) / 1000
      sum.measuredShare += point.measuredShare ?? (point.measuredPower === undefined ? 0 : 1)
      sum.count += 1
      sums.set(time, sum)
    }
  return [...sums.values()]
    .map(({ count, ...one }) => ({ ...one, measuredShare: one.measuredShare / count }))
    .sort((a, b) => a.time - b.time)
}

/** One bar of a zone, MW, each piece on the side on which it is drawn. */
export interface Bar {
  time: number
  out: number
  in: number
  netted: number
  unservedOut: number
  unservedIn: number
}

/** The bars of a day that show anything: what the batteries do, then what met its opposite, then what was not served. */
export function barsOf(quarters: ZoneQuarter[]): Bar[] {
  return quarters
    .map((one) => ({
      time: Date.parse(one.time),
      out: Math.max(0, one.dispatched) / 1000,
      in: Math.max(0, -one.dispatched) / 1000,
      netted: one.netted / 1000,
      unservedOut: Math.max(0, one.unserved) / 1000,
      unservedIn: Math.max(0, -one.unserved) / 1000,
    }))
    .filter((bar) => bar.out + bar.in + bar.netted + bar.unservedOut + bar.unservedIn > 0)
}

/** How far bars reach up and down, at least a little. */
export function reachOf(bars: Bar[]): { up: number; down: number } {
  return {
    up: Math.max(0.5, ...bars.map((bar) => bar.out + bar.netted + bar.unservedOut)),
    down: Math.max(0.5, ...bars.map((bar) => bar.in + bar.netted + bar.unservedIn)),
  }
}

export interface Totals {
  /** MWh of the day, both ways. */
  scheduled: number
  /** Both ways too: what exporters gave and importers took without a battery. */
  netted: number
  dispatched: number
  unserved: number
  /** Where something was not served: how many quarter-hours, the zone of most of them, and from when to when there. */
  missed: { quarters: number; zone: string; start: number; end: number } | null
}

/** All zones of a day together. */
export function totalsOf(zones: Zone[]): Totals {
  const sum = (pick: (one: ZoneQuarter) => number) =>
    zones.reduce((all, zone) => all + zone.quarters.reduce((part, one) => part + pick(one) / 4000, 0), 0)
  const missed = zones
    .map((zone) => ({
      zone: zone.deliveryZone,
      times: zone.quarters.filter(isMissed).map((one) => Date.parse(one.time)),
    }))
    .sort((a, b) => b.times.length - a.times.length)
  const worst = missed[0]
  return {
    scheduled: sum((one) => one.scheduledExport + one.scheduledImport),
    netted: sum((one) => 2 * one.netted),
    dispatched: sum((one) => Math.abs(one.dispatched)),
    unserved: sum((one) => Math.abs(one.unserved)),
    missed:
      worst && worst.times.length > 0
        ? {
            quarters: missed.reduce((count, one) => count + one.times.length, 0),
            zone: worst.zone,
            start: Math.min(...worst.times),
            end: Math.max(...worst.times) + QUARTER_MS,
          }
        : null,
  }
}

export const isMissed = (one: ZoneQuarter): boolean => Math.abs(one.unserved) >= 1
