import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { chanceOfMore, grouped, readPrice } = await import('./data')

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
