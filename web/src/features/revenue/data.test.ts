import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { bucketsOf, keptOf, spanBefore } = await import('./data')

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
