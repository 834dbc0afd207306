/** What is bid for reserves, what is free for them, and at what prices they cleared. */
import { useQuery } from '@tanstack/react-query'
import { allPages, ask, askAll, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset, VirtualAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { addDays, type Day, HOUR_MS, instant, QUARTER_MS, spanOf, wallAt } from '../../shared/time/marketDay'
import type { Commitment } from '../physical-assets/data'
import { pathOf } from '../virtual-assets/data'
import { BLOCKS, isBlock, productOf, spanOfBlock } from './products'
import type { Past, Step } from './steps'

export type Order = Schemas['OrderView']
type Entry = Schemas['ProductBids']
type Result = Schemas['ProductResults']

/** A battery that bids, by itself or, virtual, by orders. */
export type Subject =
  | { kind: 'physical'; id: string; name: string; asset: PhysicalAsset }
  | { kind: 'virtual'; id: string; name: string; asset: VirtualAsset }

export interface Bid extends Step {
  id: string
  status: string
  /** MW, and the price it is paid; once it has its result. */
  accepted: number | null
  paid: number | null
}

/** What may be promised in a block of a direction, MW, by who holds the rest. */
export interface Block {
  hour: number
  up: Held
  down: Held
  /** MWh that are in no book. */
  freeEnergy: number
}

export interface Held {
  rated: number
  /** Free now, with nothing of the day's own bids given back. */
  free: number
  lost: number
  layers: { label: string; kind: 'virtual' | 'auction' | 'own' | 'reserve'; power: number }[]
}

export interface SubjectDay {
  subject: Subject
  day: Day
  bids: Map<string, Bid[]>
  blocks: Block[]
  /** Of a virtual battery: what its orders name, and those that wait. */
  etag: string
  orders: Order[]
}

export const energyOf = (subject: Subject): number =>
  (subject.kind === 'physical' ? subject.asset.parameters.energyCapacity : subject.asset.energyCapacity) / 1000

export function useSubjectDays(subjects: readonly Subject[], days: readonly Day[]) {
  return useQuery({
    queryKey: [
      subjects[0]?.kind === 'virtual' ? 'virtual-assets' : 'physical-assets',
      'reserves',
      subjects.map((one) => one.id).join(),
      days.join(),
    ],
    queryFn: async () => {
      const wanted = subjects.flatMap((subject) => days.map((day) => ({ subject, day })))
      const paths = wanted.map(({ subject, day }) => pathsOf(subject, day))
      const answers = await askAll(paths.flat())
      let at = 0
      return wanted.map(({ subject, day }, index): SubjectDay => {
        const own = answers.slice(at, at + (paths[index]?.length ?? 0))
        at += own.length
        const bodies = own.map((one) => (one.status < 300 ? one.body : null))
        return subject.kind === 'physical'
          ? physicalDay(subject, day, bodies)
          : virtualDay(subject, day, bodies, own[0]?.etag ?? '')
      })
    },
    enabled: subjects.length > 0,
  })
}

function pathsOf(subject: Subject, day: Day): string[] {
  const span = spanOf(day)
  if (subject.kind === 'physical') {
    const path = `/physical-assets/${subject.id}`
    const query = new URLSearchParams({ start: instant(span.start), end: instant(span.end) })
    return [
      `${path}/ancillary/bids?delivery-day=${day}&limit=1000`,
      `${path}/commitments?${query}`,
      `${path}/ancillary/results?delivery-day=${day}&limit=1000`,
    ]
  }
  const { asset } = subject
  const start = instant(Math.max(span.start, Date.parse(asset.start)))
  const end = instant(Math.min(span.end, Date.parse(asset.end)))
  return [
    `${pathOf(asset)}/markets?delivery-day=${day}`,
    `${pathOf(asset)}/schedule?${new URLSearchParams({ start, end })}`,
    `/organisations/${asset.organisationID}/orders?delivery-day=${day}&limit=1000`,
  ]
}

const SHOWN = ['OFFERED', 'ACCEPTED', 'REJECTED']

function physicalDay(subject: Subject, day: Day, [entries, book, results]: unknown[]): SubjectDay {
  const paid = new Map(
    ((results ?? []) as Result[]).flatMap((entry) =>
      entry.results.map((one) => [one.bidID, one.settlementPrice === undefined ? null : Number(one.settlementPrice)]),
    ),
  )
  const bids = new Map<string, Bid[]>()
  for (const { product, bids: own } of (entries ?? []) as Entry[]) {
    const shown = own.filter((one) => SHOWN.includes(one.status))
    if (isBlock(product) && shown.length > 0)
      bids.set(
        product,
        shown.map((one) => ({
          id: one.id,
          status: one.status,
          capacity: one.offeredCapacity / 1000,
          price: Number(one.capacityPrice),
          energyPrice: one.energyPrice === undefined ? null : Number(one.energyPrice),
          accepted: one.acceptedCapacity === undefined ? null : one.acceptedCapacity / 1000,
          paid: paid.get(one.id) ?? null,
        })),
      )
  }
  const { commitments = [] } = (book ?? {}) as { commitments?: Commitment[] }
  return { subject, day, bids, blocks: blocksOf(commitments, day), etag: '', orders: [] }
}

/** Of each block the quarter-hour in which least is free, direction by direction. */
export function blocksOf(commitments: readonly Commitment[], day: Day): Block[] {
  return BLOCKS.flatMap((hour) => {
    const { start, end } = spanOfBlock(day, hour)
    const own = commitments.filter((one) => Date.parse(one.time) >= start && Date.parse(one.time) < end)
    if (own.length === 0) return []
    const least = (of: 'charge' | 'discharge') => own.reduce((a, b) => (b[of].free < a[of].free ? b : a))
    return [
      {
        hour,
        up: heldOf(least('discharge'), 'discharge'),
        down: heldOf(least('charge'), 'charge'),
        freeEnergy: Math.min(...own.map((one) => one.energy.free)) / 1000,
      },
    ]
  })
}

function heldOf(one: Commitment, of: 'charge' | 'discharge'): Held {
  const amount = one[of]
  const sign = of === 'discharge' ? 1 : -1
  const layers = new Map<string, Held['layers'][number]>()
  const add = (label: string, kind: Held['layers'][number]['kind'], power: number) => {
    const known = layers.get(label)
    if (power > 0) layers.set(label, { label, kind, power: (known?.power ?? 0) + power / 1000 })
  }
  const holders = (one.holders ?? []).filter((holder) => holder.power * sign > 0 && holder.virtualAssetID)
  for (const holder of holders) add(holder.organisationName ?? 'Virtual batteries', 'virtual', Math.abs(holder.power))
  const named = holders.reduce((sum, holder) => sum + Math.abs(holder.power), 0)
  add('Virtual batteries', 'virtual', amount.promised - named)
  add('Auctions', 'auction', amount.offered)
  add('Own schedule', 'own', amount.ownSchedule)
  add(
    'Reserve',
    'reserve',
    Object.values(amount.ancillary).reduce((sum, kw) => sum + kw, 0),
  )
  return {
    rated: amount.rated / 1000,
    free: Math.max(0, amount.free) / 1000,
    lost: Math.max(0, amount.rated - amount.available) / 1000,
    layers: [...layers.values()],
  }
}

interface Scheduled {
  schedule: { time: string; power: number }[]
  powerCapacity: { time: string; chargePowerCapacity: number; dischargePowerCapacity: number }[]
}

function virtualDay(subject: Subject & { kind: 'virtual' }, day: Day, bodies: unknown[], etag: string): SubjectDay {
  const [, scheduled, all] = bodies as [unknown, Scheduled | null, Order[] | null]
  const orders = (all ?? []).filter(
    (one) => one.virtualAssetID === subject.id && one.status !== 'CANCELLED' && one.reserves?.length,
  )
  const bids = new Map<string, Bid[]>()
  for (const order of orders)
    for (const one of order.reserves ?? [])
      bids.set(one.product, [
        {
          id: order.id,
          status:
            order.status === 'STANDING' || order.status === 'OVERDUE'
              ? 'OFFERED'
              : one.acceptedCapacity
                ? 'ACCEPTED'
                : 'REJECTED',
          capacity: one.capacity / 1000,
          price: Number(one.capacityPrice),
          energyPrice: one.energyPrice === undefined ? null : Number(one.energyPrice),
          accepted: one.acceptedCapacity === undefined ? null : one.acceptedCapacity / 1000,
          paid: one.price === undefined ? null : Number(one.price),
        },
      ])
  return { subject, day, bids, blocks: scheduled ? virtualBlocks(subject.asset, scheduled, day) : [], etag, orders }
}

function virtualBlocks(asset: VirtualAsset, { schedule, powerCapacity }: Scheduled, day: Day): Block[] {
  const powers = new Map(schedule.map((one) => [Date.parse(one.time), one.power]))
  return BLOCKS.flatMap((hour) => {
    const { start, end } = spanOfBlock(day, hour)
    const own = powerCapacity.filter((one) => Date.parse(one.time) >= start && Date.parse(one.time) < end)
    // A product is delivered throughout its block, within the battery's life.
    if (own.length * QUARTER_MS < end - start) return []
    const heldUp = Math.max(0, ...own.map((one) => powers.get(Date.parse(one.time)) ?? 0))
    const heldDown = Math.max(0, ...own.map((one) => -(powers.get(Date.parse(one.time)) ?? 0)))
    const [up, down] = [
      Math.min(...own.map((one) => one.dischargePowerCapacity)),
      Math.min(...own.map((one) => one.chargePowerCapacity)),
    ]
    const held = (rated: number, there: number, used: number): Held => ({
      rated: rated / 1000,
      free: Math.max(0, there - used) / 1000,
      lost: Math.max(0, rated - there) / 1000,
      layers: used > 0 ? [{ label: 'Schedule', kind: 'own', power: used / 1000 }] : [],
    })
    return [
      {
        hour,
        up: held(asset.ratedDischargePower, up, heldUp),
        down: held(asset.ratedChargePower, down, heldDown),
        freeEnergy: asset.energyCapacity / 1000,
      },
    ]
  })
}

const SERIES = { NEGPOS: 'FCR_DE', POS: 'AFRR_CAPACITY_POS_DE_MARGINAL', NEG: 'AFRR_CAPACITY_NEG_DE_MARGINAL' }
export const PAST_DAYS = 30

/** By product, the days before as they cleared, oldest first: FCR for the whole block, aFRR by the hour. */
export function useCleared(until: Day) {
  return useQuery({
    queryKey: ['reference-prices', 'cleared', until],
    queryFn: async () => {
      const span = { start: spanOf(addDays(until, -PAST_DAYS)).start, end: spanOf(until).start }
      const query = { start: instant(span.start), end: instant(span.end), limit: '1000' }
      const found = new Map<string, Past>()
      const lists = await Promise.all(
        Object.values(SERIES).map((series) =>
          allPages<Schemas['ReferencePrice']>(`/reference-prices?${new URLSearchParams({ series, ...query })}`),
        ),
      )
      Object.keys(SERIES).forEach((code, index) => {
        for (const row of lists[index] ?? []) addCleared(found, code, row)
      })
      return found
    },
    enabled: useMay('Read:revenue'),
    staleTime: 10 * 60_000,
    retry: false,
  })
}

/** Published prices are by the hour; a bid for FCR names the whole block's. */
export function addCleared(
  found: Map<string, Past>,
  code: string,
  row: { start: string; end: string; price: unknown },
) {
  const [start, end] = [Date.parse(row.start), Date.parse(row.end)]
  const wall = wallAt(start)
  if (wall.hour % 4 !== 0 || wall.minute !== 0) return
  const product = productOf(code, wall.hour)
  const hours = code === 'NEGPOS' ? (end - start) / HOUR_MS : 1
  const day = `${wall.year}-${String(wall.month).padStart(2, '0')}-${String(wall.day).padStart(2, '0')}`
  found.set(product, [...(found.get(product) ?? []), { day, price: Number(row.price) * hours }])
}

export interface Record30 {
  accepted: number
  decided: number
}

/** Of the bids whose delivery was in the last thirty days, those that were accepted, in whole or in part. */
export function useRecord(subject: Subject | undefined, today: Day) {
  const id = subject?.kind === 'physical' ? subject.id : ''
  return useQuery({
    queryKey: ['physical-assets', id, 'bids-record', today],
    queryFn: async (): Promise<Record30> => {
      const since = addDays(today, -PAST_DAYS)
      const entries = await allPages<Entry>(`/physical-assets/${id}/ancillary/bids?limit=1000`, 3000)
      const decided = entries
        .filter((one) => isBlock(one.product) && one.deliveryDay >= since && one.deliveryDay <= today)
        .flatMap((one) => one.bids)
        .filter((one) => one.status === 'ACCEPTED' || one.status === 'REJECTED')
      return { accepted: decided.filter((one) => one.status === 'ACCEPTED').length, decided: decided.length }
    },
    enabled: id !== '',
    staleTime: 60_000,
  })
}

export async function withdraw(id: string, bid: string): Promise<void> {
  await ask(`/physical-assets/${id}/ancillary/bids/${bid}`, { method: 'DELETE' })
}
