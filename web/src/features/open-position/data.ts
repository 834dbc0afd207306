/** What was traded, planned and delivered, and what of it is open: by quarter-hour, battery and market. */
import { useQuery } from '@tanstack/react-query'
import { askAll, type Schemas } from '../../shared/api/client'
import type { VirtualAsset } from '../../shared/api/resources'
import { type Day, instant, QUARTER_MS, quartersOf, spanOf } from '../../shared/time/marketDay'
import { pathOf } from '../virtual-assets/data'

type Point = Schemas['PositionPoint']
type Stage = Schemas['MarketStageView']

/** MWh, export positive but for what was bought; EUR. */
export interface Sums {
  bought: number
  sold: number
  scheduled: number
  activated: number
  delivered: number
  /** Sold less bought and activated less delivered: positive was sold and not delivered. */
  open: number
  /** Of the open volume at the imbalance price; negative is income; null where no price is published. */
  cost: number | null
}

export interface BatteryPosition {
  asset: VirtualAsset
  points: Point[]
  stages: Stage[]
}

export function usePositions(assets: readonly VirtualAsset[], day: Day) {
  return useQuery({
    queryKey: ['virtual-assets', 'positions', day, assets.map((one) => one.id).join()],
    queryFn: async () => {
      const { start, end } = spanOf(day)
      const span = new URLSearchParams({ start: instant(start), end: instant(end) })
      const answers = await askAll(
        assets.flatMap((asset) => [
          `${pathOf(asset)}/position?${span}`,
          `${pathOf(asset)}/markets?delivery-day=${day}`,
        ]),
      )
      const positions: BatteryPosition[] = []
      const unread: string[] = []
      assets.forEach((asset, index) => {
        const [points, stages] = answers.slice(2 * index, 2 * index + 2)
        if (!points || points.status >= 300) unread.push(asset.name)
        else
          positions.push({
            asset,
            points: points.body as Point[],
            stages: stages && stages.status < 300 ? (stages.body as Stage[]) : [],
          })
      })
      return { positions, unread }
    },
    enabled: assets.length > 0,
    staleTime: 60_000,
  })
}

const NOTHING: Sums = { bought: 0, sold: 0, scheduled: 0, activated: 0, delivered: 0, open: 0, cost: null }

const plus = (sums: Sums, point: Partial<Point>): Sums => ({
  bought: sums.bought + (point.bought ?? 0),
  sold: sums.sold + (point.sold ?? 0),
  scheduled: sums.scheduled + (point.scheduled ?? 0),
  activated: sums.activated + (point.activated ?? 0),
  delivered: sums.delivered + (point.delivered ?? 0),
  open: sums.open + (point.open ?? 0),
  cost: point.imbalanceCost === undefined ? sums.cost : (sums.cost ?? 0) + point.imbalanceCost,
})

export const sumOf = (points: readonly Point[]): Sums => points.reduce(plus, NOTHING)

export interface Quarter extends Sums {
  time: number
  /** EUR/MWh, where it is published. */
  price: number | null
}

/** Of several batteries together: what is short in one and long in another nets, as their balancing group does. */
export function quartersOfAll(positions: readonly BatteryPosition[], day: Day): Quarter[] {
  const all = new Map(quartersOf(day).map((time): [number, Quarter] => [time, { time, price: null, ...NOTHING }]))
  for (const { points } of positions)
    for (const point of points) {
      const at = Date.parse(point.time)
      const before = all.get(at)
      if (before) all.set(at, { ...plus(before, point), time: at, price: point.imbalancePrice ?? before.price })
    }
  return [...all.values()]
}

export const isPriced = (quarters: readonly Quarter[]): boolean => quarters.every(({ price }) => price !== null)

export interface MarketSums {
  stage: string
  bought: number
  sold: number
  earned: number
}

/** In the order of their gates. */
export function byMarket(positions: readonly BatteryPosition[]): MarketSums[] {
  const found = new Map<string, MarketSums>()
  for (const { stages } of positions)
    for (const { stage, traded, earned } of stages) {
      const before = found.get(stage) ?? { stage, bought: 0, sold: 0, earned: 0 }
      found.set(stage, {
        stage,
        bought: before.bought + traded.bought,
        sold: before.sold + traded.sold,
        earned: before.earned + earned,
      })
    }
  return [...found.values()]
}

const MARKETS: Record<string, string> = {
  FCR: 'FCR',
  AFRR: 'aFRR capacity',
  DAY_AHEAD: 'Day-ahead',
  IDA1: 'Intraday auction 1',
  IDA2: 'Intraday auction 2',
  IDA3: 'Intraday auction 3',
  CONTINUOUS: 'Continuous',
  AFRR_ENERGY: 'aFRR energy',
  OTHER: 'Others, over the counter',
}
export const marketInWords = (stage: string): string => MARKETS[stage] ?? stage

/** What the table shows, for a sheet. */
export function csvOf(quarters: readonly Quarter[]): string {
  const names = ['bought', 'sold', 'scheduled', 'activated', 'delivered', 'open'] as const
  const head = ['time', ...names.map((name) => `${name} MWh`), 'imbalance price EUR/MWh', 'cost EUR']
  const lines = quarters.map((one) => [
    new Date(one.time).toISOString(),
    ...names.map((name) => Number(one[name].toFixed(6))),
    one.price ?? '',
    one.cost === null ? '' : Number(one.cost.toFixed(2)),
  ])
  return `${[head, ...lines].map((line) => line.join(',')).join('\r\n')}\r\n`
}

/** Whether a quarter-hour is over: what lies ahead is planned, not delivered. */
export const isPast = ({ time }: Pick<Quarter, 'time'>, now: number): boolean => time + QUARTER_MS <= now
