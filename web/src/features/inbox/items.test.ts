import { describe, expect, test } from 'bun:test'
import { itemsOf, type Names } from './items'

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
    const result = (status: string, product: string) =>
      event('ancillary.result', 'physical-assets/p/ancillary/bids/b', { status, product, deliveryDay: '2026-11-17' })
    const [row] = itemsOf([result('ACCEPTED', 'POS_00_04'), result('REJECTED', 'POS_16_20')], names)
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
})
