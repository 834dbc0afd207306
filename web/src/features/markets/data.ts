/** The markets of a delivery day: what stands at each gate, what is proposed there, and what came of it. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answered, allPages, ask, askAll, askJson, type Schemas } from '../../shared/api/client'
import { type Problem, Refused, sentenceOf } from '../../shared/api/problem'
import type { VirtualAsset } from '../../shared/api/resources'
import { useSession } from '../../shared/api/session'
import { type Day, instant, QUARTER_MS, quartersOf, spanOf } from '../../shared/time/marketDay'
import { pathOf } from '../virtual-assets/data'

export type Stage = Schemas['MarketStageView']
export type Plan = Schemas['MarketPlanView']
export type Order = Schemas['OrderView']
export type Trip = Schemas['TripView']
export type Headroom = Schemas['HeadroomPoint']

/** Those that take orders, in the order of their gates. */
export const ORDERED = ['FCR', 'AFRR', 'DAY_AHEAD', 'IDA1', 'IDA2', 'IDA3'] as const
export type Ordered = (typeof ORDERED)[number]
export const takesOrders = (stage: string): stage is Ordered => (ORDERED as readonly string[]).includes(stage)
export const isReserve = (stage: string): boolean => stage === 'FCR' || stage === 'AFRR'

export interface BatteryDay {
  asset: VirtualAsset
  /** Of its markets: an order names it. */
  etag: string
  stages: Stage[]
}

export interface MarketDay {
  batteries: BatteryDay[]
  unread: string[]
  /** Those that were neither cancelled nor replaced. */
  orders: Order[]
}

const idsOf = (assets: readonly VirtualAsset[]) => assets.map((one) => one.id).join()

export function useMarketDay(assets: readonly VirtualAsset[], day: Day) {
  const organisation = useSession().user.organisationID
  return useQuery({
    queryKey: ['virtual-assets', 'markets', day, idsOf(assets)],
    queryFn: async (): Promise<MarketDay> => {
      const [answers, orders] = await Promise.all([
        askAll(assets.map((asset) => `${pathOf(asset)}/markets?delivery-day=${day}`)),
        allPages<Order>(`/organisations/${organisation}/orders?delivery-day=${day}&limit=1000`),
      ])
      const found: MarketDay = { batteries: [], unread: [], orders: orders.filter((one) => one.status !== 'CANCELLED') }
      assets.forEach((asset, index) => {
        const answer = answers[index]
        if (!answer || answer.status >= 300) found.unread.push(asset.name)
        else found.batteries.push({ asset, etag: answer.etag ?? '', stages: answer.body as Stage[] })
      })
      return found
    },
    enabled: assets.length > 0,
  })
}

/** What may still be sold or bought in each quarter-hour, kW of all batteries, each by itself. */
export function useHeadroom(assets: readonly VirtualAsset[], day: Day) {
  return useQuery({
    queryKey: ['virtual-assets', 'headroom', day, idsOf(assets)],
    queryFn: async () => {
      const span = spanOf(day)
      const answers = await askAll(
        assets.map((asset) => {
          const start = instant(Math.max(span.start, Date.parse(asset.start)))
          const end = instant(Math.min(span.end, Date.parse(asset.end)))
          return `${pathOf(asset)}/headroom?${new URLSearchParams({ start, end })}`
        }),
      )
      const room = sumHeadroom(
        answers.flatMap(({ status, body }) => (status < 300 ? [body as Headroom[]] : [])),
        day,
      )
      return { ...room, refused: refusalsOf(assets, answers) }
    },
    enabled: assets.length > 0,
    staleTime: 60_000,
  })
}

export interface Room {
  up: number[]
  down: number[]
  /** How many quarter-hours of batteries each limit binds, the commonest first. */
  limits: [string, number][]
  /** Those that the sums are without, and why. */
  refused: { name: string; why: string }[]
}

/** Of which batteries headroom was refused, and the service's sentence. */
export function refusalsOf(
  assets: readonly Pick<VirtualAsset, 'name'>[],
  answers: readonly Omit<Answered, 'etag'>[],
): Room['refused'] {
  return answers.flatMap(({ status, body }, index) =>
    status < 300
      ? []
      : [{ name: assets[index]?.name ?? '', why: sentenceOf(new Refused({ ...(body as Problem), status })) }],
  )
}

