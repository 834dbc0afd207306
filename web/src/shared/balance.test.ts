import { expect, test } from 'bun:test'
import { isBalanced } from './balance'

test('a plan is balanced up to its tolerance, to the watt-hour', () => {
  const asset = { finalSoCTolerance: 0.01, energyCapacity: 50_000 }
  expect(isBalanced(asset, 500.0000001)).toBeTrue()
  expect(isBalanced(asset, -500)).toBeTrue()
  expect(isBalanced(asset, 500.1)).toBeFalse()
})
