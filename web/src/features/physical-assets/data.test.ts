import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { runsOf } = await import('./data')

describe('runs', () => {
  test('join what stays the same and end where the next begins', () => {
    const points = [
      { time: 0, value: 40 },
      { time: 15, value: 40 },
      { time: 30, value: 32 },
      { time: 45, value: 40 },
    ]
    expect(runsOf(points, 60, (a, b) => a === b)).toEqual([
      { start: 0, end: 30, value: 40 },
      { start: 30, end: 45, value: 32 },
      { start: 45, end: 60, value: 40 },
    ])
  })
})
