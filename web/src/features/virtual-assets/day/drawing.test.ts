import { describe, expect, test } from 'bun:test'
import { QUARTER_MS } from '../../../shared/time/marketDay'
import { panesOf, powerScaleOf, quarterOf, startOf } from './drawing'

const START = Date.parse('2026-11-16T23:00:00Z')
const span = { start: START, end: START + 96 * QUARTER_MS }
/** A battery whose life begins an hour into the day and ends two hours later. */
const plan = { quarters: Array.from({ length: 8 }, (_, index) => START + (index + 4) * QUARTER_MS) } as never

describe('a place in the day', () => {
  const at = (quarter: number) => quarterOf(plan, span, quarter / 96)

  test('is a quarter-hour of the battery, from its start up to but not its end', () => {
    expect(at(4)).toBe(0)
    expect(at(4.9)).toBe(0)
    expect(at(5)).toBe(1)
    expect(at(11.9)).toBe(7)
  })

  test('is none before and after its life', () => {
    expect(at(3.9)).toBe(-1)
    expect(at(12)).toBe(-1)
    expect(quarterOf({ quarters: [] } as never, span, 0.5)).toBe(-1)
  })

  test('has a start, and after the last the end', () => {
    expect(startOf(plan, 0)).toBe(START + 4 * QUARTER_MS)
    expect(startOf(plan, 8)).toBe(START + 12 * QUARTER_MS)
  })
})

test('power is drawn from all that is discharged at the top to all that is charged at the bottom', () => {
  const scale = powerScaleOf({ ratedChargePower: 10_000, ratedDischargePower: 20_000 } as never, {
    top: 100,
    height: 300,
  })
  expect([20_000, 0, -10_000].map(scale)).toEqual([100, 300, 400])
})

test('the panes lie below each other within the height', () => {
  for (const height of [100, 500, 900]) {
    const { charge, power, price } = panesOf(height)
    expect(charge.top + charge.height).toBeLessThan(power.top)
    expect(power.top + power.height).toBeLessThan(price.top)
    expect(price.top + price.height).toBeLessThan(Math.max(420, height))
  }
})
