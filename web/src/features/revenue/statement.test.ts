import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { linesOf, volumesOf } = await import('./statement')

const DAY = '2026-11-01T23:00:00Z'
const line = (name: string, amount: number, counterparty = 'MARKET') => ({
  time: DAY,
  line: name,
  amount,
  counterparty,
})
const at = (value: number | null, time = DAY) => [{ time, value }]

describe('the statement', () => {
  test('adds each line up, income apart from cost, the largest first', () => {
    const { income, cost } = linesOf({
      lines: [line('TOLLING', 5), line('TRADING', 18), line('TOLLING', 7), line('IMBALANCE', 2), line('IMBALANCE', -5)],
      total: 27,
    })
    expect(income.map(({ label, amount }) => [label, amount])).toEqual([
      ['Wholesale', 18],
      ['Tolls', 12],
    ])
    expect(cost).toEqual([{ label: 'Imbalance', amount: -3, note: 'open volume at reBAP' }])
  })

  test('shows what was sold and what was bought, which together are the line to the cent', () => {
    const volumes = volumesOf({
      sell_volume_wholesale: at(10),
      sell_vwap_wholesale: at(130.254),
      buy_volume_wholesale: at(12),
      buy_vwap_wholesale: at(44.66),
    })
    const { income, cost } = linesOf({ lines: [line('TRADING', 766.62)], total: 766.62 }, volumes)
    expect(income[0]?.label).toBe('Wholesale, sold')
    expect(income[0]?.note).toBe('10.0 MWh at €130.25')
    expect(cost[0]?.note).toBe('12.0 MWh at €44.66')
    expect((income[0]?.amount ?? 0) + (cost[0]?.amount ?? 0)).toBeCloseTo(766.62, 9)
  })

  test('keeps silent about volumes of which only a part is the line', () => {
    const volumes = volumesOf({ sell_volume_wholesale: at(10), sell_vwap_wholesale: at(100) })
    const { income } = linesOf({ lines: [line('TRADING', 350)], total: 350 }, volumes)
    expect(income).toEqual([{ label: 'Wholesale', amount: 350, colour: 'var(--wholesale)' }])
  })

  test('names the hours of reserve, the toll and how many it is shared with', () => {
    const volumes = volumesOf({
      weighted_capacity_fcr: at(48),
      revenue_fcr: at(552),
      revenue_tolling: at(1000),
      annual_price_tolling: [...at(118000), ...at(null, '2026-11-02T23:00:00Z')],
    })
    const tolls = [line('TOLLING', -400, '0198-a'), line('TOLLING', -600, '0198-b')]
    const { income, cost } = linesOf({ lines: [line('FCR', 552), ...tolls], total: -448 }, volumes)
    expect(income[0]?.note).toBe('48 MW·h at €11.50 per MW and hour')
    expect(cost[0]?.note).toBe('€118,000 per MW and year, to 2 organisations')
  })
})
