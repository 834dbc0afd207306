import { useQuery } from '@tanstack/react-query'
import { askMany, type Schemas } from '../../shared/api/client'
import type { Health, PhysicalAsset, VirtualAsset } from '../../shared/api/resources'
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
import { type Statement, useStatement } from '../revenue/data'
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
  isLoading: boolean
  /** Whether nothing is known of them. */
  isUnread: boolean
}

/** What the next three days hold as planned: the cuts that are known to come, and who has no plan for tomorrow. */
export function useOutlook(assets: VirtualAsset[], now: number): Outlook {
  const from = quarterAt(now)
  const asked = assets.slice(0, MOST).filter((asset) => Date.parse(asset.end) > from)
  const ids = asked.map((one) => one.id).join()
  const found = useQuery({
    queryKey: ['virtual-assets', 'outlook', ids, from],
    queryFn: () =>
      askMany<Projected[]>(
        asked.map((asset) => {
          const start = Math.max(from, Date.parse(asset.start))
          const end = Math.min(Math.max(from + AHEAD_MS, start + QUARTER_MS), Date.parse(asset.end))
          return `${pathOf(asset)}/state-of-energy/projected?${spanQuery({ start, end })}`
        }),
      ),
    enabled: asked.length > 0,
    staleTime: 5 * 60_000,
    // Of the same batteries only: an answer has its place in the list.
    placeholderData: (old, query) => (query?.queryKey[2] === ids ? old : undefined),
  })
  const known = (found.data ?? []).flatMap((points, index) => {
    const asset = asked[index]
    return points && asset ? [{ asset, points }] : []
  })
  const tomorrow = spanOf(addDays(dayOf(now), 1))
  return {
    cuts: known.flatMap(({ asset, points }) => cutsOf(asset, points)),
    idle: known.filter(({ asset, points }) => isIdle(asset, points, tomorrow)).map(({ asset }) => asset),
    isLoading: found.isLoading,
    isUnread: found.isLoadingError,
  }
}

const pathOf = (asset: VirtualAsset): string => `/organisations/${asset.organisationID}/virtual-assets/${asset.id}`
const spanQuery = ({ start, end }: Span): string =>
  new URLSearchParams({ start: instant(start), end: instant(end) }).toString()

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

export type Latest = Record<string, { time: string; value: number } | undefined>

export interface FleetStatus {
  health: Map<string, Health>
  latest: Map<string, Latest>
  isLoading: boolean
  /** Whether nothing is known of them. */
  isUnread: boolean
}

/** Health and last telemetry of all batteries in one request: no event tells that measurements stop. */
export function useFleetStatus(assets: PhysicalAsset[]): FleetStatus {
  const may = useMay('Read:monitoring')
  const shown = assets.slice(0, MOST)
  const found = useQuery({
    queryKey: ['physical-assets', 'status', shown.map((one) => one.id).join()],
    queryFn: async () => {
      const paths = shown.flatMap((asset) => [
        `/physical-assets/${asset.id}/health`,
        ...(may ? [`/monitoring/${asset.id}/datapoints/latest`] : []),
      ])
      return askMany<unknown>(paths)
    },
    enabled: shown.length > 0,
    refetchInterval: 30_000,
    staleTime: 10_000,
  })
  const step = may ? 2 : 1
  const health = new Map<string, Health>()
  const latest = new Map<string, Latest>()
  shown.forEach((asset, index) => {
    const one = found.data?.[index * step] as Health | null | undefined
    const points = may ? (found.data?.[index * step + 1] as { data: Latest } | null | undefined) : null
    if (one) health.set(asset.id, one)
    if (points) latest.set(asset.id, points.data)
  })
  return { health, latest, isLoading: found.isLoading, isUnread: found.isLoadingError }
}

