import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { differences } = await import('./proposal')

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
