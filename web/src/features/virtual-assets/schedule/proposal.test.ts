import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { differences, NoPrices, optimiseBody, repairBody } = await import('./proposal')

const at = (minutes: number) => Date.parse('2026-11-16T08:00:00Z') + minutes * 60_000
const point = (minutes: number, power: number) => ({ time: new Date(at(minutes)).toISOString(), power })

describe('a proposal', () => {
  test('adds its blocks up and keeps what is another than now', () => {
    const answer = {
      blocks: [
        { blockID: 'a', schedule: [point(0, 1000), point(15, -500), point(30, 0)] },
        { blockID: 'b', schedule: [point(0, 500), point(15, -500), point(60, 9000)] },
      ],
    }
    const changes = differences([at(0), at(15), at(30)], [1500, 0, 0], answer)
    expect([...changes]).toEqual([[1, -1000]])
  })

  test('may be one schedule for all blocks', () => {
    expect([...differences([at(0)], [0], { schedule: [point(0, 250)] })]).toEqual([[0, 250]])
  })
})

describe('what is asked for', () => {
  const plan = { quarters: [at(0), at(15), at(30)] } as never

  test('is a repair of what is shown, of the quarter-hours whose gate is open', () => {
    const body = repairBody(plan, [100, -200], (index) => index === 0)
    expect(body).toEqual({
      schedule: [
        { time: '2026-11-16T08:15:00Z', power: -200 },
        { time: '2026-11-16T08:30:00Z', power: 0 },
      ],
      objective: 'NEAREST',
    })
  })

  test('is an optimisation over the whole plan at the prices that are shown', () => {
    const body = optimiseBody(plan, [10, 0, -5])
    expect(body).toMatchObject({ start: '2026-11-16T08:00:00Z', end: '2026-11-16T08:45:00Z' })
    expect(body.prices.values.map((one) => one.price)).toEqual([10, 0, -5])
  })

  test('is nothing where a price is not known', () => {
    globalThis.localStorage ??= { getItem: () => null } as never
    expect(() => optimiseBody(plan, [10, null, 5])).toThrow(NoPrices)
    expect(() => optimiseBody(plan, [10, 20])).toThrow(NoPrices)
  })
})
