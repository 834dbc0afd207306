import { describe, expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
const { namedPath } = await import('./names')

const STADE = '01988f0a-45b6-7d8e-9f00-112233445566'

describe('a path', () => {
  test('has names where they are known, and the end of an id where not', () => {
    const nameOf = (id: string) => (id === STADE ? 'Stade' : undefined)
    const other = '01988f0a-45b6-7d8e-9f00-aabbccddeeff'
    expect(namedPath(`physical-assets/${STADE}/grants/${other}`, nameOf)).toBe('physical-assets/Stade/grants/…ccddeeff')
    expect(namedPath('auth/me', nameOf)).toBe('auth/me')
  })
})
