import { describe, expect, test } from 'bun:test'
import { fieldInWords, inWords, onceEach, type Scale } from './problem'

describe('a sentence of the service', () => {
  const said = (sentence: string) => inWords(sentence, 'Europe/Berlin')

  test('names no pointer, id or constant', () => {
    expect(said('The query parameter month: Expected a month, such as 2026-09.')).toBe(
      'Month: Expected a month, such as 2026-09.',
    )
    expect(said('/parameters/ratedChargePower: Expected a number of at least 0.')).toBe(
      'Rated charge power: Expected a number of at least 0.',
    )
    expect(said('There is no portfolio 019a1c5e-7b20-7c4e-9f1a-2b3c4d5e6f70.')).toBe('There is no portfolio.')
    expect(said('A GRID_CONSTRAINT lies there.')).toBe('A grid constraint lies there.')
  })

  test('names no series and no moment of UTC', () => {
    expect(said('No value of DAY_AHEAD_DE_LU from 2026-11-17T23:00:00Z on.')).toBe(
      'No value of the day-ahead price from Wed 18 Nov 00:00 on.',
    )
  })

  test('shows the quantities that the service names in MW, reads no other number, and says the same thing once', () => {
    const kw = (value: number) => ({ text: `${value} kW`, value, unit: 'kW' })
    const once = '99000 kW are more than the 14000 kW that are rated'
    const figures = [kw(99000), kw(14000), kw(99000), kw(14000)]
    expect(onceEach(inWords(`${once}; ${once}.`, 'Europe/Berlin', figures))).toBe(
      '99 MW are more than the 14 MW that are rated.',
    )
    expect(inWords('From 12000 kW to 2000 kW.', 'Europe/Berlin', [kw(12000), kw(2000)])).toBe('From 12 MW to 2 MW.')
    expect(said('Its store will hold 5552.25 of 62000 kWh.')).toBe('Its store will hold 5552.25 of 62000 kWh.')
    expect(onceEach('One is late; another is early.')).toBe('One is late; another is early.')
  })

  test('keeps what is no code', () => {
    expect(said('entsoe needs GRIDLOOM_ENTSOE_TOKEN.')).toBe('entsoe needs GRIDLOOM_ENTSOE_TOKEN.')
    expect(said('FCR of TenneT: 6 MW, PDF and CSV.')).toBe('FCR of TenneT: 6 MW, PDF and CSV.')
  })
})

test('a field is named by its words, and by its place in a list', () => {
  expect(fieldInWords('/email')).toBe('Email')
  expect(fieldInWords('/schedule/3/power')).toBe('Power, number 4')
  expect(fieldInWords('query:as-of')).toBe('As of')
})

test('a limit is told in the unit of the field, where the service names it as a figure', () => {
  const bound = (text: string) => [{ text, value: Number(text), unit: '' }]
  const told = (text: string, scale?: Scale) =>
    inWords(`Expected a number of at most ${text}`, 'UTC', bound(text), scale)
  expect(told('1', { factor: 0.01, unit: '%' })).toBe('Expected a number of at most 100 %')
  expect(told('1e+07', { factor: 1000, unit: 'MW' })).toBe('Expected a number of at most 10000 MW')
  expect(told('1')).toBe('Expected a number of at most 1')
  expect(inWords('At least 1 character', 'UTC', [], { factor: 0.01, unit: '%' })).toBe('At least 1 character')
})
