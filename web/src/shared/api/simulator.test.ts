import { expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { timeLeft } = await import('./simulator')

test('what is left of the history is told at the pace that was seen', () => {
  expect(timeLeft({ at: 0, progress: 0.2 }, { at: 60_000, progress: 0.4 })).toBeCloseTo(180_000)
  expect(timeLeft({ at: 0, progress: 0.2 }, { at: 3_000, progress: 0.201 })).toBeNull()
  expect(timeLeft(null, { at: 0, progress: 0.5 })).toBeNull()
})
