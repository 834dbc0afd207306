import { describe, expect, test } from 'bun:test'
import { age, countdown, dayRange, momentFrom, nearTime, readable, timeMs, weekdayTime } from './words'

const at = (text: string) => Date.parse(text)

describe('a countdown', () => {
  test('is shorter the further away', () => {
    expect(countdown(694_000)).toBe('11:34')
    expect(countdown(5_194_000)).toBe('1:26:34')
    expect(countdown(27.4 * 3_600_000)).toBe('27 h')
    expect(countdown(61 * 3_600_000)).toBe('2 d 13 h')
    expect(countdown(-5)).toBe('00:00')
  })
})

describe('a span of days', () => {
  test('names the last day that it touches', () => {
    expect(dayRange(at('2026-11-18T23:00:00Z'), at('2026-11-25T23:00:00Z'), 'Europe/Berlin')).toBe('19–25 Nov')
    expect(dayRange(at('2026-11-17T23:00:00Z'), at('2026-11-18T23:00:00Z'), 'Europe/Berlin')).toBe('18 Nov')
    expect(dayRange(at('2026-10-29T23:00:00Z'), at('2026-11-01T23:00:00Z'), 'Europe/Berlin')).toBe('30 Oct–1 Nov')
  })
})

describe('a time', () => {
  test('is told in the zone that was chosen', () => {
    const moment = at('2026-11-16T09:31:07.482Z')
    expect(timeMs(moment, 'Europe/Berlin')).toBe('10:31:07.482')
    expect(timeMs(moment, 'UTC')).toBe('09:31:07.482')
    expect(weekdayTime(moment, 'Europe/Berlin')).toBe('Mon 16 Nov 10:31')
    expect(nearTime(moment, moment + 3_600_000, 'Europe/Berlin')).toBe('Today 10:31')
  })

  test('has an age', () => {
    expect(age(2_400)).toBe('2 s')
    expect(age(12 * 60_000)).toBe('12 min')
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
