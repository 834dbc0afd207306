/** What was planned for the batteries, zone by zone. */
import { useQueries, useQuery } from '@tanstack/react-query'
import { allPages, askJson } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { instant, QUARTER_MS, type Span } from '../../shared/time/marketDay'

export interface Run {
  id: string
  time: string
  zones: string[]
  start: string
  end: string
  finalUntil?: string
  virtualAssets?: number
  batteries?: number
  scheduledExport: number
  scheduledImport: number
  netted: number
  spread: number
  unserved: number
  solverSeconds: number
}

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
        `/delivery/runs?${new URLSearchParams({ start: instant(start), end: instant(end), limit: '1000' })}`,
        2000,
      ),
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

export interface ZoneQuarter {
  time: number
  /** MW of the batteries that export, and of those that import (negative). */
  out: number
  in: number
}

/** A zone's batteries added up, quarter-hour by quarter-hour of a day. */
export function zoneSeries(dispatches: DispatchPoint[][], { start, end }: Span): ZoneQuarter[] {
  const count = Math.round((end - start) / QUARTER_MS)
  const quarters = Array.from({ length: count }, (_, index) => ({ time: start + index * QUARTER_MS, out: 0, in: 0 }))
  for (const points of dispatches)
    for (const point of points) {
      const quarter = quarters[Math.round((Date.parse(point.time) - start) / QUARTER_MS)]
      if (!quarter) continue
      if (point.power > 0) quarter.out += point.power / 1000
      else quarter.in += point.power / 1000
    }
  return quarters
}

export interface Totals {
  scheduled: number
  netted: number
  spread: number
  unserved: number
  lastSeconds: number | null
}

/** What the newest run of each zone says of the day. */
export function totalsOf(runs: Run[]): Totals {
  const newest = new Map<string, Run>()
  for (const run of [...runs].sort((a, b) => Date.parse(b.time) - Date.parse(a.time)))
    for (const zone of run.zones) if (!newest.has(zone)) newest.set(zone, run)
  const all = [...new Set(newest.values())]
  const sum = (pick: (run: Run) => number) => all.reduce((total, run) => total + pick(run), 0)
  const last = all.sort((a, b) => Date.parse(b.time) - Date.parse(a.time))[0]
  return {
    scheduled: sum((run) => run.scheduledExport + Math.abs(run.scheduledImport)),
    netted: sum((run) => run.netted),
    spread: sum((run) => run.spread),
    unserved: sum((run) => run.unserved),
    lastSeconds: last?.solverSeconds ?? null,
  }
}
