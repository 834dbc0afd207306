import { useQueries, useQuery } from '@tanstack/react-query'
import { allPages, answered, api, askJson, type Schemas } from '../../shared/api/client'
import { type Health, type PhysicalAsset, readHealth, type VirtualAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { addDays, type Day, dayOf, instant, QUARTER_MS, quarterAt, spanOf } from '../../shared/time/marketDay'
import type { Cut } from './queue'

const MOST = 24
const AHEAD_MS = 3 * 24 * 3_600_000

interface Projected {
  time: string
  energy: number
  expectedCut?: { acceptedSchedule: number; adjustedSchedule: number; reason: string }
}

/** The cuts that are known to come, over the next three days. */
export function useCuts(assets: VirtualAsset[], now: number): Cut[] {
  const from = quarterAt(now)
  const found = useQueries({
    queries: assets.slice(0, MOST).map((asset) => {
      const start = Math.max(from, Date.parse(asset.start))
      const end = Math.min(from + AHEAD_MS, Date.parse(asset.end))
      return {
        queryKey: ['virtual-assets', asset.id, 'projected', start],
        queryFn: () =>
          answered(
            api.GET('/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-energy/projected', {
              params: {
                path: { organisationID: asset.organisationID, virtualAssetID: asset.id },
                query: { start: instant(start), end: instant(end) },
              },
            }),
          ),
        enabled: start < end,
        staleTime: 5 * 60_000,
      }
    }),
  })
  return found.flatMap(({ data }, index) => {
    const asset = assets[index]
    if (!data || !asset) return []
    return (data as Projected[]).flatMap((point) => {
      const cut = point.expectedCut
      if (!cut) return []
      return [
        {
          asset,
          time: Date.parse(point.time),
          from: cut.acceptedSchedule,
          to: cut.adjustedSchedule,
          reason: cut.reason,
        },
      ]
    })
  })
}

export function useHealth(assets: PhysicalAsset[]): Map<string, Health> {
  const found = useQueries({
    queries: assets.slice(0, MOST).map((asset) => ({
      queryKey: ['physical-assets', asset.id, 'health'],
      queryFn: () => readHealth(asset.id),
      refetchInterval: 30_000,
      retry: false,
    })),
  })
  return new Map(
    found.flatMap(({ data }, index) => {
      const asset = assets[index]
      return data && asset ? [[asset.id, data] as const] : []
    }),
  )
}

export function useUnavailabilities(assets: PhysicalAsset[]) {
  const found = useQueries({
    queries: assets.slice(0, MOST).map((asset) => ({
      queryKey: ['physical-assets', asset.id, 'unavailability'],
      queryFn: () => allPages<Schemas['Unavailability']>(`/physical-assets/${asset.id}/unavailability?limit=1000`),
      retry: false,
    })),
  })
  return found.flatMap(({ data }, index) => {
    const asset = assets[index]
    return data && asset ? data.map((item) => ({ name: asset.name, item })) : []
  })
}

interface Latest {
  data: Record<string, { time: string; value: number } | undefined>
}

export function useLatest(assets: PhysicalAsset[]): Map<string, Latest['data']> {
  const may = useMay('Read:monitoring')
  const found = useQueries({
    queries: assets.slice(0, MOST).map((asset) => ({
      queryKey: ['physical-assets', asset.id, 'latest'],
      queryFn: () => askJson<Latest>(`/monitoring/${asset.id}/datapoints/latest`),
      refetchInterval: 15_000,
      enabled: may,
      retry: false,
    })),
  })
  return new Map(
    found.flatMap(({ data }, index) => {
      const asset = assets[index]
      return data && asset ? [[asset.id, data.data] as const] : []
    }),
  )
}

/** A virtual battery's state of charge today, and its power now. */
export function useToday(assets: VirtualAsset[], now: number) {
  const day = spanOf(dayOf(now))
  const quarter = quarterAt(now)
  return useQueries({
    queries: assets.slice(0, MOST).map((asset) => {
      const path = { organisationID: asset.organisationID, virtualAssetID: asset.id }
      const start = Math.max(day.start, Date.parse(asset.start))
      const end = Math.min(day.end, Date.parse(asset.end))
      return {
        queryKey: ['virtual-assets', asset.id, 'today', day.start, quarter],
        queryFn: async () => {
          if (start >= end) return { charge: [], power: null }
          const span = { start: instant(start), end: instant(end) }
          const charge = await answered(
            api.GET('/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-charge', {
              params: { path, query: span },
            }),
          )
          const isLiving = Date.parse(asset.start) <= quarter && quarter < Date.parse(asset.end)
          const blocks = isLiving
            ? await answered(
                api.GET('/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks', {
                  params: { path, query: { start: instant(quarter), end: instant(quarter + QUARTER_MS) } },
                }),
              )
            : []
          const power = blocks.reduce((sum, block) => sum + (block.schedule[0]?.power ?? 0), 0)
          return { charge, power: isLiving ? power : null }
        },
      }
    }),
  })
}

export interface DayRevenue {
  day: Day
  value: number
}

interface Statement {
  lines: { time: string; amount: number }[]
}

/** What the reader keeps of what its batteries earn, by market day, of the last `days` days and today. */
export function useDailyRevenue(sources: { kind: string; id: string }[], today: Day, days: number) {
  const first = addDays(today, -days)
  const start = instant(spanOf(first).start)
  const end = instant(spanOf(today).end)
  return useQuery({
    queryKey: ['revenue', 'daily', sources.map((one) => one.id).join(), first],
    queryFn: async (): Promise<DayRevenue[]> => {
      const sums = new Map<Day, number>()
      const query = new URLSearchParams({ start, end, resolution: 'daily' })
      const answers = await Promise.all(
        sources.map((source) =>
          askJson<Statement>(`/revenue-reporting/${source.kind}/${source.id}/statement?${query}`),
        ),
      )
      for (const { lines } of answers)
        for (const line of lines) {
          const day = dayOf(Date.parse(line.time))
          sums.set(day, (sums.get(day) ?? 0) + line.amount)
        }
      return Array.from({ length: days + 1 }, (_, index) => {
        const day = addDays(first, index)
        return { day, value: sums.get(day) ?? 0 }
      })
    },
    enabled: sources.length > 0,
    staleTime: 5 * 60_000,
  })
}
