import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { energyCheck, fared, readSteps, tellSteps } = await import('./steps')
const { gateOf, hourSpan } = await import('./products')
const { tooMuch } = await import('./draft')

describe('Price steps', () => {
  test('are read as they are typed, and told as they are read', () => {
    for (const [text, energy, told] of [
      ['8@9.8 6@14,50', '120', '8@9.80 6@14.50'],
      ['8@9.8/130;6@14.5', '120', '8@9.80/130.00 6@14.50'],
      ['', '120', ''],
    ] as const) {
      const { steps } = readSteps(text, false, energy)
      expect(tellSteps(steps ?? [], 120)).toBe(told)
    }
  })

  test('say what is wrong with them', () => {
    for (const [text, isFCR, energy, why] of [
      ['8', true, '', 'is no step'],
      ['2.5@9', true, '', 'no whole MW'],
      ['4@-1', true, '', 'below'],
      ['4@9/120', true, '', 'FCR has no energy price'],
      ['4@9', false, ' ', 'energy price'],
      ['0@9', true, '', 'below'],
    ] as const)
      expect(readSteps(text, isFCR, energy).fault ?? '').toContain(why)
  })

  test('fared as the days before cleared: FCR is paid what cleared, aFRR what was asked', () => {
    const past = Array.from({ length: 10 }, (_, index) => ({ day: `2026-11-${10 + index}`, price: 10 * (index + 1) }))
    const step = { capacity: 2, price: 60, energyPrice: null }
    expect(fared(step, 'NEGPOS_00_04', '2026-11-21', past)).toEqual({ accepted: 5, of: 10, expected: 80 })
    expect(fared(step, 'POS_04_08', '2026-11-21', past)).toEqual({ accepted: 5, of: 10, expected: 240 })
    expect(fared(step, 'POS_04_08', '2026-11-21', past.slice(1))).toBeNull()
  })

  test('take of the store what their power lasts for', () => {
    expect(energyCheck(14, 4, 80)).toEqual({ isBeyond: false, text: '14 MW for 4 h is 56 of 80 MWh' })
    expect(energyCheck(14, 4, 50).isBeyond).toBe(true)
  })
})

test('A block follows the wall clock, and its gate the day before', () => {
  expect(hourSpan('NEGPOS_00_04', '2026-10-25')).toBe(5)
  expect(hourSpan('NEGPOS_00_04', '2027-03-28')).toBe(3)
  expect(new Date(gateOf('FCR', '2026-11-21').closes).toISOString()).toBe('2026-11-20T07:00:00.000Z')
})

test('What stands for a block is given back before more is called too much', () => {
  const held = { rated: 20, free: 3, lost: 0, layers: [] }
  const bid = { id: 'a', status: 'OFFERED', capacity: 2, price: 9, energyPrice: null, accepted: null, paid: null }
  const of = {
    day: '2026-11-21',
    bids: new Map([['NEGPOS_00_04', [bid]]]),
    blocks: [{ hour: 0, up: held, down: { ...held, free: 10 }, freeEnergy: 40 }],
  } as unknown as Parameters<typeof tooMuch>[0] extends infer T | undefined
    ? T extends { of: infer O }
      ? O
      : never
    : never
  const wanted = (capacity: number) => new Map([['NEGPOS_00_04', [{ capacity, price: 9, energyPrice: null }]]])
  expect(tooMuch({ of, wanted: wanted(5) })).toEqual([])
  expect(tooMuch({ of, wanted: wanted(6) }).map(({ direction, by }) => [direction, by])).toEqual([['up', 1]])
})
