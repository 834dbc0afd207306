import { describe, expect, mock, test } from 'bun:test'
import type { Names } from './item'
import { itemsOf } from './items'
import type { AlertRules } from './rules'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { ALL, isTold } = await import('./rules')

const names: Names = {
  battery: () => 'Weser',
  auction: () => ({
    what: '12 MW · 24 MWh TenneT',
    price: 13480,
    virtualAssetID: 'v',
    end: Date.parse('2026-11-18T00:00:00Z'),
  }),
  isPlanned: () => false,
  now: Date.parse('2026-11-16T12:00:00Z'),
  author: (_, version) => (version === 7 ? null : 'Jonas Petersen'),
  tellTime: (ms) => new Date(ms).toISOString().slice(11, 16),
  tellEnd: (ms) => new Date(ms).toISOString().slice(11, 16),
  tellDay: () => 'Tue 17 Nov',
}
const event = (type: string, subject: string, data: object, time = '2026-11-16T10:00:00Z') =>
  ({ id: `${type}${time}`, type, subject, data, time }) as never
const updated = (version: number, time: string) =>
  event(
    'schedule.updated',
    'virtual-assets/v',
    { start: '2026-11-17T01:30:00Z', end: '2026-11-17T02:45:00Z', periods: 5, version },
    time,
  )
const result = (bid: string, status: string, product: string, time?: string, asset = 'p', deliveryDay = '2026-11-17') =>
  event('ancillary.result', `physical-assets/${asset}/ancillary/bids/${bid}`, { status, product, deliveryDay }, time)

describe('the inbox', () => {
  test('has one row a thing, the newest of it', () => {
    const items = itemsOf([updated(5, '2026-11-16T09:00:00Z'), updated(6, '2026-11-16T09:31:00Z')], names)
    expect(items.map((item) => item.key)).toEqual(['schedule-v-2026-11-17'])
    expect(items[0]?.title).toBe('Jonas Petersen changed **Weser**, Tue 17 Nov')
    expect(items[0]?.time).toBe(Date.parse('2026-11-16T09:31:00Z'))
  })

  test('says nothing of what the reader did', () => {
    expect(itemsOf([updated(7, '2026-11-16T09:00:00Z')], names)).toEqual([])
  })

  test('tells won and lost, never who else bid', () => {
    const cleared = (status: string) => itemsOf([event('auction.cleared', 'auctions/a', { status })], names)[0]
    expect(cleared('WON')?.note).toBe('You pay €13,480.00')
    expect(cleared('LOST')?.note).toBe('Your bid €13,480.00; other bids are never shown')
    expect(cleared('NO_BIDS_SUBMITTED')).toBeUndefined()
    expect(itemsOf([event('bid.placed', 'auctions/a', {})], names)).toEqual([])
  })

  test('asks for a plan until there is one or it is too late, and for nothing that is over', () => {
    const won = (some: Partial<Names>) =>
      itemsOf([event('auction.cleared', 'auctions/a', { status: 'WON' })], { ...names, ...some })[0]?.fix
    expect(won({})?.label).toBe('Plan it')
    expect(won({ isPlanned: () => true })).toBeNull()
    expect(won({ now: Date.parse('2026-11-18T00:00:00Z') })).toBeNull()
    const changed = (now: string) =>
      itemsOf([updated(5, '2026-11-16T09:00:00Z')], { ...names, now: Date.parse(now) })[0]?.fix
    expect(changed('2026-11-17T02:30:00Z')?.label).toBe('History')
    expect(changed('2026-11-17T02:45:00Z')).toBeNull()
  })

  test('joins the results of a day into one row, and leads from a cut to its repair', () => {
    const [row] = itemsOf([result('a', 'ACCEPTED', 'POS_00_04'), result('b', 'REJECTED', 'POS_16_20')], names)
    expect(row?.title).toBe('aFRR capacity: **1 of 2 bids accepted**, Weser')
    const cut = {
      timestamp: '2026-11-17T13:00:00Z',
      acceptedSchedule: -15000,
      adjustedSchedule: -12500,
      reason: 'AVAILABILITY',
    }
    const [expected] = itemsOf(
      [event('virtual-asset.availability-changed', 'virtual-assets/v', { expectedCuts: [cut] })],
      names,
    )
    expect(expected?.note).toBe('−15.0 → −12.5 MW, 0.6 MWh less')
    expect(expected?.fix?.label).toBe('Repair plan')
  })

  test('is as new as the newest of the results that a row joins, in whatever order they come', () => {
    const [early, middle, late] = ['2026-11-16T08:20:00Z', '2026-11-16T09:05:00Z', '2026-11-16T09:50:00Z']
    const rows = itemsOf(
      [
        result('a', 'REJECTED', 'NEG_04_08', middle),
        result('b', 'REJECTED', 'NEG_08_12', late),
        result('c', 'REJECTED', 'POS_08_12', early),
        result('d', 'ACCEPTED', 'NEGPOS_08_12', early),
        result('e', 'ACCEPTED', 'POS_033', middle),
        result('f', 'REJECTED', 'POS_08_12', early, 'q'),
        result('g', 'ACCEPTED', 'POS_08_12', middle, 'p', '2026-11-18'),
      ],
      names,
    )
    expect(rows.map((row) => [row.title, row.note, row.tone, row.time, row.place.to])).toEqual([
      [
        'aFRR capacity: **0 of 3 bids accepted**, Weser',
        'delivery Tue, 17 Nov 2026',
        'quiet',
        Date.parse(late),
        '/physical-assets/p/bids',
      ],
      [
        'aFRR energy: **1 of 1 bid accepted**, Weser',
        'delivery Tue, 17 Nov 2026',
        'good',
        Date.parse(middle),
        '/physical-assets/p/bids',
      ],
      [
        'aFRR capacity: **1 of 1 bid accepted**, Weser',
        'delivery Wed, 18 Nov 2026',
        'good',
        Date.parse(middle),
        '/physical-assets/p/bids',
      ],
      [
        'FCR: **1 of 1 bid accepted**, Weser',
        'delivery Tue, 17 Nov 2026',
        'good',
        Date.parse(early),
        '/physical-assets/p/bids',
      ],
      [
        'aFRR capacity: **0 of 1 bid accepted**, Weser',
        'delivery Tue, 17 Nov 2026',
        'quiet',
        Date.parse(early),
        '/physical-assets/q/bids',
      ],
    ])
  })

  test('counts a corrected result once, as it was corrected, and the quarter-hours of a bid each', () => {
    const [row] = itemsOf(
      [
        result('a', 'ACCEPTED', 'POS_08_12', '2026-11-16T08:20:00Z'),
        result('b', 'REJECTED', 'POS_12_16', '2026-11-16T08:20:00Z'),
        result('a', 'REJECTED', 'POS_08_12', '2026-11-16T10:35:00Z'),
      ],
      names,
    )
    expect(row?.title).toBe('aFRR capacity: **0 of 2 bids accepted**, Weser')
    expect(row?.time).toBe(Date.parse('2026-11-16T10:35:00Z'))
    const [energy] = itemsOf([result('a', 'ACCEPTED', 'POS_033'), result('a', 'REJECTED', 'POS_034')], names)
    expect(energy?.title).toBe('aFRR energy: **1 of 2 bids accepted**, Weser')
  })
})

