/** What needs the reader, by deadline: computed from what the service answers, and from nothing else. */
import type { Health, PhysicalAsset, VirtualAsset } from '../../shared/api/resources'
import { isBalanced } from '../../shared/balance'
import { decimal, euro, percent, size } from '../../shared/format'
import { addDays, dayOf, momentOf } from '../../shared/time/marketDay'
import type { Auction } from '../auctions/data'
import type { Need } from './need'
import type { Operations } from './operator'
import { conflictNeeds, operatorNeeds } from './operatorNeeds'

export interface Cut {
  asset: VirtualAsset
  time: number
  from: number
  to: number
  reason: string
}

export interface Known {
  auctions: Auction[]
  /** EUR, of those auctions of which it is known. */
  medians: Map<string, number>
  virtual: VirtualAsset[]
  cuts: Cut[]
  /** Who delivers tomorrow and has no plan for it. */
  idle: VirtualAsset[]
  physical: PhysicalAsset[]
  health: Map<string, Health>
  mayBid: boolean
  /** While the sandbox plays its history, telemetry is behind the clock and nothing is stale. */
  isPlaying?: boolean
  /** For the operator. */
  operations?: Operations | null
}

const URGENT_MS = 15 * 60_000

export function needsOf(known: Known, now: number, tellTime: (ms: number) => string): Need[] {
  const needs = [
    ...auctionNeeds(known, now, tellTime),
    ...planNeeds(known, now, tellTime),
    ...balanceNeeds(known, now, tellTime),
    ...cutNeeds(known, now, tellTime),
    ...conflictNeeds(known, now, tellTime),
    ...(known.operations ? operatorNeeds({ ...known, operations: known.operations }, now, tellTime) : []),
    ...(known.isPlaying ? [] : healthNeeds(known, tellTime)),
  ]
  return needs.sort(byUrgency)
}

/** By deadline; what has none comes last, the oldest first. */
function byUrgency(a: Need, b: Need): number {
  const late = Number.MAX_SAFE_INTEGER
  return (a.deadline ?? late) - (b.deadline ?? late) || (a.since ?? late) - (b.since ?? late) || 0
}

function auctionNeeds({ auctions, medians, mayBid }: Known, now: number, tellTime: (ms: number) => string): Need[] {
  if (!mayBid) return []
  return auctions
    .filter((one) => Date.parse(one.start) <= now && now < Date.parse(one.end))
    .map((one) => {
      const end = Date.parse(one.end)
      const bid = one.currentBid
      return {
        key: one.id,
        deadline: end,
        what: `closes ${tellTime(end)}`,
        icon: 'auction' as const,
        tone: end - now < URGENT_MS ? ('danger' as const) : ('warning' as const),
        title: `Auction **${size(one.item.ratedDischargePower, one.item.energyCapacity)} ${one.item.deliveryZone}** closes`,
        note: bidInWords(bid?.price, medians.get(one.id)),
        action: bid ? 'Raise bid' : 'Bid',
        to: `/auctions/${one.id}`,
      }
    })
}

function bidInWords(price: number | undefined, median: number | undefined): string {
  if (price === undefined)
    return `No bid of yours stands${median === undefined ? '' : `, the median value is ${euro(median, 0)}`}`
  const stands = `Your bid ${euro(price)} stands`
  if (median === undefined) return stands
  const off = Math.round(price - median)
  if (off === 0) return `${stands}, at the median value`
  return `${stands}, ${euro(Math.abs(off), 0)} ${off < 0 ? 'below' : 'above'} the median value`
}

/** The open ones that close first: those whose worth the reader wants to know. */
export function closingFirst(auctions: Auction[], now: number, most: number): string[] {
  return auctions
    .filter((one) => Date.parse(one.start) <= now && now < Date.parse(one.end))
    .sort((a, b) => Date.parse(a.end) - Date.parse(b.end))
    .slice(0, most)
    .map((one) => one.id)
}

const DAY_AHEAD_GATE_MINUTES = 12 * 60

/** One line for all of them: they are planned one after the other before the same gate. */
function planNeeds({ idle }: Known, now: number, tellTime: (ms: number) => string): Need[] {
  const gate = momentOf(dayOf(now), DAY_AHEAD_GATE_MINUTES)
  const first = idle[0]
  if (!first || gate <= now) return []
  const names = idle.slice(0, 2).map((one) => `**${one.name}**`)
  const rest = idle.length - names.length
  const who = rest > 0 ? `${names.join(', ')} and ${rest} more` : names.join(' and ')
  return [
    {
      key: 'plan',
      deadline: gate,
      what: `gate ${tellTime(gate)}`,
      icon: 'clock' as const,
      tone: 'warning' as const,
      title: `Day-ahead: ${who} ${idle.length === 1 ? 'has' : 'have'} no plan for tomorrow`,
      note: 'Until the gate, what they sell can still be offered day-ahead',
      action: idle.length === 1 ? 'Plan it' : 'Plan them',
      to: `/virtual-batteries/${first.id}/${addDays(dayOf(now), 1)}`,
    },
  ]
}

