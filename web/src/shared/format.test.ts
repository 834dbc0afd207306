import { describe, expect, test } from 'bun:test'
import {
  decimal,
  efficiencies,
  euro,
  initials,
  megawatts,
  percent,
  percentages,
  plural,
  productInWords,
  signed,
  signedEuro,
  size,
  words,
} from './format'

describe('a number', () => {
  test('has a true minus, and zero has no sign', () => {
    expect(decimal(-4.2, 1)).toBe('−4.2')
    expect(signed(4.2)).toBe('+4.2')
    expect(signed(-0.01)).toBe('0.0')
    expect(signed(0)).toBe('0.0')
  })

  test('is grouped by thousands', () => {
    expect(decimal(1234567.891, 2)).toBe('1,234,567.89')
  })
})

describe('an amount', () => {
  test('has its sign before the euro', () => {
    expect(euro(-38.15)).toBe('−€38.15')
    expect(signedEuro(1340)).toBe('+€1,340')
    expect(signedEuro(-56)).toBe('−€56')
    expect(signedEuro(0.2)).toBe('€0')
  })
})

describe('a size', () => {
  test('is in MW and MWh with no needless digit', () => {
    expect(size(20000, 40000)).toBe('20 MW · 40 MWh')
    expect(megawatts(2500)).toBe('2.5')
    expect(megawatts(250)).toBe('0.25')
    expect(efficiencies(0.94, 0.945)).toBe('94 / 94.5 %')
  })
})

describe('a word', () => {
  test('of the interface becomes one of a sentence', () => {
    expect(words('GRID_CONSTRAINT')).toBe('Grid constraint')
    expect(initials('Nordlicht Trading')).toBe('NT')
    expect(initials('Hanse')).toBe('HA')
  })
})

test('a product is named by its market, its direction and its hours', () => {
  expect(productInWords('NEGPOS_20_24')).toBe('FCR 20–24')
  expect(productInWords('POS_00_04')).toBe('aFRR up 00–04')
  expect(productInWords('NEG_00_04')).toBe('aFRR down 00–04')
  expect(productInWords('POS_017')).toBe('aFRR energy up, quarter 17')
  expect(productInWords('NEG_001')).toBe('aFRR energy down, quarter 1')
  expect(productInWords('OTHER')).toBe('OTHER')
})

test('a share is a percentage, and one of a thing has no plural', () => {
  expect(percent(0.912, 1)).toBe('91.2 %')
  expect(plural(1, 'bid')).toBe('1 bid')
  expect(plural(0, 'bid')).toBe('0 bids')
  expect(plural(1200, 'battery', 'batteries')).toBe('1,200 batteries')
})

test('parts of a whole make 100 as they are shown', () => {
  expect(percentages([20 / 62, 12 / 62, 30 / 62])).toEqual(['32 %', '19 %', '49 %'])
  expect(percentages([1, 1, 1])).toEqual(['34 %', '33 %', '33 %'])
  expect(percentages([0.5, 0.5])).toEqual(['50 %', '50 %'])
  expect(percentages([])).toEqual([])
})
