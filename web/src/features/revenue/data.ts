/** What batteries earned, as the seed's categories have it, and what the reader keeps, as the statement has it. */
import { type Query, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { allPages, ask, askJson, offers, type Schemas } from '../../shared/api/client'
import { usePhysicalAssets, useVirtualAssets } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import { addDays, type Day, dayOf, instant, type Span, spanOf } from '../../shared/time/marketDay'

/** Bottom to top: the steadiest first, then what is traded, then ancillary services. */
export const PRODUCTS = [
  { key: 'revenue_tolling', label: 'Tolling', colour: 'var(--tolling)' },
  { key: 'revenue_vba', label: 'Auction', colour: 'var(--auction)' },
  { key: 'revenue_wholesale', label: 'Wholesale', colour: 'var(--wholesale)' },
  { key: 'revenue_fcr', label: 'FCR', colour: 'var(--fcr)' },
  { key: 'revenue_afrr_capacity', label: 'aFRR capacity', colour: 'var(--afrr-capacity)' },
  { key: 'revenue_afrr_energy', label: 'aFRR energy', colour: 'var(--afrr-energy)' },
] as const
export interface Product {
  key: string
  label: string
  colour: string
}

/** What the statement has beside the products: what is settled with others, and no market's. */
export const SETTLED: Product = { key: 'settled', label: 'Imbalance, availability, rest', colour: 'var(--ink-3)' }
export const TOTAL = 'revenue_total_revenue'
const PER_MW = 'revenue_normalised_total'

export type Kind = 'organisations' | 'fleets' | 'portfolios' | 'virtual-assets' | 'physical-assets'

export interface Subject {
  kind: Kind
  id: string
  label: string
  /** Whether tolls and auction prices are paid by the reader, for what others own: then they are no earnings. */
  isHeld: boolean
}

const WORDS: Record<Kind, string> = {
  organisations: 'everything it holds and owns',
  fleets: 'fleet',
  portfolios: 'portfolio',
  'virtual-assets': 'virtual battery',
  'physical-assets': 'battery',
}

const HELD: Kind[] = ['portfolios', 'virtual-assets']

interface Subjects {
  /** All of it together: known before its parts are. */
  whole: Subject
  subjects: Subject[]
  isLoading: boolean
  error: unknown
}

/** Everything whose revenue the reader may look at: all of it together, then groups, then each. */
export function useSubjects(): Subjects {
  const session = useSession()
  const organisation = session.user.organisationID
  const mayVirtual = useMay('Read:virtual-assets')
  const mayPhysical = useMay('Read:physical-assets')
  const fleets = useQuery({
    queryKey: ['fleets'],
    queryFn: () => allPages<Schemas['Fleet']>('/fleets'),
    enabled: mayPhysical,
  })
  const portfolios = useQuery({
    queryKey: ['portfolios', organisation],
    queryFn: () => allPages<Schemas['PortfolioView']>(`/organisations/${organisation}/portfolios`),
    enabled: mayVirtual,
  })
  const virtual = useVirtualAssets()
  const physical = usePhysicalAssets()
  // A grant on another's battery seldom goes as far as its revenue.
  const named = (kind: Kind, list: { id: string; name: string; organisationID: string }[] | undefined): Subject[] =>
    (list ?? [])
      .filter((one) => one.organisationID === organisation)
      .map((one) => ({ kind, id: one.id, label: `${one.name}, ${WORDS[kind]}`, isHeld: HELD.includes(kind) }))
  const owns = (physical.data ?? []).some((one) => one.organisationID === organisation)
  const whole: Subject = {
    kind: 'organisations',
    id: organisation,
    label: `${session.organisationName}, ${WORDS.organisations}`,
    isHeld: !owns,
  }
  const parts = [
    ...named('fleets', fleets.data),
    ...named('portfolios', portfolios.data),
    ...named('virtual-assets', virtual.data),
    ...named('physical-assets', physical.data),
  ]
  return {
    whole,
    subjects: parts.length > 0 ? [whole, ...parts] : [],
    isLoading: fleets.isLoading || portfolios.isLoading || virtual.isLoading || physical.isLoading,
    error: fleets.error ?? portfolios.error ?? virtual.error ?? physical.error,
  }
}

export type Resolution = '15-minute' | 'hourly' | 'daily'
export type Series = Record<string, { time: string; value: number | null }[]>

export function pointsPath(
  subject: Pick<Subject, 'kind' | 'id'>,
  span: Span,
  resolution: Resolution,
  categories: readonly string[],
): string {
  const query = new URLSearchParams({
    start: instant(span.start),
    end: instant(span.end),
    resolution,
    datapoints: categories.join(','),
  })
  return `/revenue-reporting/${subject.kind}/${subject.id}/data-points?${query}`
}

export interface Bucket {
  time: number
  total: number
  perMw: number
  /** By the key of its product. */
  parts: Record<string, number>
}

const EARNED = [TOTAL, PER_MW, ...PRODUCTS.map((product) => product.key)]
/** What the lines of a statement are made of; revenues among them that are no product of their own. */
const VOLUMES = [
  'sell_volume_wholesale',
  'sell_vwap_wholesale',
  'buy_volume_wholesale',
  'buy_vwap_wholesale',
  'total_volume_afrr_energy_pos',
  'revenue_afrr_energy_pos',
  'total_volume_afrr_energy_neg',
  'revenue_afrr_energy_neg',
  'weighted_capacity_fcr',
  'annual_price_tolling',
]

/** One request for all that is read of these days. */
export function usePoints<T>(
  subject: Subject | undefined,
  span: Span,
  resolution: Resolution,
  select: (data: Series) => T,
) {
  return useQuery({
    queryKey: ['revenue', subject?.kind, subject?.id, span.start, span.end, resolution],
    queryFn: async () => {
      const categories = resolution === 'daily' ? [...EARNED, ...VOLUMES] : EARNED
      return (await askJson<{ data: Series }>(pointsPath(subject as Subject, span, resolution, categories))).data
    },
    enabled: subject !== undefined && span.end > span.start,
    staleTime: 60_000,
    select,
  })
}

export function useBuckets(subject: Subject | undefined, span: Span, resolution: Resolution) {
  return usePoints(subject, span, resolution, subject?.isHeld ? heldBucketsOf : bucketsOf)
}

const heldBucketsOf = (data: Series): Bucket[] => bucketsOf(data).map(withoutPaid)

const PAID = ['revenue_tolling', 'revenue_vba']

/** What a held battery earned in the markets: what the holder pays for it is no part of that. */
export function withoutPaid(bucket: Bucket): Bucket {
  const paid = PAID.reduce((sum, key) => sum + (bucket.parts[key] ?? 0), 0)
  const total = bucket.total - paid
  const parts = Object.fromEntries(Object.entries(bucket.parts).filter(([key]) => !PAID.includes(key)))
  return { ...bucket, total, parts, perMw: bucket.total === 0 ? 0 : (bucket.perMw * total) / bucket.total }
}

export function bucketsOf(data: Series): Bucket[] {
  const buckets = new Map<number, Bucket>()
  const at = (time: string): Bucket => {
    const moment = Date.parse(time)
    let found = buckets.get(moment)
    if (!found) {
      found = { time: moment, total: 0, perMw: 0, parts: {} }
      buckets.set(moment, found)
    }
    return found
  }
  for (const point of data[TOTAL] ?? []) at(point.time).total = point.value ?? 0
  for (const point of data[PER_MW] ?? []) at(point.time).perMw = point.value ?? 0
  for (const { key } of PRODUCTS) for (const point of data[key] ?? []) at(point.time).parts[key] = point.value ?? 0
  return [...buckets.values()].sort((a, b) => a.time - b.time)
}

export interface Statement {
  lines: { time: string; line: string; amount: number; counterparty: string }[]
  total: number
}

const STATEMENT = ['revenue', 'statement']

export function statementPath({ kind, id }: Pick<Subject, 'kind' | 'id'>, { start, end }: Span): string {
  const query = new URLSearchParams({ start: instant(start), end: instant(end), resolution: 'daily' })
  return `/revenue-reporting/${kind}/${id}/statement?${query}`
}

/** By market days. One of a shorter time is there at once where one that contains it was read already. */
export function useStatement(subject: Pick<Subject, 'kind' | 'id'> | undefined, span: Span) {
  const queries = useQueryClient()
  const known = () => findWider(queries, subject, span)
  return useQuery({
    queryKey: [...STATEMENT, subject?.kind, subject?.id, span.start, span.end],
    queryFn: () => askJson<Statement>(statementPath(subject as Subject, span)),
    enabled: subject !== undefined && offers('GET /revenue-reporting/fleets/{fleetID}/statement'),
    initialData: () => {
      const wider = known()?.state.data
      return wider && cutStatement(wider, span)
    },
    // What has become stale since is shown, and read anew.
    initialDataUpdatedAt: () => {
      const wider = known()?.state
      return wider && !wider.isInvalidated ? wider.dataUpdatedAt : 0
    },
    staleTime: 5 * 60_000,
    retry: false,
  })
}

function findWider(queries: QueryClient, subject: Pick<Subject, 'kind' | 'id'> | undefined, span: Span) {
  return queries
    .getQueryCache()
    .findAll({ queryKey: [...STATEMENT, subject?.kind, subject?.id] })
    .find(({ queryKey, state }) => {
      const [start, end] = queryKey.slice(-2) as [number, number]
      return state.data !== undefined && start <= span.start && end >= span.end
    }) as Query<Statement> | undefined
}

/** The part of a statement that lies in a shorter time: each day is rounded by itself, so nothing else changes. */
export function cutStatement({ lines }: Statement, span: Span): Statement {
  const own = lines.filter(({ time }) => Date.parse(time) >= span.start && Date.parse(time) < span.end)
  return { lines: own, total: own.reduce((cents, { amount }) => cents + Math.round(amount * 100), 0) / 100 }
}

const PRODUCT_OF_LINE: Record<string, string> = {
  TOLLING: 'revenue_tolling',
  AUCTION: 'revenue_vba',
  TRADING: 'revenue_wholesale',
  FCR: 'revenue_fcr',
  AFRR_CAPACITY: 'revenue_afrr_capacity',
  AFRR_ENERGY: 'revenue_afrr_energy',
}

/** The statement by days: what comes in up, what is paid down; of the same days as what was earned. */
export function keptOf(statement: Statement, earned: Bucket[]): Bucket[] {
  const kept = new Map(
    earned.map((one) => [dayOf(one.time), { time: one.time, total: 0, perMw: 0, parts: {} } as Bucket]),
  )
  for (const { time, line, amount } of statement.lines) {
    const bucket = kept.get(dayOf(Date.parse(time)))
    if (!bucket) continue
    const key = PRODUCT_OF_LINE[line] ?? SETTLED.key
    bucket.total += amount
    bucket.parts[key] = (bucket.parts[key] ?? 0) + amount
  }
  // As many MW as what was earned was divided by.
  for (const one of earned) {
    const bucket = kept.get(dayOf(one.time))
    if (bucket && one.total !== 0) bucket.perMw = (bucket.total * one.perMw) / one.total
  }
  return [...kept.values()]
}

/** What an earlier time of as many days earned, against now; a time that was mostly empty is nothing to compare with. */
export function comparisonOf(buckets: readonly Bucket[], earlier: readonly Bucket[] | undefined, days: number) {
  if (earlier === undefined) return null
  const sum = (list: readonly Bucket[]) => list.reduce((total, one) => total + one.total, 0)
  const past = sum(earlier)
  const known = earlier.filter((one) => one.total !== 0).length
  const isComparable = past > 0 && known >= days * 0.8
  return { past, known, change: isComparable ? (sum(buckets) - past) / past : null }
}

export type Range = 'day' | 'week' | 'month' | 'year'
export const DAYS: Record<Range, number> = { day: 1, week: 7, month: 30, year: 365 }

/** The days of a range that ends with `last`. */
export function spanBefore(last: Day, range: Range): Span {
  return { start: spanOf(addDays(last, 1 - DAYS[range])).start, end: spanOf(last).end }
}

export async function download(path: string, accept: string, name: string): Promise<void> {
  const response = await ask(path, { accept })
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

export const dayOfBucket = (bucket: Bucket): Day => dayOf(bucket.time)