function balanceNeeds({ virtual }: Known, now: number, tellTime: (ms: number) => string): Need[] {
  return virtual.flatMap((one) => {
    const gate = Date.parse(one.end) - 15 * 60_000 - one.dispatchGateClosureSeconds * 1000
    const off = Math.max(one.imbalanceCharge, one.imbalanceDischarge)
    if (gate <= now || isBalanced(one, off)) return []
    const word = one.imbalanceCharge > 0 ? 'short of' : 'above'
    return [
      {
        key: `balance-${one.id}`,
        deadline: gate,
        what: `gate ${tellTime(gate)}`,
        icon: 'scales' as const,
        tone: 'warning' as const,
        title: `**${one.name}** ends ${decimal(off / 1000, 2)} MWh ${word} 50 %`,
        note: `The plan ends at ${decimal(one.endStateOfChargePercentage, 1)} %, the tolerance is ± ${percent(one.finalSoCTolerance)}`,
        action: 'Balance',
        to: `/virtual-batteries/${one.id}`,
      },
    ]
  })
}

function cutNeeds({ cuts }: Known, now: number, tellTime: (ms: number) => string): Need[] {
  const firsts = new Map<string, Cut>()
  for (const cut of cuts) {
    const known = firsts.get(cut.asset.id)
    if (!known || cut.time < known.time) firsts.set(cut.asset.id, cut)
  }
  return [...firsts.values()].flatMap((cut) => {
    const gate = cut.time - cut.asset.dispatchGateClosureSeconds * 1000
    if (gate <= now) return []
    const lost = cuts
      .filter((one) => one.asset.id === cut.asset.id)
      .reduce((sum, one) => sum + Math.abs(one.from - one.to) / 4, 0)
    return [
      {
        key: `cut-${cut.asset.id}`,
        deadline: gate,
        what: `gate ${tellTime(gate)}`,
        icon: 'cut' as const,
        tone: 'warning' as const,
        title: `Expected cut on **${cut.asset.name}** from ${tellTime(cut.time)}`,
        note: `${reasonInWords(cut.reason)}: ${decimal(cut.from / 1000, 1)} → ${decimal(cut.to / 1000, 1)} MW, ${decimal(lost / 1000, 1)} MWh less`,
        action: 'Repair plan',
        to: `/virtual-batteries/${cut.asset.id}`,
      },
    ]
  })
}

function reasonInWords(reason: string): string {
  const words: Record<string, string> = {
    AVAILABILITY: 'A backing battery has less to give',
    CYCLE_LIMIT: 'The daily cycles are used up',
    STATE_OF_ENERGY_BOUNDARIES: 'The store would be empty or full',
  }
  return words[reason] ?? reason
}

function healthNeeds({ physical, health }: Known, tellTime: (ms: number) => string): Need[] {
  return physical.flatMap((one) => {
    const found = health.get(one.id)
    const isSilent = (check: Health['checks'][number]) =>
      check.name === 'TELEMETRY' && check.status === 'UNKNOWN' && Boolean(found?.lastTelemetryAt)
    // What does not fit is told with its figures.
    const isTold = (check: Health['checks'][number]) => check.name === 'PROMISES' && found?.conflicts.length
    const fault = found?.checks.find(
      (check) => (['DOWN', 'DEGRADED'].includes(check.status) && !isTold(check)) || isSilent(check),
    )
    if (!found || !fault) return []
    const isTelemetry = fault.name === 'TELEMETRY'
    const since = found.lastTelemetryAt ? Date.parse(found.lastTelemetryAt) : null
    return [
      {
        key: `health-${one.id}`,
        deadline: null,
        since: isTelemetry ? since : null,
        what: isTelemetry && since ? `since ${tellTime(since)}` : found.status.toLowerCase(),
        icon: isTelemetry ? ('stale' as const) : ('outage' as const),
        tone: fault.status === 'DOWN' && !isTelemetry ? ('danger' as const) : ('quiet' as const),
        title: isTelemetry
          ? `Telemetry of **${one.name}** is stale`
          : `**${one.name}** is ${found.status.toLowerCase()}`,
        note: isTelemetry ? 'State of charge is projected until points return' : fault.detail,
        ...(isTelemetry ? {} : { figures: fault.figures }),
        action: fault.name === 'PROMISES' ? 'Conflicts' : 'Details',
        to: `/physical-assets/${one.id}${fault.name === 'PROMISES' ? '/conflicts' : ''}`,
      },
    ]
  })
}
