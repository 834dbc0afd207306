import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { binsOf, chanceOfMore, grouped, isWithin, pastOfKind, perMwDay, readPrice } = await import('./data')

const auction = (id: string, start: number, end: number) =>
  ({ id, start: new Date(start).toISOString(), end: new Date(end).toISOString() }) as never

describe('a typed price', () => {
  test.each([
    ['21800', 21800],
    ['21,800.00', 21800],
    ['21.800,00', 21800],
    ['€ 21 800,5', 21800.5],
    ['21.800', 21800],
    ['0,01', 0.01],
    ['1.234.567,89', 1234567.89],
    ['12.5', 12.5],
  ])('%s is read', (text, price) => {
    expect(readPrice(text).price).toBe(price)
  })

  test.each(['', 'abc', '12.345,678', '-5', '0', '10000000.01', '1e5', '12.3456'])('%s is refused', (text) => {
    expect(readPrice(text).fault).toBeString()
  })
})

describe('the list', () => {
  test('moves an auction from coming to open to closed by the clock alone', () => {
    const one = [auction('a', 1000, 2000)]
    expect(grouped(one, 0).map(([name]) => name)).toEqual(['Not started'])
    expect(grouped(one, 1000).map(([name]) => name)).toEqual(['Open'])
    expect(grouped(one, 2000).map(([name]) => name)).toEqual(['Closed'])
  })

  test('shows first what closes first', () => {
    const two = [auction('late', 0, 5000), auction('soon', 0, 2000)]
    expect(grouped(two, 1000)[0]?.[1].map((each) => each.id)).toEqual(['soon', 'late'])
  })
})

describe('past ones of a kind', () => {
  test('are the cleared ones of the zone, newest first', () => {
    const of = (id: string, end: number, deliveryZone: string, outcome: string | null = 'ALLOCATED') =>
      ({ ...(auction(id, 0, end) as object), item: { deliveryZone }, outcome }) as never
    const asked = of('asked', 9000, 'TenneT', null)
    const all = [
      asked,
      of('old', 1000, 'TenneT'),
      of('new', 2000, 'TenneT', 'NO_VALID_BID'),
      of('elsewhere', 2000, 'Amprion'),
      of('being cleared', 3000, 'TenneT', null),
    ]
    expect(pastOfKind(all, asked, 4000).map((each) => each.id)).toEqual(['new', 'old'])
  })
})

describe('the chance to be worth more', () => {
  const valuation = { p10: 100, p50: 200, p90: 400 } as never
  test('is what the quantiles say at the quantiles', () => {
    expect(chanceOfMore(100, valuation)).toBeCloseTo(0.9)
    expect(chanceOfMore(200, valuation)).toBeCloseTo(0.5)
    expect(chanceOfMore(400, valuation)).toBeCloseTo(0.1)
  })

  test('is not made up beyond them', () => {
    expect(chanceOfMore(99, valuation)).toBeNull()
    expect(chanceOfMore(401, valuation)).toBeNull()
  })
})

test('a price is compared by MW and day, of the mean of what is charged and discharged', () => {
  const item = { ratedChargePower: 8000, ratedDischargePower: 12_000 }
  const week = { start: '2026-11-16T23:00:00Z', end: '2026-11-23T23:00:00Z' }
  expect(perMwDay(7000, { item: { ...item, ...week } } as never)).toBe(100)
})

describe('what past windows came to', () => {
  const past = (p10: number, p50: number, p90: number, value: number) => ({ p10, p50, p90, value }) as never
  const valuation = (pastWindows: never[]) => ({ p10: 100, p50: 200, p90: 400, calibration: { pastWindows } }) as never

  test('is within what was expected up to both quantiles', () => {
    expect([99, 100, 400, 401].map((value) => isWithin(past(100, 200, 400, value)))).toEqual([false, true, true, false])
  })

  test('lies in this window’s range as it lay in its own', () => {
    const twenty = Array.from({ length: 19 }, () => past(10, 20, 40, 20))
    const bins = binsOf(valuation([...twenty, past(10, 20, 40, 80)]))
    // 60 above the median of a range of 30 is 600 above the median of one of 300.
    expect(bins?.high).toBe(800)
    expect(bins?.low).toBe(50)
    expect(bins?.counts.at(-1)).toBe(1)
    expect(bins?.counts[Math.floor(((200 - 50) / 750) * 14)]).toBe(19)
  })

  test('is no distribution while few are known, or none has a range', () => {
    const twenty = Array.from({ length: 20 }, () => past(10, 20, 40, 20))
    expect(binsOf(valuation(twenty))).not.toBeNull()
    expect(binsOf(valuation(twenty.slice(1)))).toBeNull()
    expect(binsOf(valuation([...twenty.slice(1), past(20, 20, 20, 20)]))).toBeNull()
  })
})
