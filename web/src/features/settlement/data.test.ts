import { describe, expect, mock, test } from 'bun:test'
import { monthInWords } from '../../shared/time/words'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { addMonths, earnedOf, gapsInWords, gapsNow, largestDifference, matrixOf, monthFrom } = await import('./data')

const statement = (organisationID: string, lines: [string, string, string][]) =>
  ({
    id: organisationID,
    organisationID,
    organisationName: organisationID.toUpperCase(),
    month: '2026-10',
    status: 'PRELIMINARY',
    lines: lines.map(([line, amount, counterparty]) => ({ line, amount, counterparty })),
  }) as never

describe('a month over all parties', () => {
  const month = matrixOf(
    [
      statement('owner', [
        ['TOLLING', '100.10', 'trader'],
        ['FCR', '20.00', 'GRID_OPERATOR'],
      ]),
      statement('trader', [
        ['TOLLING', '-100.10', 'owner'],
        ['TRADING', '0.30', 'MARKET'],
      ]),
    ],
    [],
  )

  test('has the other side of what stands against the market and the grid operators', () => {
    expect(month.parties.map((one) => one.id)).toEqual(['owner', 'trader', 'MARKET', 'GRID_OPERATOR'])
    expect(month.rows.map((row) => row.line)).toEqual(['TRADING', 'FCR', 'TOLLING'])
    expect(month.totals.get('owner')).toBe(12_010)
    expect(month.totals.get('GRID_OPERATOR')).toBe(-2_000)
  })

  test('adds up to zero to the cent, or says by how much it does not', () => {
    expect(largestDifference(month)).toBe(0)
    const wrong = matrixOf([statement('owner', [['TOLLING', '1.01', 'trader']])], [])
    expect(largestDifference(wrong)).toBe(101)
  })
})

test('a battery has earned the sum of its lines, nothing without one, and is left out where it could not be asked', () => {
  const lines = (...amounts: string[]) => ({ lines: amounts.map((amount) => ({ amount })) }) as never
  const earned = earnedOf(['stade', 'hürth', 'other'], [lines('100.10', '-0.05', '0.02'), lines(), null])
  expect([...earned]).toEqual([
    ['stade', 100.07],
    ['hürth', 0],
  ])
})

test('what is missing is one row a kind, in words', () => {
  const rows = gapsInWords(
    [
      { kind: 'IMBALANCE_PRICE', day: '2026-10-30', periods: 96 },
      { kind: 'IMBALANCE_PRICE', day: '2026-10-31', periods: 96 },
      { kind: 'MEASUREMENT', physicalAssetID: 'cottbus', measuredShare: 0.912 },
      { kind: 'SETTLEMENT', assetID: 'weser', day: '2026-10-24', product: 'POS_16_20' },
    ],
    (id) => ({ cottbus: 'Cottbus', weser: 'Weser' })[id],
  )
  expect(rows.map((row) => row.detail)).toEqual([
    '192 quarter-hours of 2 days, Fri 30 Oct to Sat 31 Oct',
    'Cottbus 91.2 %; at least 95 % is needed',
    'aFRR up 16–20 on Sat 24 Oct of Weser',
  ])
  expect(rows.map((row) => row.fix?.command)).toEqual([
    'gridloom import rebap',
    undefined,
    'gridloom import settlements',
  ])
})

test('months are walked and named', () => {
  expect(monthInWords('2026-10')).toBe('October 2026')
  expect(addMonths('2026-12', 1)).toBe('2027-01')
})

test('a misspelt month in the address is none', () => {
  expect(monthFrom('2026-09')).toBe('2026-09')
  for (const text of ['2026-9', '2026-13', 'September', '']) expect(monthFrom(text)).toBeNull()
  expect(monthFrom(null)).toBeNull()
})

test('what issuing was refused with stands in the way until it is read anew', () => {
  const prices = [{ kind: 'IMBALANCE_PRICE' }]
  expect(gapsNow({ gaps: prices, at: 20 }, { gaps: [], at: 10 })).toBe(prices)
  expect(gapsNow({ gaps: prices, at: 20 }, { gaps: [], at: 30 })).toEqual([])
  expect(gapsNow({ gaps: undefined, at: 20 }, { gaps: prices, at: 10 })).toBe(prices)
  expect(gapsNow({ gaps: prices, at: 20 }, { gaps: undefined, at: 0 })).toBe(prices)
  expect(gapsNow({ gaps: undefined, at: 0 }, { gaps: undefined, at: 0 })).toEqual([])
})
