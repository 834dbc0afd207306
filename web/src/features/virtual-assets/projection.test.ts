import { describe, expect, test } from 'bun:test'
import { cycles, energies, firstBreach, value } from './projection'
import cases from './projection.cases.json'

describe('the projection', () => {
  for (const each of cases)
    test(`comes to what the service comes to: ${each.name}`, () => {
      const found = energies(each.startKwh, each.powersKw, each.battery)
      expect(found).toHaveLength(each.energiesKwh.length)
      for (const [index, kwh] of found.entries()) expect(kwh).toBeCloseTo(each.energiesKwh[index] ?? Number.NaN, 6)
      expect(cycles(each.powersKw, each.battery)).toBeCloseTo(each.cycles, 9)
      const breach = firstBreach(found, each.battery)
      expect(breach?.index ?? null).toBe(each.breach?.index ?? null)
      if (each.breach) expect(breach?.kwh).toBeCloseTo(each.breach.kwh, 6)
    })

  test('takes a few microseconds, so that a drag never waits for it', () => {
    const powers = Array.from({ length: 100 }, (_, index) => (index % 7) * 1000 - 3000)
    const battery = {
      chargeEfficiency: 0.94,
      dischargeEfficiency: 0.94,
      energyCapacityKwh: 40000,
      availableEnergyKwh: 40000,
    }
    const began = performance.now()
    for (let round = 0; round < 1000; round += 1) firstBreach(energies(20000, powers, battery), battery)
    expect(performance.now() - began).toBeLessThan(2000)
  })
})

describe('the value', () => {
  test('is sales less purchases, and nothing is made up', () => {
    expect(value([4000, -4000], [100, 50])).toBe(50)
    expect(value([0, 4000], [null, 100])).toBe(100)
    expect(value([4000], [null])).toBeNull()
  })
})
