import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { storedOf } = await import('./data')
const { needsOf } = await import('./queue')
const { comingOf, nextGate } = await import('./next')
const { operatorNeeds } = await import('./operatorNeeds')

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
    const gateMs = 15 * 60_000 + 480_000
    const ending = (at: number) => [battery({ end: new Date(at + gateMs).toISOString() })]
    expect(needsOf({ ...nothing, virtual: ending(NOW) }, NOW, tell)).toEqual([])
    expect(needsOf({ ...nothing, virtual: ending(NOW + 1000) }, NOW, tell)).toHaveLength(1)
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

  test('says whether a battery ends short of its target or above it', () => {
    const said = (more: object) => needsOf({ ...nothing, virtual: [battery(more)] }, NOW, tell)[0]?.title
    expect(said({})).toContain('ends 2.04 MWh short of')
    expect(said({ imbalanceCharge: 0, imbalanceDischarge: 1500 })).toContain('ends 1.50 MWh above')
  })

  test('calls no telemetry stale while the sandbox plays its history', () => {
    const checks = [{ name: 'TELEMETRY', status: 'DEGRADED', detail: 'old' }]
    const known = {
      ...nothing,
      physical: [{ id: 'stade', name: 'Stade' } as never],
      health: new Map([['stade', { status: 'DEGRADED', checks } as never]]),
    }
    expect(needsOf(known, NOW, tell)).toHaveLength(1)
    expect(needsOf({ ...known, isPlaying: true }, NOW, tell)).toEqual([])
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

  test('names an outage that begins, then its end, then nothing', () => {
    const outage = { id: 'u', start: '2026-11-16T12:00:00Z', end: '2026-11-16T14:00:00Z', description: 'Inverter' }
    const titles = (at: string) =>
      comingOf(
        {
          auctions: [],
          unavailabilities: [{ name: 'Stade', item: outage as never }],
          hasBatteries: false,
          gateSeconds: 480,
          tellDay: tell,
          tellSpan: () => '',
        },
        Date.parse(at),
      )
        .filter((one) => one.note === 'Stade, Inverter')
        .map((one) => [one.title, tell(one.time)])
    expect(titles('2026-11-16T11:59:59Z')).toEqual([['Unavailable from', '12:00']])
    expect(titles('2026-11-16T12:00:00Z')).toEqual([['Available again', '14:00']])
    expect(titles('2026-11-16T14:00:00Z')).toEqual([])
  })

  test('skips the quarter-hour whose gate has closed', () => {
    expect(nextGate(Date.parse('2026-11-16T09:38:00Z'), 480).start).toBe(Date.parse('2026-11-16T10:00:00Z'))
    expect(nextGate(Date.parse('2026-11-16T09:36:59Z'), 480).start).toBe(Date.parse('2026-11-16T09:45:00Z'))
  })
})

describe('what needs the operator', () => {
  const quiet = { zones: [], checks: [], webhooks: [] }
  const needs = (more: object, operations: object = quiet) =>
    operatorNeeds(
      { auctions: [], physical: [], health: new Map(), operations: operations as never, ...more } as never,
      NOW,
      tell,
    )
  const unserved = (...points: [string, number][]) => ({
    ...quiet,
    zones: [{ deliveryZone: 'TenneT', quarters: points.map(([time, kw]) => ({ time, unserved: kw })) }],
  })

  test('is what a zone was not served: in MWh, at most in MW, and since when', () => {
    const [past] = needs({}, unserved(['2026-11-16T08:00:00Z', 4000], ['2026-11-16T08:15:00Z', -2000]))
    expect(past?.title).toBe('**1.5 MWh unserved** in TenneT, 08:00–08:30')
    expect(past?.note).toContain('2 quarter-hours, up to 4.0 MW')
    expect(past).toMatchObject({ deadline: null, since: Date.parse('2026-11-16T08:00:00Z') })
    const [coming] = needs({}, unserved(['2026-11-16T10:00:00Z', 4000]))
    expect(coming).toMatchObject({ deadline: Date.parse('2026-11-16T10:00:00Z'), since: null })
    expect(needs({}, unserved(['2026-11-16T08:00:00Z', 0.9]))).toEqual([])
  })

  test('is an auction without a bid in its last day, while it is open', () => {
    const keys = (end: string, more: object) => needs({ auctions: [auction('a', end, more)] }).map((need) => need.key)
    expect(keys('2026-11-17T09:33:25Z', { hasBid: false })).toEqual(['unbid-a'])
    expect(keys('2026-11-17T09:33:26Z', { hasBid: false })).toEqual([])
    expect(keys('2026-11-17T09:33:25Z', { hasBid: true })).toEqual([])
    expect(keys('2026-11-17T09:33:25Z', {})).toEqual([])
    expect(keys('2026-11-16T09:33:26Z', { hasBid: false })).toEqual([])
  })

  test('is the first of what a battery cannot hold', () => {
    const conflict = (start: string, power: number) => ({ kind: 'FCR', start, power, available: 500 })
    const conflicts = [conflict('2026-11-16T16:00:00Z', 9000), conflict('2026-11-16T12:00:00Z', -2000)]
    // That its promises do not fit is told by the conflict, and once.
    const checks = [{ name: 'PROMISES', status: 'DEGRADED', detail: '' }]
    const known = { physical: [{ id: 'stade', name: 'Stade' }], health: new Map([['stade', { conflicts, checks }]]) }
    const [need, ...rest] = needsOf({ ...nothing, ...known } as never, NOW, tell)
    expect(rest).toEqual([])
    expect(need).toMatchObject({
      note: '2 MW asked, 0.5 MW there; 2 conflicts in all',
      deadline: Date.parse('2026-11-16T12:00:00Z'),
      what: 'from 12:00',
    })
  })

  test('is a check that fails and a webhook that the platform switched off, not one that its owner did', () => {
    const hook = (id: string, more: object) => ({ id, url: 'http://127.0.0.1:9/a', description: '', ...more })
    const found = needs(
      {},
      {
        ...quiet,
        checks: [
          { name: 'disk', status: 'DOWN', detail: '3 % free' },
          { name: 'database', status: 'OK', detail: '' },
        ],
        webhooks: [
          hook('off', { enabled: false, disabledBecause: 'It failed for three days.' }),
          hook('own', { enabled: false }),
          hook('on', { enabled: true }),
        ],
      },
    )
    expect(found.map((need) => need.key)).toEqual(['check-disk', 'webhook-off'])
    expect(found[1]?.title).toContain('**127.0.0.1:9**')
  })
})

test('what is stored is told of those batteries whose charge is known, and not before one is', () => {
  const assets = [{ energyCapacity: 40_000 }, { energyCapacity: 10_000 }, { energyCapacity: 80_000 }]
  expect(storedOf(assets, [50, 0, null])).toEqual({ kwh: 20_000, ofKwh: 50_000 })
  expect(storedOf(assets, [null, null, null])).toBeNull()
})
