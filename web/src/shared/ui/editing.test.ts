import { expect, test } from 'bun:test'
import { differencesOf, mergedValues, startingSide } from './editing'

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
