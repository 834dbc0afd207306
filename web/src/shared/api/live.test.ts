import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { EVENT_TYPES, isStale, staleKeys, staleOf } = await import('./live')

describe('an event', () => {
  test('is listened for, whatever its type, and makes something stale', async () => {
    const { webhooks } = await Bun.file(new URL('../../../../openapi.json', import.meta.url)).json()
    expect(EVENT_TYPES.toSorted()).toEqual(Object.keys(webhooks).sort() as never)
    for (const type of EVENT_TYPES) expect(staleKeys(type).length).toBeGreaterThan(0)
    expect(staleKeys('weather.changed')).toEqual([])
  })

  test('of one thing has that one read anew, and lists, but no other of its kind', () => {
    const id = '019a1c5e-7b20-7c4e-9f1a-2b3c4d5e6f70'
    const other = '019a1c5e-7b20-7c4e-9f1a-2b3c4d5e6f71'
    const stale = staleOf({ type: 'schedule.updated', subject: `virtual-assets/${id}` })
    expect(stale).toEqual([{ key: 'virtual-assets', id }, { key: 'delivery' }])
    const is = (...key: unknown[]) => isStale(key, stale)
    expect([is('virtual-assets', id, 'plan'), is('virtual-assets', 'list'), is('delivery')]).toEqual([true, true, true])
    const spared = [['virtual-assets', other, 'plan'], ['physical-assets', other], ['auctions'], ['delivered']]
    expect(spared.filter((key) => is(...key))).toEqual([])
    const outage = staleOf({ type: 'unavailability.created', subject: `physical-assets/${id}` })
    expect(isStale(['virtual-assets', other], outage)).toBe(true)
  })

  test('has all read anew that it changed', () => {
    expect(staleKeys('auction.cleared')).toEqual(['auctions', 'virtual-assets'])
    expect(staleKeys('schedule.updated')).toEqual(['virtual-assets', 'physical-assets', 'delivery'])
    expect(staleKeys('unavailability.created')).toEqual(['physical-assets', 'virtual-assets'])
    expect(staleKeys('dispatch.deviation')).toEqual(['delivery', 'delivered', 'last-quarter', 'physical-assets'])
    expect(staleKeys('data-points.updated')).toEqual(['revenue', 'virtual-assets'])
    expect(staleKeys('statement.issued')).toEqual(['statements', 'revenue'])
    expect(staleKeys('forecast.published')).toEqual(['forecasts', 'valuations'])
  })
})