export function sumHeadroom(all: readonly (readonly Headroom[])[], day: Day): Room {
  const { start } = spanOf(day)
  const count = quartersOf(day).length
  const room: Room = { up: new Array(count).fill(0), down: new Array(count).fill(0), limits: [], refused: [] }
  const limits = new Map<string, number>()
  for (const points of all)
    for (const { time, up, down, limitedBy } of points) {
      const index = Math.round((Date.parse(time) - start) / QUARTER_MS)
      if (index < 0 || index >= count) continue
      room.up[index] = (room.up[index] ?? 0) + up
      room.down[index] = (room.down[index] ?? 0) + down
      for (const limit of [limitedBy.up, limitedBy.down]) limits.set(limit, (limits.get(limit) ?? 0) + 1)
    }
  room.limits = [...limits].sort(([, a], [, b]) => b - a)
  return room
}

export interface Proposals {
  plans: Map<string, Plan>
  /** Why there is none, by battery. */
  refused: Map<string, string>
}

export interface Terms {
  /** EUR/MWh. */
  fee: number
  hurdle: number
}
export const TERMS: Terms = { fee: 0.1, hurdle: 2 }

const AT_ONCE = 3

/** What the service would trade at a stage, battery by battery; nothing is stored by asking. */
export function useProposals(
  batteries: readonly BatteryDay[],
  day: Day,
  stage: string,
  terms: Terms,
  isAsked: boolean,
) {
  const [progress, setProgress] = useState(0)
  const query = useQuery({
    queryKey: ['market-plans', day, stage, terms.fee, terms.hurdle, batteries.map((one) => one.etag).join()],
    queryFn: async ({ signal }): Promise<Proposals> => {
      const found: Proposals = { plans: new Map(), refused: new Map() }
      const left = [...batteries]
      setProgress(0)
      const work = async () => {
        for (let one = left.shift(); one && !signal.aborted; one = left.shift()) {
          try {
            const body = { deliveryDay: day, stage, fee: terms.fee, hurdle: terms.hurdle }
            const path = `${pathOf(one.asset)}/market-plans`
            found.plans.set(one.asset.id, await askJson<Plan>(path, { method: 'POST', body, signal }))
          } catch (error) {
            if (signal.aborted) throw error
            found.refused.set(one.asset.id, whyNot(error))
          }
          setProgress(found.plans.size + found.refused.size)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      return found
    },
    enabled: isAsked && batteries.length > 0,
    staleTime: 5 * 60_000,
    retry: false,
  })
  return { ...query, progress }
}

function whyNot(error: unknown): string {
  if (error instanceof Refused && error.kind === 'result-outstanding')
    return 'an order at an earlier gate waits for its result, which the position here begins with.'
  return sentenceOf(error)
}

/** As the service takes it; a plan's own least surplus unless another is asked for. */
export function orderOf(id: string, plan: Plan, terms: Terms, leastSurplus: number | null, apply: boolean) {
  const common = { virtualAssetID: id, ifMatch: plan.ifMatch, stage: plan.stage, deliveryDay: plan.deliveryDay }
  if (isReserve(plan.stage))
    return {
      ...common,
      reserves: plan.reserves.map(({ product, capacity, capacityPrice, energyPrice }) => ({
        product,
        capacity,
        capacityPrice: capacityPrice.toFixed(2),
        ...(energyPrice === undefined ? {} : { energyPrice: energyPrice.toFixed(2) }),
      })),
    }
  return {
    ...common,
    schedule: plan.schedule,
    minimumSurplus: (leastSurplus ?? plan.minimumSurplus).toFixed(2),
    ...(plan.atAnyPrice ? { atAnyPrice: true } : {}),
    fee: terms.fee.toFixed(2),
    apply,
  }
}

export const isEmpty = (plan: Plan): boolean => plan.trades.length === 0 && plan.reserves.length === 0

export function placeOrders(organisation: string, orders: readonly object[]) {
  return askJson<Schemas['PlacedOrder'][]>(`/organisations/${organisation}/orders`, { method: 'POST', body: orders })
}

/** Up to its gate; what somebody changed of it meanwhile is noticed. */
export async function cancelOrder(order: Order): Promise<void> {
  const path = `/organisations/${order.organisationID}/orders/${order.id}`
  const etag = (await ask(path)).headers.get('ETag')
  await ask(path, { method: 'DELETE', ...(etag ? { ifMatch: etag } : {}) })
}

/** kW of the day's quarter-hours. */
export function spread(points: readonly { time: string; power: number }[], day: Day): number[] {
  const { start } = spanOf(day)
  const powers = new Array<number>(quartersOf(day).length).fill(0)
  for (const { time, power } of points) {
    const index = Math.round((Date.parse(time) - start) / QUARTER_MS)
    if (index >= 0 && index < powers.length) powers[index] = power
  }
  return powers
}

export interface Volumes {
  bought: number
  sold: number
}

/** MWh of a course in kW by quarter-hour. */
export function volumesOf(powersKw: readonly number[]): Volumes {
  const mwh = (kw: number) => kw / 4000
  return {
    bought: powersKw.reduce((sum, kw) => sum + (kw < 0 ? mwh(-kw) : 0), 0),
    sold: powersKw.reduce((sum, kw) => sum + (kw > 0 ? mwh(kw) : 0), 0),
  }
}

export const added = (courses: readonly (readonly number[])[], count: number): number[] =>
  Array.from({ length: count }, (_, index) => courses.reduce((sum, one) => sum + (one[index] ?? 0), 0))

export interface StageSums {
  stage: string
  status: Stage['status']
  gate: number | null
  /** kW by quarter-hour that were traded there, netted over the batteries. */
  change: number[]
  /** kW after it. */
  position: number[]
  traded: Volumes
  earned: number
  /** kW by product, those that wait for their result among them. */
  reserved: Map<string, number>
  problems: string[]
}

/** All batteries together, market by market. */
export function stagesOf(batteries: readonly BatteryDay[], day: Day): StageSums[] {
  const count = quartersOf(day).length
  const [first] = batteries
  let before = new Array<number>(count).fill(0)
  let withoutStage = before
  return (first?.stages ?? []).map(({ stage, status, gate }, at) => {
    const own = batteries.flatMap(({ asset, stages }) => {
      const found = stages[at]
      return found ? [{ asset, found }] : []
    })
    const position = added(
      own.map(({ found }) => spread(found.position, day)),
      count,
    )
    const traded = {
      bought: own.reduce((sum, { found }) => sum + found.traded.bought, 0),
      sold: own.reduce((sum, { found }) => sum + found.traded.sold, 0),
    }
    // What has no stage stands from the first one on; a gate that is to come has the position of all trades.
    const isKnown = at > 0 && stage !== 'OTHER' && traded.bought + traded.sold > 0
    const change =
      stage === 'OTHER' ? withoutStage : position.map((kw, index) => (isKnown ? kw - (before[index] ?? 0) : 0))
    if (at === 0 && status === 'PAST') withoutStage = position
    if (at === 0 || status === 'PAST' || !takesOrders(stage)) before = position
    const reserved = new Map<string, number>()
    for (const { found } of own)
      for (const { product, capacity } of found.reserved) reserved.set(product, (reserved.get(product) ?? 0) + capacity)
    return {
      stage,
      status,
      gate: gate ? Date.parse(gate) : null,
      change,
      position,
      traded,
      earned: own.reduce((sum, { found }) => sum + found.earned, 0),
      reserved,
      problems: own.flatMap(({ asset, found }) => (found.problem ? [`${asset.name}: ${found.problem.title}`] : [])),
    }
  })
}

/** What one gate undoes of another, or one battery of another: MWh that were bought and sold for the same quarter-hour. */
export function nettingOf(gross: Volumes, net: Volumes): number {
  return Math.max(0, Math.min(gross.bought - net.bought, gross.sold - net.sold))
}

export interface Arc {
  from: number
  to: number
  /** kWh. */
  energy: number
  trip: Trip
  battery: string
}

/** Of purchases and the sales that live on them, those that gain most first. */
export function arcsOf(plans: ReadonlyMap<string, Plan>, nameOf: (id: string) => string): Arc[] {
  const middle = ({ start, end }: { start: string; end: string }) => (Date.parse(start) + Date.parse(end)) / 2
  return [...plans]
    .flatMap(([id, plan]) =>
      plan.trips.flatMap((trip) =>
        trip.bought && trip.sold
          ? [
              {
                from: middle(trip.bought),
                to: middle(trip.sold),
                energy: trip.bought.energy,
                trip,
                battery: nameOf(id),
              },
            ]
          : [],
      ),
    )
    .sort((a, b) => b.trip.gain - a.trip.gain)
}

/** Start and end of a product's block on the clock, in hours. */
export function hoursOfProduct(product: string): [number, number] | null {
  const found = /_(\d\d)_(\d\d)$/.exec(product)
  return found ? [Number(found[1]), Number(found[2])] : null
}
