import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { totalsOf, zoneSeries } = await import('./data')

const START = Date.parse('2026-10-24T22:00:00Z')

describe('a zone', () => {
  test('adds its batteries up, exports apart from imports, over a day of 25 hours', () => {
    const point = (power: number) => [{ time: '2026-10-25T22:45:00Z', power, stateOfChargePercentage: 50 }]
    const series = zoneSeries([point(2000), point(500), point(-1000)], { start: START, end: START + 25 * 3_600_000 })
    expect(series).toHaveLength(100)
    expect(series[99]).toMatchObject({ out: 2.5, in: -1 })
  })
})

describe('the totals', () => {
  test('are of each zone’s newest run alone', () => {
    const run = (zone: string, time: string, netted: number) =>
      ({
        id: time,
        time,
        zones: [zone],
        scheduledExport: 1,
        scheduledImport: 2,
        netted,
        spread: 1,
        unserved: 0,
        solverSeconds: 0.03,
      }) as never
    const totals = totalsOf([
      run('TenneT', '2026-11-16T08:00:00Z', 9),
      run('TenneT', '2026-11-16T09:00:00Z', 4),
      run('Amprion', '2026-11-16T07:00:00Z', 3),
    ])
    expect(totals).toMatchObject({ netted: 7, scheduled: 6, lastSeconds: 0.03 })
  })
})
