/** Market days: calendar days in Berlin, of 23, 24 or 25 hours, in quarter-hours named by their start. */

export const QUARTER_MS = 15 * 60 * 1000
export const HOUR_MS = 60 * 60 * 1000
export const MARKET_ZONE = 'Europe/Berlin'

export type Zone = 'Europe/Berlin' | 'UTC'
/** A calendar day, `2026-10-25`. */
export type Day = string

interface Wall {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

const readers = new Map<string, Intl.DateTimeFormat>()

function readerOf(zone: string): Intl.DateTimeFormat {
  let reader = readers.get(zone)
  if (!reader) {
    reader = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    })
    readers.set(zone, reader)
  }
  return reader
}

/** What a clock on the wall shows at a moment. */
export function wallAt(ms: number, zone: string = MARKET_ZONE): Wall {
  const shown = new Date(ms + offsetAt(ms, zone))
  return {
    year: shown.getUTCFullYear(),
    month: shown.getUTCMonth() + 1,
    day: shown.getUTCDate(),
    hour: shown.getUTCHours(),
    minute: shown.getUTCMinutes(),
    second: shown.getUTCSeconds(),
  }
}

/** By zone and hour of UTC. The browser takes some 20 µs for each, and a screen asks for thousands. */
const offsets = new Map<string, Map<number, number>>()
const DAY_HOURS = 24

/** How far a zone's clocks are ahead of UTC at a moment; they are changed at whole hours. */
export function offsetAt(ms: number, zone: string = MARKET_ZONE): number {
  if (zone === 'UTC') return 0
  const hour = Math.floor(ms / HOUR_MS)
  const midnight = hour - (hour % DAY_HOURS)
  const before = readOffset(midnight, zone)
  // On a day at whose ends the clocks differ from UTC by as much, they were not changed.
  return readOffset(midnight + DAY_HOURS, zone) === before ? before : readOffset(hour, zone)
}

function readOffset(hour: number, zone: string): number {
  let known = offsets.get(zone)
  if (!known) {
    known = new Map()
    offsets.set(zone, known)
  }
  let offset = known.get(hour)
  if (offset === undefined) {
    const found: Record<string, number> = {}
    for (const { type, value } of readerOf(zone).formatToParts(hour * HOUR_MS)) found[type] = Number(value)
    const { year, month, day, hour: shown, minute, second } = found as unknown as Wall
    offset = Date.UTC(year, month - 1, day, shown, minute, second) - hour * HOUR_MS
    known.set(hour, offset)
  }
  return offset
}

/** The moment at which a zone's clocks first show this. */
export function momentOf(day: Day, minutes = 0, zone: string = MARKET_ZONE): number {
  const shown = Date.parse(`${day}T00:00:00Z`) + minutes * 60_000
  const early = shown - offsetAt(shown - 24 * HOUR_MS, zone)
  const late = shown - offsetAt(shown + 24 * HOUR_MS, zone)
  for (const moment of [Math.min(early, late), Math.max(early, late)]) {
    if (moment + offsetAt(moment, zone) === shown) return moment
  }
  return Math.max(early, late) // what the clocks skip in spring: the moment after
}

export function dayOf(ms: number, zone: string = MARKET_ZONE): Day {
  const wall = wallAt(ms, zone)
  return `${wall.year}-${two(wall.month)}-${two(wall.day)}`
}

export function addDays(day: Day, days: number): Day {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 24 * HOUR_MS).toISOString().slice(0, 10)
}

/** The day that a text of an address names, `2026-11-17`; null for any other text. */
export function dayFrom(text: string | null | undefined): Day | null {
  if (!text || !/^\d{4}-\d\d-\d\d$/.test(text)) return null
  const at = Date.parse(`${text}T00:00:00Z`)
  // There is no 30 February, though some browsers read one.
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text ? null : text
}

export interface Span {
  start: number
  end: number
}

export function spanOf(day: Day, zone: string = MARKET_ZONE): Span {
  return { start: momentOf(day, 0, zone), end: momentOf(addDays(day, 1), 0, zone) }
}

/** The starts of a day's quarter-hours: 92, 96 or 100. */
export function quartersOf(day: Day, zone: string = MARKET_ZONE): number[] {
  const { start, end } = spanOf(day, zone)
  return Array.from({ length: Math.round((end - start) / QUARTER_MS) }, (_, index) => start + index * QUARTER_MS)
}

export interface MarketHour {
  /** When it starts. */
  start: number
  /** What the clock shows, 0 to 23. */
  hour: number
  /** `02A` and `02B` for the hour that autumn repeats. */
  label: string
}

/** A day's hours in order: the repeated one twice, the skipped one not at all. */
export function hoursOf(day: Day, zone: string = MARKET_ZONE): MarketHour[] {
  const { start, end } = spanOf(day, zone)
  const hours: MarketHour[] = []
  for (let moment = start; moment < end; moment += HOUR_MS) {
    const { hour } = wallAt(moment, zone)
    hours.push({ start: moment, hour, label: two(hour) })
  }
  hours.forEach((one, index) => {
    const next = hours[index + 1]
    if (next && next.hour === one.hour) {
      one.label = `${two(one.hour)}A`
      next.label = `${two(one.hour)}B`
    }
  })
  return hours
}

export function quarterAt(ms: number): number {
  return Math.floor(ms / QUARTER_MS) * QUARTER_MS
}

export function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** RFC 3339 in UTC, whole seconds. */
export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