export function useUnavailabilities(assets: PhysicalAsset[]) {
  const shown = assets.slice(0, MOST)
  const found = useQuery({
    queryKey: ['physical-assets', 'unavailabilities', shown.map((one) => one.id).join()],
    queryFn: () =>
      askMany<Schemas['Unavailability'][]>(
        shown.map((asset) => `/physical-assets/${asset.id}/unavailability?limit=1000`),
      ),
    enabled: shown.length > 0,
    staleTime: 5 * 60_000,
  })
  return (found.data ?? []).flatMap((items, index) => {
    const asset = shown[index]
    return items && asset ? items.map((item) => ({ name: asset.name, item })) : []
  })
}

export interface Today {
  charge: { time: string; stateOfChargePercentage: number }[]
  powerKw: number | null
}

/** Virtual batteries' state of charge today, and their power now, in one request. */
export function useToday(assets: VirtualAsset[], now: number) {
  const day = spanOf(dayOf(now))
  const quarter = quarterAt(now)
  const shown = assets.slice(0, MOST)
  return useQuery({
    queryKey: ['virtual-assets', 'today', shown.map((one) => one.id).join(), quarter],
    queryFn: async (): Promise<Map<string, Today>> => {
      const living = shown.flatMap((asset) => {
        const start = Math.max(day.start, Date.parse(asset.start))
        const end = Math.min(day.end, Date.parse(asset.end))
        return start < end ? [{ asset, span: { start, end } }] : []
      })
      const answers = await askMany<unknown>(
        living.flatMap(({ asset, span }) => [
          `${pathOf(asset)}/state-of-charge?${spanQuery(span)}`,
          `${pathOf(asset)}/blocks?${spanQuery({ start: quarter, end: quarter + QUARTER_MS })}`,
        ]),
      )
      return new Map(
        living.map(({ asset }, index) => {
          const isNow = Date.parse(asset.start) <= quarter && quarter < Date.parse(asset.end)
          const blocks = (answers[2 * index + 1] ?? []) as Schemas['BlockView'][]
          const powerKw = isNow ? blocks.reduce((sum, block) => sum + (block.schedule[0]?.power ?? 0), 0) : null
          return [asset.id, { charge: (answers[2 * index] ?? []) as Today['charge'], powerKw }] as const
        }),
      )
    },
    enabled: shown.length > 0,
    placeholderData: (old) => old,
  })
}

/** What is in those batteries whose charge is known, and what they hold at most; null while none is known. */
export function storedOf(
  assets: readonly Pick<VirtualAsset, 'energyCapacity'>[],
  charges: readonly (number | null)[],
): { kwh: number; ofKwh: number } | null {
  const known = assets.flatMap(({ energyCapacity }, index) => {
    const charge = charges[index]
    return charge === null || charge === undefined ? [] : [{ kwh: (charge / 100) * energyCapacity, energyCapacity }]
  })
  if (known.length === 0) return null
  return {
    kwh: known.reduce((sum, one) => sum + one.kwh, 0),
    ofKwh: known.reduce((sum, one) => sum + one.energyCapacity, 0),
  }
}

export interface DayRevenue {
  day: Day
  value: number
}

/** What the reader's organisation keeps, by market day, of the last `days` days and today. */
export function useDailyRevenue(today: Day, days: number) {
  const id = useSession().user.organisationID
  const first = addDays(today, -days)
  const statement = useStatement({ kind: 'organisations', id }, { start: spanOf(first).start, end: spanOf(today).end })
  return { ...statement, data: statement.data && byDay(statement.data, first, days) }
}

function byDay({ lines }: Statement, first: Day, days: number): DayRevenue[] {
  const sums = new Map<Day, number>()
  for (const line of lines) {
    const day = dayOf(Date.parse(line.time))
    sums.set(day, (sums.get(day) ?? 0) + line.amount)
  }
  return Array.from({ length: days + 1 }, (_, index) => {
    const day = addDays(first, index)
    return { day, value: sums.get(day) ?? 0 }
  })
}
