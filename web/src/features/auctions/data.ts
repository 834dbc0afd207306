/** Auctions as a bidder and as the operator read them. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { allPages, answered, api, offers, type Schemas } from '../../shared/api/client'
import { useMay } from '../../shared/api/session'
import { type Limits, readQuantity } from '../../shared/quantity'
import { HOUR_MS } from '../../shared/time/marketDay'

export type Auction = Schemas['AuctionView']
export type Bid = Schemas['BidView']
export type Results = Schemas['ResultsView']

export type Valuation = Schemas['ValuationView']
export type PastWindow = Schemas['PastWindowView']

export const AUCTIONS = ['auctions', 'list']

export function useAuctions() {
  return useQuery({
    queryKey: AUCTIONS,
    queryFn: () => allPages<Auction>('/auctions?limit=1000'),
    enabled: useMay('Read:auctions'),
    // Openings and clearings are told by events.
    staleTime: 5 * 60_000,
  })
}

export function useAuction(id: string | undefined) {
  return useQuery({
    queryKey: ['auctions', id],
    queryFn: () => answered(api.GET('/auctions/{auctionID}', { params: { path: { auctionID: id ?? '' } } })),
    enabled: id !== undefined,
  })
}

export function useBids(id: string, isShown: boolean) {
  return useQuery({
    queryKey: ['auctions', id, 'bids'],
    queryFn: () => allPages<Bid>(`/auctions/${id}/bids?limit=1000`),
    enabled: isShown,
  })
}

/** Asked once: nothing but another forecast makes it another. */
const valuationOf = (id: string) => ({
  queryKey: ['valuations', id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    answered(
      api.POST('/auctions/{auctionID}/valuations', {
        params: { path: { auctionID: id } },
        body: { basis: 'FORESIGHT' },
        signal,
      }),
    ),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
})

function useMayValue(): boolean {
  return useMay('Create:optimisations') && offers('POST /auctions/{auctionID}/valuations')
}

export function useValuation(auction: Auction) {
  const may = useMayValue()
  return useQuery({ ...valuationOf(auction.id), enabled: may && auction.status !== 'NO_BIDS_SUBMITTED' })
}

/** What half of the outcomes would beat, of several auctions; one after the other, for each takes the service a while. */
export function useMedians(ids: string[]): Map<string, number> {
  const queries = useQueryClient()
  const found = useQuery({
    queryKey: ['valuations', 'medians', ...ids],
    queryFn: async ({ signal }) => {
      const medians = new Map<string, number>()
      for (const id of ids) {
        if (signal.aborted) break
        const valuation = await queries.fetchQuery(valuationOf(id)).catch(() => null)
        if (valuation) medians.set(id, valuation.p50)
      }
      return medians
    },
    enabled: useMayValue() && ids.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  })
  return found.data ?? NONE
}

const NONE: Map<string, number> = new Map()

export function useResults(id: string, isShown: boolean) {
  return useQuery({
    queryKey: ['auctions', id, 'results'],
    queryFn: () => answered(api.GET('/auctions/{auctionID}/results', { params: { path: { auctionID: id } } })),
    enabled: isShown,
    retry: false,
  })
}

// --- what follows from an auction alone --------------------------------------------------------------------------

export const startOf = (auction: Auction): number => Date.parse(auction.start)
export const endOf = (auction: Auction): number => Date.parse(auction.end)
export const deliveryOf = (auction: Auction) => ({
  start: Date.parse(auction.item.start),
  end: Date.parse(auction.item.end),
})

export type Group = 'Open' | 'Not started' | 'Closed'

/** Where an auction stands at a moment, by its own times: the list moves without asking the service. */
export function groupOf(auction: Auction, now: number): Group {
  if (now < startOf(auction)) return 'Not started'
  return now < endOf(auction) ? 'Open' : 'Closed'
}

/** Open ones by what closes first, coming ones by what opens first, closed ones newest first. */
export function grouped(auctions: Auction[], now: number): [Group, Auction[]][] {
  const groups: Record<Group, Auction[]> = { Open: [], 'Not started': [], Closed: [] }
  for (const auction of auctions) groups[groupOf(auction, now)].push(auction)
  groups.Open.sort((a, b) => endOf(a) - endOf(b))
  groups['Not started'].sort((a, b) => startOf(a) - startOf(b))
  groups.Closed.sort((a, b) => endOf(b) - endOf(a))
  return Object.entries(groups).filter(([, members]) => members.length > 0) as [Group, Auction[]][]
}

/** Auctions of the same zone that were cleared, newest first: what a new one is likely to bring. */
export function pastOfKind(auctions: Auction[], { id, item }: Auction, now: number): Auction[] {
  return auctions
    .filter((one) => one.id !== id && one.item.deliveryZone === item.deliveryZone)
    .filter((one) => groupOf(one, now) === 'Closed' && one.outcome != null)
    .sort((a, b) => endOf(b) - endOf(a))
}

export const powerMw = (auction: Auction): number =>
  (auction.item.ratedChargePower + auction.item.ratedDischargePower) / 2000

export const daysOf = (auction: Auction): number => {
  const { start, end } = deliveryOf(auction)
  return (end - start) / (24 * HOUR_MS)
}

export const perMwDay = (price: number, auction: Auction): number => price / powerMw(auction) / daysOf(auction)

/** How likely the window is worth more than a price, by straight lines between the three quantiles; null beyond them. */
export function chanceOfMore(price: number, { p10, p50, p90 }: Valuation): number | null {
  if (price < p10 || price > p90) return null
  const [low, high, from] = price < p50 ? [p10, p50, 0.9] : [p50, p90, 0.5]
  return high === low ? from - 0.2 : from - 0.4 * ((price - low) / (high - low))
}

/** Whether a past window came to be worth what was expected of it. */
export const isWithin = (one: PastWindow): boolean => one.p10 <= one.value && one.value <= one.p90

const FEWEST_FOR_BINS = 20
const BINS = 14

export interface Bins {
  low: number
  high: number
  counts: number[]
}

/**
 * What this window may be worth, in bins: each past window's outcome, laid into this one's range as it lay in its own.
 * Null where too few are known to speak of a distribution.
 */
export function binsOf({ p10, p50, p90, calibration }: Valuation): Bins | null {
  const past = calibration.pastWindows.filter((one) => one.p90 > one.p10)
  if (past.length < FEWEST_FOR_BINS || !(p90 > p10)) return null
  const values = past.map((one) => p50 + ((one.value - one.p50) / (one.p90 - one.p10)) * (p90 - p10))
  const low = Math.min(p10 - (p50 - p10) * 0.5, ...values)
  const high = Math.max(p90 + (p90 - p50) * 0.5, ...values)
  const counts = new Array<number>(BINS).fill(0)
  for (const value of values) {
    const bin = Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return { low, high, counts }
}

export const PRICE_LIMITS: Limits = {
  decimals: 2,
  least: 0.01,
  leastIs: 'the least, €0.01',
  most: 10_000_000,
  mostIs: 'the most, €10,000,000',
}

/** A price as it is typed, with a decimal comma or point, grouped or not. */
export function readPrice(text: string): { price: number; fault: null } | { price: null; fault: string } {
  if (text.trim() === '') return { price: null, fault: 'Name a price.' }
  const read = readQuantity(text, 'EUR', PRICE_LIMITS)
  return read.value === null ? { price: null, fault: read.fault } : { price: read.value, fault: null }
}

/** The bid that stands once this one is withdrawn: the latest before it that is not. */
export function standingAfter(bids: readonly Bid[], withdrawnID: string): Bid | null {
  const left = bids.filter((bid) => bid.id !== withdrawnID && !bid.withdrawn)
  return left.reduce<Bid | null>((last, bid) => (last === null || bid.sequence > last.sequence ? bid : last), null)
}
