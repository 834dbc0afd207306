import { expect, test } from 'bun:test'
import { differencesOf, mergedValues, startingSide, unreadable } from './editing'

test('fields that one side changed are its own, fields that both changed wait for a choice', () => {
  const base = { name: 'Elbe', power: '20', zone: 'TenneT', note: 'a' }
  const mine = { ...base, name: 'Elbe 20', power: '22', note: 'b' }
  const theirs = { ...base, power: '24', zone: 'Amprion', note: 'b' }
  const found = differencesOf(Object.keys(base), base, mine, theirs)
  expect(found).toEqual([
    { key: 'name', changedBy: 'mine' },
    { key: 'power', changedBy: 'both' },
    { key: 'zone', changedBy: 'theirs' },
  ])
  const sides = new Map(found.map((one) => [one.key, startingSide(one)]))
  expect(sides.get('power')).toBeNull()
  expect(mergedValues(theirs, mine, sides.set('power', 'mine'))).toEqual({
    name: 'Elbe 20',
    power: '22',
    zone: 'Amprion',
    note: 'b',
  })
})

test('what is no number and no moment is said to be none, and an empty number is none at all', () => {
  for (const text of ['12,5', ' 12.5', '', '-3']) expect(unreadable('number', text)).toBeUndefined()
  for (const text of ['2 a day', '1.000', 'none']) expect(unreadable('number', text)).toBeString()
  for (const text of ['300 kW', '1.000,5']) expect(unreadable('number', text, 'MW')).toBeUndefined()
  expect(unreadable('moment', '2026-11-17 08:00')).toBeUndefined()
  for (const text of ['', '17.11.2026 08:00', '2026-11-17 8:00'])
    expect(unreadable('moment', text)).toContain('such as')
  expect(unreadable('text', '2 a day')).toBeUndefined()
})
