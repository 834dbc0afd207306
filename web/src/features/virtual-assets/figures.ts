/** What a list of batteries says of each: what is in store, what today has earned, what is open, what goes wrong next. */
import { useQuery } from '@tanstack/react-query'
import { askMany, type Schemas } from '../../shared/api/client'
import type { VirtualAsset } from '../../shared/api/resources'
import { dayOf, instant, QUARTER_MS, quarterAt, spanOf } from '../../shared/time/marketDay'
import { pathOf } from './data'

export interface BatteryFigures {
  /** %, as planned. */
  charge: number | null
  /** EUR at all markets of the day, without fees. */
  earned: number | null
  /** MWh of the day, sold and not delivered up. */
  open: number | null
  /** The first cut that is expected. */
  problem: { at: number; mw: number } | null
}

/** What each takes the service: those that no column shows are not asked for. */
export interface Wanted {
  course: boolean
  earned: boolean
  open: boolean
}

const AHEAD_MS = 3 * 24 * 3_600_000
const MOST = 150

interface Projected {
  time: string
  energy: number
  expectedCut?: { acceptedSchedule: number; adjustedSchedule: number }
}

export function useFigures(assets: readonly VirtualAsset[], now: number, wanted: Wanted) {
  const from = quarterAt(now)
  const asked = assets.filter((one) => Date.parse(one.start) <= now && Date.parse(one.end) > now).slice(0, MOST)
  return useQuery({
    queryKey: ['virtual-assets', 'figures', from, wanted, asked.map((one) => one.id).join()],
    queryFn: async () => {
      const found = new Map<string, BatteryFigures>()
      const paths = asked.map((asset) => pathsOf(asset, from, wanted))
      const answers = await askMany<unknown>(paths.flat())
      let at = 0
      asked.forEach((asset, index) => {
        const own = answers.slice(at, at + (paths[index]?.length ?? 0))
        at += own.length
        const next = () => own.shift() ?? null
        found.set(
          asset.id,
          figuresOf(asset, now, {
            course: wanted.course ? (next() as Projected[] | null) : null,
            stages: wanted.earned ? (next() as Schemas['MarketStageView'][] | null) : null,
            points: wanted.open ? (next() as Schemas['PositionPoint'][] | null) : null,
          }),
        )
      })
      return found
    },
    enabled: asked.length > 0 && (wanted.course || wanted.earned || wanted.open),
    staleTime: 60_000,
    placeholderData: (old) => old,
  })
}

function pathsOf(asset: VirtualAsset, from: number, wanted: Wanted): string[] {
  const day = dayOf(from)
  const { start, end } = spanOf(day)
  const life = { start: Date.parse(asset.start), end: Date.parse(asset.end) }
  const within = (a: number, b: number) =>
    new URLSearchParams({ start: instant(Math.max(a, life.start)), end: instant(Math.min(b, life.end)) })
  const paths: string[] = []
  if (wanted.course) paths.push(`${pathOf(asset)}/state-of-energy/projected?${within(from, from + AHEAD_MS)}`)
  if (wanted.earned) paths.push(`${pathOf(asset)}/markets?delivery-day=${day}`)
  if (wanted.open) paths.push(`${pathOf(asset)}/position?${within(start, end)}`)
  return paths
}

interface Read {
  course: Projected[] | null
  stages: Pick<Schemas['MarketStageView'], 'earned'>[] | null
  points: Pick<Schemas['PositionPoint'], 'open'>[] | null
}

export function figuresOf(
  asset: Pick<VirtualAsset, 'energyCapacity'>,
  now: number,
  { course, stages, points }: Read,
): BatteryFigures {
  const cut = course?.find((one) => one.expectedCut)
  return {
    charge: course ? chargeAt(course, now, asset.energyCapacity) : null,
    earned: stages ? stages.reduce((sum, one) => sum + one.earned, 0) : null,
    open: points ? points.reduce((sum, one) => sum + one.open, 0) : null,
    problem: cut?.expectedCut
      ? {
          at: Date.parse(cut.time),
          mw: Math.abs(cut.expectedCut.acceptedSchedule - cut.expectedCut.adjustedSchedule) / 1000,
        }
      : null,
  }
}

/** Power is constant within a quarter-hour, so the store moves evenly. */
function chargeAt(course: readonly Projected[], now: number, capacityKwh: number): number | null {
  const [first, second] = course
  if (!first) return null
  const share = second ? Math.min(1, Math.max(0, (now - Date.parse(first.time)) / QUARTER_MS)) : 0
  return ((first.energy + share * ((second?.energy ?? first.energy) - first.energy)) / capacityKwh) * 100
}
