import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { EVENT_TYPES, staleKeys } = await import('./live')

describe('an event', () => {
  test('makes something stale, whatever its type', () => {
    for (const type of EVENT_TYPES) expect(staleKeys(type).length).toBeGreaterThan(0)
    expect(staleKeys('weather.changed')).toEqual([])
  })

  test('has all read anew that it changed', () => {
    expect(staleKeys('auction.cleared')).toEqual(['auctions', 'virtual-assets'])
    expect(staleKeys('schedule.updated')).toEqual(['virtual-assets', 'physical-assets', 'delivery'])
    expect(staleKeys('unavailability.created')).toEqual(['physical-assets', 'virtual-assets'])
    expect(staleKeys('dispatch.deviation')).toEqual(['delivery', 'physical-assets'])
    expect(staleKeys('data-points.updated')).toEqual(['revenue', 'virtual-assets'])
    expect(staleKeys('statement.issued')).toEqual(['statements', 'revenue'])
    expect(staleKeys('forecast.published')).toEqual(['forecasts', 'valuations'])
  })
})
