import { describe, expect, test } from 'bun:test'
import {
  age,
  countdown,
  dayRange,
  instantFrom,
  length,
  localInput,
  momentFrom,
  nearTime,
  readable,
  readMoment,
  spanInWords,
  timeMs,
  weekdayTime,
} from './words'

const at = (text: string) => Date.parse(text)

describe('a countdown', () => {
  test('is shorter the further away', () => {
    expect(countdown(694_000)).toBe('11 min 34 s')
    expect(countdown(5_194_000)).toBe('1 h 26 min')
    expect(countdown(27.4 * 3_600_000)).toBe('27 h')
    expect(countdown(61 * 3_600_000)).toBe('2 d 13 h')
    expect(countdown(-5)).toBe('0 s')
  })
})

describe('a span of days', () => {
  test('names the last day that it touches', () => {
    expect(dayRange(at('2026-11-18T23:00:00Z'), at('2026-11-25T23:00:00Z'), 'Europe/Berlin')).toBe('19–25 Nov')
    expect(dayRange(at('2026-11-17T23:00:00Z'), at('2026-11-18T23:00:00Z'), 'Europe/Berlin')).toBe('18 Nov')
    expect(dayRange(at('2026-10-29T23:00:00Z'), at('2026-11-01T23:00:00Z'), 'Europe/Berlin')).toBe('30 Oct–1 Nov')
  })
})

describe('a window', () => {
  const window = (start: string, end: string) => [at(start), at(end)] as const

  test('is as long as its days, also where one has 25 hours, or as its hours', () => {
    expect(length(...window('2026-10-24T22:00:00Z', '2026-10-26T23:00:00Z'))).toBe('2 days')
    expect(length(...window('2026-11-16T23:00:00Z', '2026-11-18T23:00:00Z'))).toBe('2 days')
    expect(length(...window('2026-11-16T23:00:00Z', '2026-11-17T23:00:00Z'))).toBe('1 day')
    expect(length(...window('2026-11-16T23:00:00Z', '2026-11-18T11:00:00Z'))).toBe('36 h')
  })

  test('is told by the days that it touches', () => {
    const told = (start: string, end: string) => spanInWords(...window(start, end), 'Europe/Berlin')
    expect(told('2026-11-18T23:00:00Z', '2026-11-19T23:00:00Z')).toBe('on Thu 19 Nov')
    expect(told('2026-11-18T23:00:00Z', '2026-11-25T23:00:00Z')).toBe('from Thu 19 Nov to Wed 25 Nov')
  })
})

describe('a time', () => {
  test('is told in the zone that was chosen', () => {
    const moment = at('2026-11-16T09:31:07.482Z')
    expect(timeMs(moment, 'Europe/Berlin')).toBe('10:31:07.482')
    expect(timeMs(moment, 'UTC')).toBe('09:31:07.482')
    expect(weekdayTime(moment, 'Europe/Berlin')).toBe('Mon 16 Nov 10:31')
    expect(nearTime(moment, moment + 3_600_000, 'Europe/Berlin')).toBe('Today 10:31')
    expect(nearTime(moment, moment + 3 * 86_400_000, 'Europe/Berlin')).toBe('Mon 10:31')
    expect(nearTime(moment, moment + 6 * 86_400_000, 'Europe/Berlin')).toBe('16 Nov 10:31')
    expect(nearTime(at('2027-11-16T09:31:07Z'), moment, 'Europe/Berlin')).toBe('16 Nov 2027')
  })

  test('has an age', () => {
    expect(age(2_400)).toBe('2 s')
    expect(age(59_499)).toBe('59 s')
    expect(age(60_000)).toBe('1 min')
    expect(age(12 * 60_000)).toBe('12 min')
    expect(age(47.9 * 3_600_000)).toBe('47 h')
    expect(age(48 * 3_600_000)).toBe('2 d')
  })
})

test('a typed moment is read, whatever separates its day from its time', () => {
  const eight = Date.parse('2026-11-17T07:00:00Z')
  expect(momentFrom('2026-11-17 08:00', 'Europe/Berlin')).toBe(eight)
  expect(momentFrom('2026-11-17T08:00', 'Europe/Berlin')).toBe(eight)
  expect(momentFrom('17.11.2026 08:00', 'Europe/Berlin')).toBe(0)
  expect(momentFrom('2026-11-17 8 pm', 'Europe/Berlin')).toBe(0)
})

test('a sentence of the service tells its moments by the reader’s clock', () => {
  expect(readable('The gate of 2026-11-17T07:00:00Z has closed.', 'Europe/Berlin')).toBe(
    'The gate of Tue 17 Nov 08:00 has closed.',
  )
})

test('a day that there is not names no moment, and breaks nothing while it is typed', () => {
  for (const text of ['2026-13-01 08:00', '2026-11-35', '2026-02-30 08:00', '2026-00-10', '20.11.2026 08:00', ''])
    for (const zone of ['Europe/Berlin', 'UTC'] as const) expect(momentFrom(text, zone)).toBe(0)
})

test('an hour that autumn repeats is chosen, and one that spring skips is refused', () => {
  const at = (text: string) => readMoment(text, 'Europe/Berlin')
  expect(at('2026-10-25 02:30').fault).toContain('02:30 comes twice on this day: write 02A:30 or 02B:30.')
  expect([at('2026-10-25 02A:30').ms, at('2026-10-25 02b:30').ms]).toEqual([
    Date.parse('2026-10-25T00:30:00Z'),
    Date.parse('2026-10-25T01:30:00Z'),
  ])
  expect(at('2026-10-25 03A:30').fault).toContain('comes once')
  expect(at('2027-03-28 02:30').fault).toContain('The clocks skip 02:30')
  expect(at('2026-10-25 24:00').ms).toBe(Date.parse('2026-10-25T23:00:00Z'))
  expect(localInput(Date.parse('2026-10-25T01:30:00Z'), 'Europe/Berlin')).toBe('2026-10-25 02B:30')
  expect(readMoment('2026-10-25 02:30', 'UTC').ms).toBe(Date.parse('2026-10-25T02:30:00Z'))
})

test('what is typed is sent, and what was not touched as it was stored', () => {
  const stored = '2026-10-25T01:30:20Z'
  expect(instantFrom('2026-10-25 02B:30', stored, 'Europe/Berlin')).toBe(stored)
  expect(instantFrom('2026-10-25 02A:45', stored, 'Europe/Berlin')).toBe('2026-10-25T00:45:00Z')
  expect(instantFrom('2026-10-25 02:30', stored, 'UTC')).toBe('2026-10-25T02:30:00Z')
})
