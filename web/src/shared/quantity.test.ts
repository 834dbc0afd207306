import { describe, expect, test } from 'bun:test'
import { type Limits, readQuantity, type Unit } from './quantity'

describe('a number that is typed', () => {
  test.each<[string, Unit, Limits, number]>([
    ['12', 'MW', {}, 12],
    ['12.5', 'MW', {}, 12.5],
    ['12,5', 'MW', {}, 12.5],
    ['−0,25', 'MW', {}, -0.25],
    ['0.125', 'MW', {}, 0.125],
    ['1.2345', 'MW', {}, 1.2345],
    ['300kW', 'MW', {}, 0.3],
    ['300 kW', 'MW', {}, 0.3],
    ['1500 kWh', 'MWh', {}, 1.5],
    ['12 %', '%', {}, 12],
    ['1.234,5', 'EUR', { decimals: 2 }, 1234.5],
    ['1,234.50', 'EUR', { decimals: 2 }, 1234.5],
    ['€ 1’500', 'EUR', { decimals: 2 }, 1500],
    ['1 500 000,50 €', 'EUR', { decimals: 2 }, 1_500_000.5],
    ['− 12\u00a0000\u202fkW', 'MW', {}, -12],
    ['1,500', 'EUR', { decimals: 2 }, 1500],
    ['1.500.000', 'EUR', { decimals: 2 }, 1_500_000],
    ['1500,00 EUR', 'EUR', { decimals: 2 }, 1500],
    ['31', 'MW', { most: 31 }, 31],
  ])('%s in %s', (text, unit, limits, value) => expect(readQuantity(text, unit, limits).value).toBe(value))

  test.each<[string, Unit, Limits, string]>([
    ['1,500.123', 'EUR', { decimals: 2 }, '1500.123: at most 2'],
    ['1.500', 'MW', {}, '1.500 or 1500'],
    ['99', 'MW', { most: 31, mostIs: 'the 31.0 MW it has' }, '99 MW is beyond the 31.0 MW it has'],
    ['-99', 'MW', { least: -10 }, '−99 MW is below −10 MW'],
    ['5 kWh', 'MW', {}, 'no unit'],
    ['5 kW', '', {}, 'without a unit'],
    ['1.2.3', 'MW', {}, 'not a number'],
    ['1,23.4,5', 'MW', {}, 'not a number'],
    ['1e3', 'MW', {}, 'no unit|not a number'],
    ['abc', 'MW', {}, 'not a number'],
    ['12 5', 'MW', {}, 'not a number'],
    ['1’5', 'EUR', { decimals: 2 }, 'not a number'],
    ['5 constructor', 'MW', {}, 'no unit'],
    ['1 500.123', 'EUR', { decimals: 2 }, '1500.123: at most 2'],
    ['.', 'MW', {}, 'not a number'],
    ['', 'MW', {}, 'Name a number'],
  ])('%s in %s is refused', (text, unit, limits, fault) => {
    const read = readQuantity(text, unit, limits)
    expect(read.value).toBeNull()
    expect(read.fault).toMatch(new RegExp(fault))
  })
})
