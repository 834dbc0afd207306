/** Times in words, in Berlin's or UTC's. */
import { type Day, dayFrom, dayOf, HOUR_MS, instant, momentOf, QUARTER_MS, type Zone } from './marketDay'

type Told = (ms: number, zone: Zone) => string

/** A way to write moments; what the browser makes for a zone is made once. */
function teller(options: Intl.DateTimeFormatOptions): Told {
  const made = new Map<Zone, Intl.DateTimeFormat>()
  return (ms, zone) => {
    let found = made.get(zone)
    if (!found) {
      found = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options })
      made.set(zone, found)
    }
    return found.format(ms)
  }
}

export const time = teller({ hour: '2-digit', minute: '2-digit' })
export const timeS = teller({ hour: '2-digit', minute: '2-digit', second: '2-digit' })
export const timeMs = (ms: number, zone: Zone) => `${timeS(ms, zone)}.${String(ms % 1000).padStart(3, '0')}`
/** `19 Nov` */
export const dayMonth = teller({ day: 'numeric', month: 'short' })
const longMonth = teller({ month: 'long', year: 'numeric' })
const dayNumber = teller({ day: 'numeric' })
const month = teller({ month: 'short' })
const dayName = teller({ weekday: 'short' })
const dayMonthYear = teller({ day: 'numeric', month: 'short', year: 'numeric' })
const namedDay = teller({ weekday: 'short', day: 'numeric', month: 'short' })
/** `Thu 19 Nov` */
export const weekday = (ms: number, zone: Zone) => namedDay(ms, zone).replace(',', '')
/** `Mon, 16 Nov 2026` */
export const longDay = (ms: number, zone: Zone) => `${dayName(ms, zone)}, ${dayMonthYear(ms, zone)}`
/** `Thu 19 Nov 00:00` */
export const weekdayTime = (ms: number, zone: Zone) => `${weekday(ms, zone)} ${time(ms, zone)}`

/** `Today 08:04`, `Fri 07:40` within a week, else `6 Nov 07:40`; of another year `6 Nov 2027`. */
export function nearTime(ms: number, now: number, zone: Zone): string {
  const at = time(ms, zone)
  if (dayOf(ms, zone) === dayOf(now, zone)) return `Today ${at}`
  if (Math.abs(now - ms) < 6 * 24 * HOUR_MS) return `${dayName(ms, zone)} ${at}`
  if (dayOf(ms, zone).slice(0, 4) !== dayOf(now, zone).slice(0, 4)) return dayMonthYear(ms, zone)
  return `${dayMonth(ms, zone)} ${at}`
}

/** `18:00–18:15`, by its start. */
export const quarter = (ms: number, zone: Zone): string => `${time(ms, zone)}–${time(ms + QUARTER_MS, zone)}`

/** `19–25 Nov`: the days that a half-open span touches. */
export function dayRange(start: number, end: number, zone: Zone): string {
  const last = end - 1
  if (dayOf(start, zone) === dayOf(last, zone)) return dayMonth(start, zone)
  const sameMonth = month(start, zone) === month(last, zone)
  const first = sameMonth ? dayNumber(start, zone) : dayMonth(start, zone)
  return `${first}–${dayMonth(last, zone)}`
}

/** `on Thu 19 Nov`, `from Thu 19 Nov to Wed 25 Nov`: the days that a half-open span touches. */
export function spanInWords(start: number, end: number, zone: Zone): string {
  const [first, last] = [weekday(start, zone), weekday(end - 1, zone)]
  return first === last ? `on ${first}` : `from ${first} to ${last}`
}

/** `41 s`, `13 min 41 s`, `1 h 26 min`, `27 h`, `2 d 13 h`: shorter the further away, and never like a time of day. */
export function countdown(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000))
  const [h, m, rest] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60), s % 60]
  if (h >= 48) return `${Math.floor(h / 24)} d ${h % 24} h`
  if (h >= 24) return `${h} h`
  if (h >= 1) return `${h} h ${m} min`
  return m >= 1 ? `${m} min ${rest} s` : `${rest} s`
}

/** `2 s`, `12 min`, `3 h`, `4 d` */
export function age(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`
  return `${Math.floor(s / 86400)} d`
}

/** `7 days`, `36 h` */
export function length(start: number, end: number): string {
  const hours = Math.round((end - start) / HOUR_MS)
  if (hours >= 48) {
    const days = Math.round(hours / 24)
    return `${days} days`
  }
  return hours === 24 ? '1 day' : `${hours} h`
}

/** A moment as it is typed: `2026-11-17 08:00`, the same whatever the browser's language; in a repeated hour `02A:30`. */
export function localInput(ms: number, zone: Zone): string {
  const [day, at] = [dayOf(ms, zone), time(ms, zone)]
  const shows = (other: number) => dayOf(other, zone) === day && time(other, zone) === at
  const letter = shows(ms + HOUR_MS) ? 'A' : shows(ms - HOUR_MS) ? 'B' : ''
  return `${day} ${at.slice(0, 2)}${letter}${at.slice(2)}`
}

export type TypedMoment = { ms: number; fault: null } | { ms: null; fault: string }

/** The moment that such a text names. The hour that autumn repeats is `02A` and `02B`, as in the table of a day. */
export function readMoment(text: string, zone: Zone): TypedMoment {
  const [date = '', clock = '00:00'] = text.trim().split(/[T ]+/)
  const day = dayFrom(date)
  const parts = /^([01]\d|2[0-4])([AB]?):([0-5]\d)$/i.exec(clock)
  if (day === null || !parts) return { ms: null, fault: 'Year, month, day and time, such as 2026-11-17 08:00.' }
  const [hour = '', letter = '', minute = ''] = parts.slice(1)
  const first = momentOf(day, Number(hour) * 60 + Number(minute), zone)
  const shown = `${hour}:${minute}`
  if (hour !== '24' && time(first, zone) !== shown)
    return { ms: null, fault: `The clocks skip ${shown} on this day: after 01:59 comes 03:00.` }
  const isTwice = time(first + HOUR_MS, zone) === shown
  if (isTwice && letter === '')
    return { ms: null, fault: `${shown} comes twice on this day: write ${hour}A:${minute} or ${hour}B:${minute}.` }
  if (!isTwice && letter !== '') return { ms: null, fault: `${shown} comes once on this day: write no ${letter}.` }
  return { ms: letter.toUpperCase() === 'B' ? first + HOUR_MS : first, fault: null }
}

/** 0 while the text names none. */
export const momentFrom = (text: string, zone: Zone): number => readMoment(text, zone).ms ?? 0

/** RFC 3339 of what is typed; what stands there as it was stored keeps its seconds and its place in a repeated hour. */
export function instantFrom(text: string, stored: string, zone: Zone): string {
  return text === localInput(Date.parse(stored), zone) ? stored : instant(momentFrom(text, zone))
}

export function dayInWords(day: Day): string {
  return longDay(Date.parse(`${day}T12:00:00Z`), 'UTC')
}

/** `2026-10` → `October 2026` */
export const monthInWords = (month: string): string => longMonth(Date.parse(`${month}-15T12:00:00Z`), 'UTC')

const MOMENT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/g

/** A sentence of the service with its moments as the reader's clock shows them. */
export function readable(sentence: string, zone: Zone): string {
  return sentence.replace(MOMENT, (moment) => weekdayTime(Date.parse(moment), zone))
}
