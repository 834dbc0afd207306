import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { byMarket, csvOf, isPriced, quartersOfAll, sumOf } = await import('./data')

const DAY = '2026-11-17'
const point = (hour: string, open: number, more = {}) => ({
  time: `2026-11-17T${hour}:00Z`,
  bought: 0,
  sold: 2,
  scheduled: 2,
  netted: 0,
  activated: 0,
  delivered: 2 - open,
  open,
  ...more,
})
const stage = (name: string, bought: number, sold: number, earned: number) => ({
  stage: name,
  traded: { bought, sold },
  earned,
})
const positions = [
  {
    asset: { id: 'e' },
    points: [point('08:00', 0.5, { imbalancePrice: 100, imbalanceCost: 50 }), point('08:15', 0.25)],
    stages: [stage('DAY_AHEAD', 1, 4, 300)],
  },
  {
    asset: { id: 'w' },
    points: [point('08:00', -0.5, { imbalancePrice: 100, imbalanceCost: -50 })],
    stages: [stage('DAY_AHEAD', 1, 0, -40), stage('IDA1', 0, 1, 60)],
  },
] as never

describe('positions', () => {
  const quarters = quartersOfAll(positions, DAY)

  test('net over batteries by quarter-hour, and cost at the price of each', () => {
    expect(quarters).toHaveLength(96)
    const [eight, later] = quarters.filter((one) => one.scheduled > 0)
    expect([eight?.open, eight?.cost, eight?.price, eight?.sold]).toEqual([0, 0, 100, 4])
    expect([later?.open, later?.price]).toEqual([0.25, null])
    expect(isPriced(quarters)).toBe(false)
  })

  test('add up by battery and by market', () => {
    expect(sumOf((positions as { points: never[] }[])[0]?.points ?? [])).toMatchObject({
      sold: 4,
      open: 0.75,
      cost: 50,
    })
    expect(byMarket(positions)).toEqual([
      { stage: 'DAY_AHEAD', bought: 2, sold: 4, earned: 260 },
      { stage: 'IDA1', bought: 0, sold: 1, earned: 60 },
    ])
  })

  test('go into a sheet with no price made up', () => {
    const lines = csvOf(quarters).trim().split('\r\n')
    expect(lines[0]).toStartWith('time,bought MWh,sold MWh')
    expect(lines.find((line) => line.includes('T08:00'))).toEndWith(',4,4,0,4,0,100,0')
    expect(lines.find((line) => line.includes('T08:15'))).toEndWith(',0.25,,')
  })
})
