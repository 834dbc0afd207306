import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { needsOf } = await import('./queue')
const { comingOf, nextGate } = await import('./next')

const NOW = Date.parse('2026-11-16T09:33:26Z')
const tell = (ms: number) => new Date(ms).toISOString().slice(11, 16)
const item = { ratedDischargePower: 20000, energyCapacity: 40000, deliveryZone: 'TenneT' }
const auction = (id: string, end: string, more = {}) =>
  ({ id, start: '2026-11-16T09:00:00Z', end, item, status: 'RUNNING', ...more }) as never
const battery = (more = {}) =>
  ({
    id: 'elbe',
    name: 'Elbe',
    end: '2026-11-18T23:00:00Z',
    dispatchGateClosureSeconds: 480,
    finalSoCTolerance: 0.01,
    energyCapacity: 40000,
    imbalanceCharge: 2040,
    imbalanceDischarge: 0,
    endStateOfChargePercentage: 44.9,
    ...more,
  }) as never
const nothing = {
  auctions: [],
  medians: new Map(),
  virtual: [],
  cuts: [],
  idle: [],
  physical: [],
  health: new Map(),
  mayBid: true,
}

describe('the queue', () => {
  test('has the nearest deadline first and what has none last', () => {
    const health = new Map([
      ['stade', { status: 'DEGRADED', checks: [{ name: 'TELEMETRY', status: 'DEGRADED', detail: 'old' }] } as never],
    ])
    const physical = [{ id: 'stade', name: 'Stade' } as never]
    const needs = needsOf(
      {
        ...nothing,
        auctions: [auction('late', '2026-11-16T12:00:00Z'), auction('soon', '2026-11-16T09:45:00Z')],
        virtual: [battery()],
        physical,
        health,
      },
      NOW,
      tell,
    )
    expect(needs.map((need) => need.key)).toEqual(['soon', 'late', 'balance-elbe', 'health-stade'])
    expect(needs[0]?.tone).toBe('danger')
    expect(needs[3]?.deadline).toBeNull()
  })

  test('says nothing of a battery that ends within its tolerance, or whose gate has closed', () => {
    expect(needsOf({ ...nothing, virtual: [battery({ imbalanceCharge: 399 })] }, NOW, tell)).toEqual([])
    expect(needsOf({ ...nothing, virtual: [battery({ end: '2026-11-16T09:45:00Z' })] }, NOW, tell)).toEqual([])
  })

  test('sets a bid against the median of what the window may be worth', () => {
    const bid = (price?: number) => [
      auction('soon', '2026-11-16T09:45:00Z', price === undefined ? {} : { currentBid: { price } }),
    ]
    const said = (price?: number) =>
      needsOf({ ...nothing, auctions: bid(price), medians: new Map([['soon', 23140]]) }, NOW, tell)[0]?.note
    expect(said(21200)).toBe('Your bid €21,200.00 stands, €1,940 below the median value')
    expect(said(24000)).toBe('Your bid €24,000.00 stands, €860 above the median value')
    expect(said()).toBe('No bid of yours stands, the median value is €23,140')
    expect(needsOf({ ...nothing, auctions: bid(21200) }, NOW, tell)[0]?.note).toBe('Your bid €21,200.00 stands')
  })

  test('shows auctions only to who may bid', () => {
    const open = [auction('soon', '2026-11-16T09:45:00Z')]
    expect(needsOf({ ...nothing, auctions: open, mayBid: false }, NOW, tell)).toEqual([])
  })

  test('asks for a plan until the day-ahead gate, in one line for all that have none', () => {
    const idle = [battery({ name: 'Isar' }), battery({ name: 'Lahn' }), battery({ name: 'Elbe' })]
    const [need] = needsOf({ ...nothing, idle }, NOW, tell)
    expect(need).toMatchObject({
      deadline: Date.parse('2026-11-16T11:00:00Z'),
      to: '/virtual-batteries/elbe/2026-11-17',
    })
    expect(need?.title).toBe('Day-ahead: **Isar**, **Lahn** and 1 more have no plan for tomorrow')
    expect(needsOf({ ...nothing, idle }, Date.parse('2026-11-16T11:00:00Z'), tell)).toEqual([])
  })

  test('tells one cut for each battery, by its first quarter-hour', () => {
    const asset = battery({ imbalanceCharge: 0 })
    const cut = (time: number) => ({ asset, time, from: -15000, to: -12500, reason: 'AVAILABILITY' })
    const needs = needsOf({ ...nothing, cuts: [cut(NOW + 7_200_000), cut(NOW + 3_600_000)] }, NOW, tell)
    expect(needs).toHaveLength(1)
    expect(needs[0]?.note).toContain('−15.0 → −12.5 MW, 1.3 MWh less')
  })
})

describe('what comes next', () => {
  test('is in order and never past', () => {
    const sources = {
      auctions: [auction('soon', '2026-11-16T09:45:00Z')],
      unavailabilities: [],
      hasBatteries: true,
      gateSeconds: 480,
      tellDay: tell,
      tellSpan: (a: number, b: number) => `${tell(a)}–${tell(b)}`,
    }
    const coming = comingOf(sources, NOW)
    expect(coming.every((one) => one.time > NOW)).toBeTrue()
    expect(coming.map((one) => one.time)).toEqual(coming.map((one) => one.time).sort((a, b) => a - b))
    expect(coming[0]).toMatchObject({ title: 'Dispatch gate', note: 'for 09:45–10:00, all batteries' })
  })

  test('skips the quarter-hour whose gate has closed', () => {
    expect(nextGate(Date.parse('2026-11-16T09:38:00Z'), 480).start).toBe(Date.parse('2026-11-16T10:00:00Z'))
    expect(nextGate(Date.parse('2026-11-16T09:36:59Z'), 480).start).toBe(Date.parse('2026-11-16T09:45:00Z'))
  })
})
