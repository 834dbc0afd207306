import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { bucketsOf, linesOf, spanBefore } = await import('./data')

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

describe('the statement', () => {
  test('adds each line up, income apart from cost', () => {
    const line = (name: string, amount: number) => ({ time: '', line: name, amount, counterparty: 'MARKET' })
    const { income, cost } = linesOf({
      lines: [line('TOLL', 5), line('WHOLESALE', 8), line('TOLL', 7), line('IMBALANCE', -3)],
      total: 17,
    })
    expect(income).toEqual([
      { line: 'TOLL', amount: 12 },
      { line: 'WHOLESALE', amount: 8 },
    ])
    expect(cost).toEqual([{ line: 'IMBALANCE', amount: -3 }])
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
