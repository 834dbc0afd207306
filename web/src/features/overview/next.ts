/** What happens next: gates of the market, auctions, and what is known to go missing. */
import type { Schemas } from '../../shared/api/client'
import { size } from '../../shared/format'
import { addDays, dayOf, momentOf, QUARTER_MS, quarterAt } from '../../shared/time/marketDay'
import type { Auction } from '../auctions/data'

export interface Coming {
  key: string
  time: number
  title: string
  note: string
  tone: 'brand' | 'quiet' | 'fcr' | 'warning'
}

const GATES = [
  { title: 'FCR gate', minutes: 8 * 60 },
  { title: 'aFRR capacity gate', minutes: 9 * 60 },
  { title: 'Day-ahead gate', minutes: 12 * 60 },
  { title: 'Intraday auction 1', minutes: 15 * 60 },
]

export interface Sources {
  auctions: Auction[]
  unavailabilities: { name: string; item: Schemas['Unavailability'] }[]
  hasBatteries: boolean
  /** Seconds before a quarter-hour at which its plan is final. */
  gateSeconds: number
  tellDay: (ms: number) => string
  tellSpan: (start: number, end: number) => string
}

export function comingOf(sources: Sources, now: number, most = 11): Coming[] {
  const all = [
    ...dispatchGate(sources, now),
    ...marketGates(sources, now),
    ...fromAuctions(sources, now),
    ...outages(sources, now),
  ]
  return all.sort((a, b) => a.time - b.time).slice(0, most)
}

/** The next quarter-hour whose plan can still be changed, and until when. firstStart: where delivery begins. */
export function nextGate(now: number, gateSeconds: number, firstStart = 0): { gate: number; start: number } {
  let start = Math.max(quarterAt(now) + QUARTER_MS, quarterAt(firstStart))
  while (start - gateSeconds * 1000 <= now) start += QUARTER_MS
  return { gate: start - gateSeconds * 1000, start }
}

function dispatchGate({ hasBatteries, gateSeconds, tellSpan }: Sources, now: number): Coming[] {
  if (!hasBatteries) return []
  const { gate, start } = nextGate(now, gateSeconds)
  return [
    {
      key: 'gate',
      time: gate,
      title: 'Dispatch gate',
      note: `for ${tellSpan(start, start + QUARTER_MS)}, all batteries`,
      tone: 'quiet',
    },
  ]
}

function marketGates({ tellDay }: Sources, now: number): Coming[] {
  const today = dayOf(now)
  return [today, addDays(today, 1)].flatMap((day) =>
    GATES.map(({ title, minutes }) => ({
      key: `${title}-${day}`,
      time: momentOf(day, minutes),
      title,
      note: `delivery ${tellDay(momentOf(addDays(day, 1)))}`,
      tone: 'quiet' as const,
    })).filter((gate) => gate.time > now),
  )
}

function fromAuctions({ auctions }: Sources, now: number): Coming[] {
  return auctions.flatMap((one) => {
    const what = `${size(one.item.ratedDischargePower, one.item.energyCapacity)} ${one.item.deliveryZone}`
    const opens = Date.parse(one.start)
    const closes = Date.parse(one.end)
    if (opens > now)
      return [{ key: `opens-${one.id}`, time: opens, title: 'Auction opens', note: what, tone: 'brand' as const }]
    if (closes > now)
      return [{ key: `closes-${one.id}`, time: closes, title: 'Auction closes', note: what, tone: 'brand' as const }]
    return []
  })
}

function outages({ unavailabilities }: Sources, now: number): Coming[] {
  return unavailabilities.flatMap(({ name, item }) => {
    const start = Date.parse(item.start)
    const end = Date.parse(item.end)
    const what = `${name}, ${item.description}`
    if (start > now)
      return [
        { key: `starts-${item.id}`, time: start, title: 'Unavailable from', note: what, tone: 'warning' as const },
      ]
    if (end > now)
      return [{ key: `ends-${item.id}`, time: end, title: 'Available again', note: what, tone: 'warning' as const }]
    return []
  })
}
