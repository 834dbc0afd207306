/** A virtual battery's day, as the service has it. */
import { useQuery } from '@tanstack/react-query'
import { allPages, answered, api, ask, askJson, offers, type Schemas } from '../../shared/api/client'
import { useAllVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { useIsOperator, useMay, useSession } from '../../shared/api/session'
import { type Day, instant, QUARTER_MS, quartersOf, spanOf } from '../../shared/time/marketDay'

export const PRICES = 'DAY_AHEAD_DE_LU'

export function useVirtualAsset(id: string) {
  const own = useSession().user.organisationID
  const isOperator = useIsOperator()
  const all = useAllVirtualAssets()
  const organisation = isOperator ? all.data?.find((one) => one.id === id)?.organisationID : own
  return useQuery({
    queryKey: ['virtual-assets', id],
    queryFn: () =>
      answered(
        api.GET('/organisations/{organisationID}/virtual-assets/{virtualAssetID}', {
          params: { path: { organisationID: organisation ?? own, virtualAssetID: id } },
        }),
      ),
    enabled: !isOperator || !all.isLoading,
  })
}

export interface Limits {
  charge: number
  discharge: number
}

export interface DayPlan {
  day: Day
  /** Starts of the quarter-hours of the day that lie in the battery's life. */
  quarters: number[]
  powersKw: number[]
  limits: Limits[]
  etag: string
  version: number
  /** At the start of the first quarter-hour, kWh. */
  startKwh: number
  /** At each start and at the last end, as the service projects it. */
  energiesKwh: number[]
  cuts: Map<number, { from: number; to: number; reason: string }>
}

interface Scheduled {
  version: number
  schedule: { time: string; power: number }[]
  powerCapacity: { time: string; chargePowerCapacity: number; dischargePowerCapacity: number }[]
}

interface Projected {
  time: string
  energy: number
  expectedCut?: { acceptedSchedule: number; adjustedSchedule: number; reason: string }
}

export const pathOf = (asset: VirtualAsset): string =>
  `/organisations/${asset.organisationID}/virtual-assets/${asset.id}`

export const planKey = (asset: VirtualAsset, day: Day) => ['virtual-assets', asset.id, 'plan', day]

export function useDayPlan(asset: VirtualAsset, day: Day) {
  return useQuery({
    queryKey: planKey(asset, day),
    queryFn: () => readPlan(asset, day),
  })
}

function quartersOfLife(asset: VirtualAsset, day: Day): number[] {
  const [lifeStart, lifeEnd] = [Date.parse(asset.start), Date.parse(asset.end)]
  return quartersOf(day).filter((at) => at >= lifeStart && at < lifeEnd)
}

/** What a plan is made of: the schedule and the course of the store; null on a day without delivery. */
export function planPaths(asset: VirtualAsset, day: Day): [string, string] | null {
  const quarters = quartersOfLife(asset, day)
  const [first, last] = [quarters[0], quarters.at(-1)]
  if (first === undefined || last === undefined) return null
  const end = last + QUARTER_MS
  const afterwards = end < Date.parse(asset.end)
  const span = new URLSearchParams({ start: instant(first), end: instant(end) })
  const projectedSpan = new URLSearchParams({
    start: instant(first),
    end: instant(afterwards ? end + QUARTER_MS : end),
  })
  return [`${pathOf(asset)}/schedule?${span}`, `${pathOf(asset)}/state-of-energy/projected?${projectedSpan}`]
}

async function readPlan(asset: VirtualAsset, day: Day): Promise<DayPlan> {
  const paths = planPaths(asset, day)
  const quarters = quartersOfLife(asset, day)
  const none = {
    day,
    quarters,
    powersKw: [],
    limits: [],
    etag: '',
    version: 0,
    startKwh: 0,
    energiesKwh: [],
    cuts: new Map(),
  }
  if (!paths) return none
  const [response, projected] = await Promise.all([ask(paths[0]), askJson<Projected[]>(paths[1])])
  return planFrom(asset, day, await response.json(), response.headers.get('ETag') ?? '', projected)
}

/** From the answers to its paths. */
export function planFrom(asset: VirtualAsset, day: Day, scheduled: unknown, etag: string, course: unknown): DayPlan {
  const quarters = quartersOfLife(asset, day)
  const [body, projected] = [scheduled as Scheduled, course as Projected[]]
  const [first, end] = [quarters[0] ?? 0, (quarters.at(-1) ?? 0) + QUARTER_MS]
  const afterwards = end < Date.parse(asset.end)
  const powers = new Map(body.schedule.map((point) => [Date.parse(point.time), point.power]))
  const limits = new Map(
    body.powerCapacity.map((one) => [
      Date.parse(one.time),
      { charge: one.chargePowerCapacity, discharge: one.dischargePowerCapacity },
    ]),
  )
  const energy = new Map(projected.map((point) => [Date.parse(point.time), point.energy]))
  const endKwh = afterwards ? energy.get(end) : (asset.endStateOfChargePercentage / 100) * asset.energyCapacity
  const startKwh = energy.get(first) ?? 0
  return {
    day,
    quarters,
    powersKw: quarters.map((at) => powers.get(at) ?? 0),
    limits: quarters.map(
      (at) => limits.get(at) ?? { charge: asset.ratedChargePower, discharge: asset.ratedDischargePower },
    ),
    etag,
    version: body.version,
    startKwh,
    energiesKwh: [...quarters.map((at) => energy.get(at) ?? startKwh), endKwh ?? startKwh],
    cuts: new Map(
      projected.flatMap((point) =>
        point.expectedCut
          ? [
              [
                Date.parse(point.time),
                {
                  from: point.expectedCut.acceptedSchedule,
                  to: point.expectedCut.adjustedSchedule,
                  reason: point.expectedCut.reason,
                },
              ] as const,
            ]
          : [],
      ),
    ),
  }
}

export interface Prices {
  /** EUR/MWh of each quarter-hour of the day; null where none is known. */
  values: (number | null)[]
  /** How many of them, from the day's start on, are published; the rest is the median of the forecast. */
  published: number
  source: PriceSource
}

export type PriceSource = 'published' | 'forecast' | 'both'

/** Published day-ahead prices as far as they are out; for the rest the median of the forecast. */
export function usePrices(day: Day) {
  const may = useMay('Read:revenue')
  return useQuery({
    queryKey: ['forecasts', 'prices', day],
    queryFn: async (): Promise<Prices> => {
      const { start, end } = spanOf(day)
      const quarters = quartersOf(day)
      const found = new Array<number | null>(quarters.length).fill(null)
      if (may) {
        const query = new URLSearchParams({ series: PRICES, start: instant(start), end: instant(end), limit: '1000' })
        for (const one of await allPages<Schemas['ReferencePrice']>(`/reference-prices?${query}`))
          quarters.forEach((at, index) => {
            if (at >= Date.parse(one.start) && at < Date.parse(one.end)) found[index] = Number(one.price)
          })
      }
      const missing = found.indexOf(null)
      const published = missing < 0 ? found.length : missing
      if (missing < 0 || !offers('GET /forecasts/day-ahead')) return { values: found, published, source: 'published' }
      const forecast = await askJson<{ forecast: { time: string; p50: number }[] }>(
        `/forecasts/day-ahead?delivery-day=${day}`,
      ).catch(() => ({ forecast: [] }))
      for (const point of forecast.forecast) {
        const index = Math.round((Date.parse(point.time) - start) / QUARTER_MS)
        if (index >= published && index < found.length) found[index] ??= point.p50
      }
      return { values: found, published, source: published > 0 ? 'both' : 'forecast' }
    },
    staleTime: 5 * 60_000,
    retry: false,
  })
}

export interface Held {
  market: string
  start: number
  end: number
  powerKw: number
}

/** Blocks of the balancing market: power that no schedule may use. */
export function useHeld(asset: VirtualAsset, day: Day) {
  const { start, end } = spanOf(day)
  const blocks = asset.blockMetadata.filter(
    (block) => block.market !== 'WHOLESALE' && Date.parse(block.start) < end && Date.parse(block.end) > start,
  )
  return useQuery({
    queryKey: ['virtual-assets', asset.id, 'held', day, blocks.length],
    queryFn: async (): Promise<Held[]> => {
      const span = new URLSearchParams({ start: instant(start), end: instant(end) })
      const found = await askJson<Schemas['BlockView'][]>(`${pathOf(asset)}/blocks?${span}`)
      return (
        found
          // Others than those of the day are answered too.
          .filter((block) => block.market !== 'WHOLESALE')
          .filter((block) => Date.parse(block.start) < end && Date.parse(block.end) > start)
          .map((block) => ({
            market: block.market,
            start: Date.parse(block.start),
            end: Date.parse(block.end),
            powerKw: Math.max(block.ratedChargePower, block.ratedDischargePower),
          }))
      )
    },
    enabled: blocks.length > 0,
  })
}
