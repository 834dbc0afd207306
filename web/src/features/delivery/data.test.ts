import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { barsOf, countAcknowledged, deliveredOf, deviationsOf, lastAcknowledged, reachOf, totalsOf } = await import(
  './data'
)

const quarter = (time: string, [scheduledExport, scheduledImport, netted, unserved]: number[]) => ({
  time,
  scheduledExport: scheduledExport ?? 0,
  scheduledImport: scheduledImport ?? 0,
  netted: netted ?? 0,
  unserved: unserved ?? 0,
  dispatched: (scheduledExport ?? 0) - (scheduledImport ?? 0) - (unserved ?? 0),
})

describe('a zone’s bars', () => {
  test('stack what batteries do, what was netted and what was not served, each on its side', () => {
    const bars = barsOf([
      quarter('2026-11-16T08:00:00Z', [9100, 4200, 4200, 900]),
      quarter('2026-11-16T08:15:00Z', [0, 0, 0, 0]),
      quarter('2026-11-16T08:30:00Z', [0, 3000, 0, -500]),
    ])
    expect(bars).toHaveLength(2)
    expect(bars[0]).toMatchObject({ out: 4, in: 0, netted: 4.2, unservedOut: 0.9, unservedIn: 0 })
    expect(bars[1]).toMatchObject({ out: 0, in: 2.5, unservedIn: 0.5 })
    expect(reachOf(bars).up).toBeCloseTo(9.1)
    expect(reachOf(bars).down).toBeCloseTo(4.2)
  })
})

describe('the totals of a day', () => {
  test('count both ways, and say where and when something was not served', () => {
    const totals = totalsOf([
      {
        deliveryZone: 'TenneT',
        finalUntil: '2026-11-16T08:00:00Z',
        quarters: [quarter('2026-11-16T06:00:00Z', [4000, 2000, 2000, 0])],
      },
      {
        deliveryZone: '50Hertz',
        finalUntil: '2026-11-16T08:00:00Z',
        quarters: [
          quarter('2026-11-16T06:00:00Z', [2000, 0, 0, 800]),
          quarter('2026-11-16T06:15:00Z', [2000, 0, 0, 400]),
        ],
      },
    ])
    expect(totals).toMatchObject({ scheduled: 2.5, netted: 1 })
    expect(totals.dispatched + totals.netted + totals.unserved).toBeCloseTo(totals.scheduled)
    expect(totals.missed).toEqual({
      quarters: 2,
      zone: '50Hertz',
      start: Date.parse('2026-11-16T06:00:00Z'),
      end: Date.parse('2026-11-16T06:30:00Z'),
    })
  })
})

test('deviations are summed over the batteries in MW, and the measured share is their mean', () => {
  const of = (...points: object[]) => ({ performance: points }) as never
  const at = '2026-11-16T08:00:00Z'
  const found = deviationsOf([
    of({ time: '2026-11-16T08:15:00Z', powerDeviation: 1 }, { time: at, powerDeviation: -3000, measuredShare: 0.5 }),
    of({ time: at, powerDeviation: 1000, reserveResponse: 500, measuredPower: 0 }),
    null,
  ])
  expect(found[0]).toEqual({ time: Date.parse(at), mw: -2, reserveMw: 0.5, measuredShare: 0.75 })
  expect(found[1]).toMatchObject({ time: Date.parse('2026-11-16T08:15:00Z'), measuredShare: 0 })
})

test('what was delivered is known by battery, also before its first quarter-hour is over and where one was refused', () => {
  const of = (...dispatch: number[]) => ({ dispatch })
  const early = deliveredOf(['a', 'b'], [of(1), of(2)], false)
  expect(early.get('a')).toEqual({ dispatch: [1], performance: null } as never)
  expect(early.get('b')).toEqual({ dispatch: [2], performance: null } as never)
  const later = deliveredOf(['a', 'b', 'c'], [of(1), { performance: [] }, null, null, of(3), null], true)
  expect([...later.keys()]).toEqual(['a', 'c'])
  expect(later.get('a')?.performance).toEqual({ performance: [] } as never)
  expect(later.get('c')?.performance).toBeNull()
})

describe('what a site said of its dispatch', () => {
  const point = (time: string, status?: string) => ({
    time,
    power: 0,
    parts: [],
    stateOfChargePercentage: 50,
    ...(status ? { acknowledgement: { version: 1, status, at: time } } : {}),
  })
  const points = [
    point('2026-11-16T08:00:00Z', 'APPLIED'),
    point('2026-11-16T08:15:00Z', 'NOT_FOLLOWED'),
    point('2026-11-16T08:30:00Z'),
    point('2026-11-16T09:00:00Z', 'RECEIVED'),
    point('2026-11-16T09:15:00Z', 'APPLIED'),
  ] as Parameters<typeof lastAcknowledged>[0]

  test('is told of the last quarter-hour that has begun, and counted over a day', () => {
    const last = (now: string) => lastAcknowledged(points, Date.parse(now))
    expect(last('2026-11-16T08:44:00Z')).toEqual({ time: Date.parse('2026-11-16T08:15:00Z'), words: 'not followed' })
    expect(last('2026-11-16T07:59:00Z')).toBeNull()
    expect(countAcknowledged(points)).toBe('2 applied, 1 not followed, 1 received')
    expect(countAcknowledged([])).toBe('')
  })
})
