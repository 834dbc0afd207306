import { useQueries, useQuery } from '@tanstack/react-query'
import { allPages, answered, api, askJson, type Schemas } from '../../shared/api/client'
import { type Health, type PhysicalAsset, readHealth, type VirtualAsset } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import {
  addDays,
  type Day,
  dayOf,
  instant,
  QUARTER_MS,
  quarterAt,
  type Span,
  spanOf,
} from '../../shared/time/marketDay'
import type { Cut } from './queue'

const MOST = 24
const AHEAD_MS = 3 * 24 * 3_600_000

interface Projected {
  time: string
  energy: number
  expectedCut?: { acceptedSchedule: number; adjustedSchedule: number; reason: string }
}

export interface Outlook {
  cuts: Cut[]
  /** Batteries that deliver all of tomorrow and stand still. */
  idle: VirtualAsset[]
}

/** What the next three days hold as planned: the cuts that are known to come, and who has no plan for tomorrow. */
export function useOutlook(assets: VirtualAsset[], now: number): Outlook {
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
  const known = found.flatMap(({ data }, index) => {
    const asset = assets[index]
    return data && asset ? [{ asset, points: data as Projected[] }] : []
  })
  const tomorrow = spanOf(addDays(dayOf(now), 1))
  return {
    cuts: known.flatMap(({ asset, points }) => cutsOf(asset, points)),
    idle: known.filter(({ asset, points }) => isIdle(asset, points, tomorrow)).map(({ asset }) => asset),
  }
}

function cutsOf(asset: VirtualAsset, points: Projected[]): Cut[] {
  return points.flatMap(({ time, expectedCut: cut }) =>
    cut
      ? [{ asset, time: Date.parse(time), from: cut.acceptedSchedule, to: cut.adjustedSchedule, reason: cut.reason }]
      : [],
  )
}

function isIdle(asset: VirtualAsset, points: Projected[], day: Span): boolean {
  if (Date.parse(asset.start) > day.start || Date.parse(asset.end) < day.end) return false
  const energies = points.filter(({ time }) => isWithin(Date.parse(time), day)).map(({ energy }) => energy)
  return energies.length > 1 && Math.max(...energies) - Math.min(...energies) < 1e-6
}

const isWithin = (moment: number, span: Span): boolean => moment >= span.start && moment < span.end

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

/** What the reader's organisation keeps, by market day, of the last `days` days and today. */
export function useDailyRevenue(today: Day, days: number) {
  const organisation = useSession().user.organisationID
  const first = addDays(today, -days)
  return useQuery({
    queryKey: ['revenue', 'daily', organisation, first],
    queryFn: async (): Promise<DayRevenue[]> => {
      const query = new URLSearchParams({
        start: instant(spanOf(first).start),
        end: instant(spanOf(today).end),
        resolution: 'daily',
      })
      const statement = await askJson<Statement>(`/revenue-reporting/organisations/${organisation}/statement?${query}`)
      const sums = new Map<Day, number>()
      for (const line of statement.lines) {
        const day = dayOf(Date.parse(line.time))
        sums.set(day, (sums.get(day) ?? 0) + line.amount)
      }
      return Array.from({ length: days + 1 }, (_, index) => {
        const day = addDays(first, index)
        return { day, value: sums.get(day) ?? 0 }
      })
    },
    staleTime: 5 * 60_000,
  })
}