test('the quarter-hours of a battery and day are one row, told from a size on', () => {
  const quarter = (start: string, asked: number, delivered: number) =>
    event('dispatch.deviation', 'physical-assets/stade', { asked, delivered, start })
  const [item, ...rest] = itemsOf(
    [
      quarter('2026-11-16T09:00:00Z', 500, 0),
      quarter('2026-11-16T09:15:00Z', 500, 100),
      quarter('2026-11-16T09:15:00Z', 500, 200),
    ],
    names,
  )
  expect(rest).toEqual([])
  expect(item?.title).toStartWith('0.8 MWh off its dispatch')
  expect(item?.note).toEndWith('2 quarter-hours, at last 0.3 MWh not exported')
  const told = (rules: Partial<AlertRules>) => item && isTold(item, { ...ALL, ...rules })
  expect([told({}), told({ leastMwh: 0.9 }), told({ off: ['deviation'] }), told({ off: ['cut'] })]).toEqual([
    true,
    false,
    false,
    true,
  ])
})

describe('a deviation', () => {
  test.each([
    [500, 0, '0.5 MWh not exported'],
    [0, 500, '0.5 MWh exported without being asked'],
    [0, -500, '0.5 MWh imported without being asked'],
    [-1000, -400, '0.6 MWh not imported'],
    [400, 1000, '0.6 MWh too much exported'],
    [400, -100, '0.5 MWh the wrong way'],
  ])('of %d asked and %d measured says which way it went', (asked, delivered, words) => {
    const data = { asked, delivered, start: '2026-11-16T09:00:00Z' }
    const [item] = itemsOf([event('dispatch.deviation', 'physical-assets/stade', data)], names)
    expect(item?.title).toStartWith(words)
  })
})
