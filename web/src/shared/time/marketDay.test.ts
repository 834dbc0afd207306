import { describe, expect, test } from 'bun:test'
import { addDays, dayFrom, dayOf, hoursOf, instant, momentOf, quartersOf, spanOf, wallAt } from './marketDay'

describe('a market day', () => {
  test('has 96 quarter-hours, 92 in spring and 100 in autumn', () => {
    expect(quartersOf('2026-11-16')).toHaveLength(96)
    expect(quartersOf('2026-03-29')).toHaveLength(92)
    expect(quartersOf('2026-10-25')).toHaveLength(100)
  })

  test('starts at midnight in Berlin', () => {
    expect(instant(spanOf('2026-11-16').start)).toBe('2026-11-15T23:00:00Z')
    expect(instant(spanOf('2026-07-01').start)).toBe('2026-06-30T22:00:00Z')
  })

  test('meets the next one without gap or overlap, all year', () => {
    let day = '2026-01-01'
    for (let count = 0; count < 365; count += 1) {
      const next = addDays(day, 1)
      expect(spanOf(day).end).toBe(spanOf(next).start)
      expect(dayOf(spanOf(day).start)).toBe(day)
      expect(dayOf(spanOf(day).end - 1)).toBe(day)
      day = next
    }
  })

  test('of 25 hours names the repeated hour twice, of 23 skips one', () => {
    const autumn = hoursOf('2026-10-25').map((hour) => hour.label)
    expect(autumn).toHaveLength(25)
    expect(autumn.slice(1, 5)).toEqual(['01', '02A', '02B', '03'])
    const spring = hoursOf('2026-03-29').map((hour) => hour.label)
    expect(spring).toHaveLength(23)
    expect(spring.slice(1, 4)).toEqual(['01', '03', '04'])
  })

  test('is a plain day in UTC', () => {
    expect(quartersOf('2026-10-25', 'UTC')).toHaveLength(96)
  })
})

describe('a moment on the wall', () => {
  test('is read back as it was named', () => {
    for (const day of ['2026-01-15', '2026-03-29', '2026-10-25', '2026-07-01']) {
      for (const minutes of [0, 60, 8 * 60, 23 * 60 + 45]) {
        const wall = wallAt(momentOf(day, minutes))
        expect(wall.hour * 60 + wall.minute).toBe(minutes)
      }
    }
  })

  test('is the first of the two in autumn, and after the gap in spring', () => {
    expect(instant(momentOf('2026-10-25', 150))).toBe('2026-10-25T00:30:00Z')
    expect(wallAt(momentOf('2026-03-29', 150)).hour).toBe(3)
  })
})

test('an address names a day, or nothing', () => {
  expect(dayFrom('2026-11-17')).toBe('2026-11-17')
  for (const text of ['', null, undefined, 'today', '2026-13-01', '2026-02-30', '2026-11-17T00:00'])
    expect(dayFrom(text)).toBeNull()
})

test('what the wall shows is what the browser shows, all through two years', () => {
  const reader = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Berlin',
    hour: '2-digit',
    minute: '2-digit',
    day: '2-digit',
    hourCycle: 'h23',
  })
  const two = (value: number) => String(value).padStart(2, '0')
  for (let at = Date.parse('2025-12-31T22:00:00Z'); at < Date.parse('2027-12-31T00:00:00Z'); at += 6 * 900_000) {
    const { day, hour, minute } = wallAt(at)
    expect(`${two(day)}, ${two(hour)}:${two(minute)}`).toBe(reader.format(at))
  }
})
