/** The plans of many batteries for one day, read together. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { askAll, askJson, offers, type Schemas } from '../../shared/api/client'
import { live, type PlatformEvent } from '../../shared/api/live'
import type { VirtualAsset } from '../../shared/api/resources'
import { type Day, QUARTER_MS, spanOf } from '../../shared/time/marketDay'
import { type DayPlan, pathOf, planFrom, planPaths } from '../virtual-assets/data'

export interface Planned {
  asset: VirtualAsset
  plan: DayPlan
}

const idsOf = (assets: readonly VirtualAsset[]) => assets.map((one) => one.id).join()

/** Of those that deliver on this day; a battery that cannot be read is left out and named. */
export function usePlans(assets: readonly VirtualAsset[], day: Day) {
  const queries = useQueryClient()
  const key = plansKey(assets, day)
  const follow = useEffectEvent(async (event: PlatformEvent) => {
    const asset = assets.find((one) => event.subject === `virtual-assets/${one.id}`)
    if (!asset || !event.type.startsWith('schedule.')) return
    await refreshPlans(queries, assets, day, [asset])
  })
  useEffect(() => live.follow((event) => void follow(event)), [])
  return useQuery({ queryKey: key, queryFn: () => readPlans(assets, day), enabled: assets.length > 0 })
}

/** Not under what events make stale: an event of one battery has that one read, not fifty. */
const plansKey = (assets: readonly VirtualAsset[], day: Day) => ['portfolio-plans', day, idsOf(assets)]

/** Reads some of the plans anew; the others stay as they are. */
export async function refreshPlans(
  queries: QueryClient,
  all: readonly VirtualAsset[],
  day: Day,
  some: readonly VirtualAsset[],
): Promise<void> {
  const { plans } = await readPlans(some, day)
  const fresh = new Map(plans.map((one) => [one.asset.id, one]))
  queries.setQueryData<Plans>(plansKey(all, day), (old) =>
    old ? { ...old, plans: old.plans.map((one) => fresh.get(one.asset.id) ?? one) } : old,
  )
}

type Plans = Awaited<ReturnType<typeof readPlans>>

export async function readPlans(assets: readonly VirtualAsset[], day: Day) {
  const wanted = assets.flatMap((asset) => {
    const paths = planPaths(asset, day)
    return paths ? [{ asset, paths }] : []
  })
  const answers = await askAll(wanted.flatMap(({ paths }) => paths))
  const plans: Planned[] = []
  const unread: string[] = []
  wanted.forEach(({ asset }, index) => {
    const [schedule, projected] = answers.slice(2 * index, 2 * index + 2)
    if (!schedule || !projected || schedule.status >= 300 || projected.status >= 300) unread.push(asset.name)
    else plans.push({ asset, plan: planFrom(asset, day, schedule.body, schedule.etag ?? '', projected.body) })
  })
  return { plans, unread }
}

export interface Band {
  p10: (number | null)[]
  p90: (number | null)[]
}

/** P10 and P90 of each quarter-hour of the day, where there is a forecast. */
export function useBand(day: Day, count: number) {
  return useQuery({
    queryKey: ['forecasts', 'band', day],
    queryFn: async (): Promise<Band> => {
      const { start } = spanOf(day)
      const band: Band = { p10: new Array(count).fill(null), p90: new Array(count).fill(null) }
      const { forecast } = await askJson<{ forecast: { time: string; p10: number; p90: number }[] }>(
        `/forecasts/day-ahead?delivery-day=${day}`,
      ).catch(() => ({ forecast: [] }))
      for (const point of forecast) {
        const index = Math.round((Date.parse(point.time) - start) / QUARTER_MS)
        if (index < 0 || index >= count) continue
        band.p10[index] = point.p10
        band.p90[index] = point.p90
      }
      return band
    },
    enabled: offers('GET /forecasts/day-ahead'),
    staleTime: 5 * 60_000,
    retry: false,
  })
}

export interface Traded {
  /** kW of the day's quarter-hours: after the day-ahead auction, and what later markets changed. */
  dayAhead: number[]
  later: number[]
}

export interface Trading {
  of: ReadonlyMap<string, Traded>
  /** The next gate at which orders are taken. */
  gate: { stage: string; at: number } | null
}

type Stage = Schemas['MarketStageView']

/** What was traded for the day, by battery and market. */
export function useTrading(assets: readonly VirtualAsset[], day: Day, count: number) {
  return useQuery({
    queryKey: ['virtual-assets', 'trading', day, idsOf(assets)],
    queryFn: async (): Promise<Trading> => {
      const answers = await askAll(assets.map((asset) => `${pathOf(asset)}/markets?delivery-day=${day}`))
      const of = new Map<string, Traded>()
      let gate: Trading['gate'] = null
      assets.forEach((asset, index) => {
        const answer = answers[index]
        if (!answer || answer.status >= 300) return
        const stages = answer.body as Stage[]
        of.set(asset.id, tradedOf(stages, day, count))
        const next = stages.find((one) => one.status === 'NEXT' && one.gate)
        if (next?.gate) gate ??= { stage: next.stage, at: Date.parse(next.gate) }
      })
      return { of, gate }
    },
    enabled: assets.length > 0 && offers('GET /organisations/{organisationID}/virtual-assets/{virtualAssetID}/markets'),
    staleTime: 60_000,
  })
}

/** The position after the day-ahead auction, and by how much the markets after it moved it. */
export function tradedOf(stages: readonly Pick<Stage, 'stage' | 'position'>[], day: Day, count: number): Traded {
  const { start } = spanOf(day)
  const after = (list: readonly Pick<Stage, 'position'>[]) => {
    const powers = new Array<number>(count).fill(0)
    for (const { position } of list)
      for (const { time, power } of position) {
        const index = Math.round((Date.parse(time) - start) / QUARTER_MS)
        if (index >= 0 && index < count) powers[index] = power
      }
    return powers
  }
  const cut = stages.findIndex((one) => one.stage === 'DAY_AHEAD') + 1
  const dayAhead = after(stages.slice(0, cut))
  const last = after(stages)
  return { dayAhead, later: last.map((power, index) => power - (dayAhead[index] ?? 0)) }
}
