/** What was planned for the batteries, zone by zone. */
import { useQueries, useQuery } from '@tanstack/react-query'
import { allPages, answered, api, askJson, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { instant, QUARTER_MS, type Span } from '../../shared/time/marketDay'

export type Run = Schemas['DeliveryRun']
export type Zone = Schemas['DeliveryZone']
export type ZoneQuarter = Schemas['ZoneQuarter']

export interface DispatchPoint {
  time: string
  power: number
  stateOfChargePercentage: number
}

/** The runs of a day, newest first. */
export function useRuns({ start, end }: Span) {
  return useQuery({
    queryKey: ['delivery', 'runs', start],
    queryFn: () =>
      allPages<Run>(
        `/delivery/runs?${new URLSearchParams({ start: instant(start), end: instant(end), limit: '200' })}`,
        200,
      ),
    refetchInterval: 30_000,
  })
}

/** What each zone was scheduled for, what of it was netted, and what nobody could serve. */
export function useZones({ start, end }: Span) {
  return useQuery({
    queryKey: ['delivery', 'zones', start],
    queryFn: () =>
      answered(api.GET('/delivery/zones', { params: { query: { start: instant(start), end: instant(end) } } })),
    refetchInterval: 30_000,
  })
}

export function useDispatches(assets: PhysicalAsset[], { start, end }: Span) {
  const found = useQueries({
    queries: assets.map((asset) => ({
      queryKey: ['delivery', 'dispatch', asset.id, start],
      queryFn: () =>
        askJson<{ dispatch: DispatchPoint[] }>(
          `/physical-assets/${asset.id}/dispatch?${new URLSearchParams({ start: instant(start), end: instant(end) })}`,
        ),
      retry: false,
      refetchInterval: 60_000,
    })),
  })
  return new Map(
    found.flatMap(({ data }, index) => {
      const asset = assets[index]
      return data && asset ? [[asset.id, data.dispatch] as const] : []
    }),
  )
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
