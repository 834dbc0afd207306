import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { datedAt, latestOfEach, runsOf, titleInWords, withoutIDs } = await import('./data')

describe('runs', () => {
  test('join what stays the same and end where the next begins', () => {
    const points = [
      { time: 0, value: 40 },
      { time: 15, value: 40 },
      { time: 30, value: 32 },
      { time: 45, value: 40 },
    ]
    expect(runsOf(points, 60, (a, b) => a === b)).toEqual([
      { start: 0, end: 30, value: 40 },
      { start: 30, end: 45, value: 32 },
      { start: 45, end: 60, value: 40 },
    ])
  })
})

describe('the logbook', () => {
  test('is read by people: products by their names, and no ids', () => {
    expect(titleInWords('2026-10-25_NEGPOS_20_24 accepted')).toBe('FCR 20–24 on Sun, 25 Oct 2026 accepted')
    expect(titleInWords('Fire drill')).toBe('Fire drill')
    expect(titleInWords('Unavailability created: GRID_CONSTRAINT')).toBe('Unavailability created: grid constraint')
    const told = (text: string) => withoutIDs(text, 'Europe/Berlin')
    expect(told('2000 kW of the bid 01a1df93-1cb8-7254-998f-bb8355a1176f were accepted at 35.95 EUR/MW.')).toBe(
      '2000 kW were accepted at 35.95 EUR/MW.',
    )
    expect(told('9000 kW of charging are missing from 2026-11-18T07:00:00Z to 2026-11-18T15:00:00Z.')).toBe(
      '9000 kW of charging are missing from Wed 18 Nov 08:00 to Wed 18 Nov 16:00.',
    )
  })
})

test('an entry is dated when it starts, and one that lies ahead when it was written, never later than now', () => {
  const now = Date.parse('2026-11-16T10:00:00Z')
  const at = (start: string, createdAt: string) => new Date(datedAt({ start, createdAt }, now)).toISOString()
  expect(at('2026-11-16T08:00:00Z', '2026-11-16T09:00:00Z')).toBe('2026-11-16T08:00:00.000Z')
  expect(at('2026-11-16T10:00:00Z', '2026-11-16T09:00:00Z')).toBe('2026-11-16T10:00:00.000Z')
  expect(at('2026-11-17T08:00:00Z', '2026-11-16T09:00:00Z')).toBe('2026-11-16T09:00:00.000Z')
  expect(at('2026-11-17T08:00:00Z', '2026-11-16T10:00:05Z')).toBe('2026-11-16T10:00:00.000Z')
})

test('What a site said last of each quarter-hour is kept of a list that has the last first', () => {
  const said = (time: string, status: string) => ({ time, status, version: 1, at: time, recordedAt: time }) as never
  const list = [said('10:15', 'REJECTED'), said('10:15', 'RECEIVED'), said('10:00', 'APPLIED')]
  expect(latestOfEach(list).map(({ status }) => status)).toEqual(['REJECTED', 'APPLIED'])
})
