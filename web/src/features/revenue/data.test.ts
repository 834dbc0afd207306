import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { bucketsOf, comparisonOf, cutStatement, keptOf, spanBefore, withoutPaid } = await import('./data')

describe('the buckets', () => {
  test('join the categories by time, in order', () => {
    const at = (time: string, value: number) => [{ time, value }]
    const buckets = bucketsOf({
      revenue_total_revenue: [...at('2026-11-02T23:00:00Z', 30), ...at('2026-11-01T23:00:00Z', 10)],
      revenue_fcr: at('2026-11-01T23:00:00Z', 4),
    })
    expect(buckets.map((bucket) => bucket.total)).toEqual([10, 30])
    expect(buckets[0]?.parts.revenue_fcr).toBe(4)
  })
})

test('what the holder of a battery pays for it is no part of what the battery earned', () => {
  const parts = { revenue_wholesale: 100, revenue_fcr: 20, revenue_tolling: 30, revenue_vba: 50 }
  expect(withoutPaid({ time: 0, total: 200, perMw: 10, parts })).toEqual({
    time: 0,
    total: 120,
    perMw: 6,
    parts: { revenue_wholesale: 100, revenue_fcr: 20 },
  })
  expect(withoutPaid({ time: 0, total: 0, perMw: 0, parts: {} })).toMatchObject({ total: 0, perMw: 0 })
})

describe('a range', () => {
  test('has its days, however long each is', () => {
    const week = spanBefore('2026-10-27', 'week')
    expect((week.end - week.start) / 3_600_000).toBe(7 * 24 + 1)
    const day = spanBefore('2026-03-29', 'day')
    expect((day.end - day.start) / 3_600_000).toBe(23)
  })
})

describe('what is kept', () => {
  test('is the statement by days, of the days that earned something or nothing', () => {
    const earned = ['2026-11-01T23:00:00Z', '2026-11-02T23:00:00Z'].map((time) => ({
      time: Date.parse(time),
      total: 100,
      perMw: 10,
      parts: {},
    }))
    const line = (time: string, name: string, amount: number) => ({ time, line: name, amount, counterparty: 'MARKET' })
    const kept = keptOf(
      {
        lines: [
          line('2026-11-01T23:00:00Z', 'TRADING', 80),
          line('2026-11-01T23:00:00Z', 'TOLLING', -50),
          line('2026-11-01T23:00:00Z', 'IMBALANCE', -5),
          line('2026-12-24T23:00:00Z', 'TRADING', 9),
        ],
        total: 25,
      },
      earned,
    )
    expect(kept.map((one) => one.total)).toEqual([25, 0])
    expect(kept[0]).toMatchObject({ perMw: 2.5, parts: { revenue_wholesale: 80, revenue_tolling: -50, settled: -5 } })
  })
})

describe('a statement of a shorter time', () => {
  test('has the lines of its own days and their total, to the cent', () => {
    const line = (time: string, amount: number) => ({ time, line: 'TRADING', amount, counterparty: 'MARKET' })
    const whole = {
      lines: [line('2026-11-01T23:00:00Z', 80), line('2026-11-02T23:00:00Z', 0.1), line('2026-11-03T23:00:00Z', 0.2)],
      total: 80.3,
    }
    const end = Date.parse('2026-11-04T23:00:00Z')
    const part = cutStatement(whole, { start: Date.parse('2026-11-02T23:00:00Z'), end })
    expect(part).toEqual({ lines: whole.lines.slice(1), total: 0.3 })
    expect(cutStatement(whole, { start: Date.parse('2026-11-01T23:00:00Z'), end })).toEqual(whole)
  })
})

test('an earlier time is compared with once it is read, and only where most of its days earned something', () => {
  const days = (...totals: number[]) => totals.map((total, time) => ({ time, total, perMw: 0, parts: {} }))
  expect(comparisonOf(days(30, 30), undefined, 2)).toBeNull()
  expect(comparisonOf(days(30, 30), days(20, 20), 2)).toEqual({ past: 40, known: 2, change: 0.5 })
  expect(comparisonOf(days(30, 30), days(0, 20), 2)).toEqual({ past: 20, known: 1, change: null })
})
