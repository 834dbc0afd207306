import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { EVENT_TYPES, staleKeys } = await import('./live')

describe('an event', () => {
  test('makes something stale, whatever its type', () => {
    for (const type of EVENT_TYPES) expect(staleKeys(type).length).toBeGreaterThan(0)
  })
})
