import { describe, expect, test } from 'bun:test'
import { linear, linePath, stepPath, ticks } from './scale'

describe('ticks', () => {
  test('are round, inside, and about as many as asked for', () => {
    expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100])
    expect(ticks(-30, 30, 4)).toEqual([-20, 0, 20])
    expect(ticks(10_300, 38_700, 6)).toEqual([15_000, 20_000, 25_000, 30_000, 35_000])
    expect(ticks(0, 0.7, 5)).toEqual([0, 0.2, 0.4, 0.6])
  })

  test('are one where there is no span', () => {
    expect(ticks(5, 5)).toEqual([5])
  })
})

describe('a path', () => {
  test('is broken where a value is missing', () => {
    expect(
      linePath([
        [0, 1],
        [1, null],
        [2, 3],
      ]),
    ).toBe('M0.0 1.0M2.0 3.0')
    expect(
      stepPath(
        [
          [0, 1],
          [1, 2],
        ],
        2,
      ),
    ).toBe('M0.0 1.0L1.0 1.0L1.0 2.0L2.0 2.0')
  })

  test('follows its scale', () => {
    expect(linear(0, 10, 100, 0)(5)).toBe(50)
  })
})
