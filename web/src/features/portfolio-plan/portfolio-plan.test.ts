import { describe, expect, mock, test } from 'bun:test'
import { quartersOf } from '../../shared/time/marketDay'
import { EMPTY, reduce } from './draft'
import { workbookOf } from './excel'
import { csvOf, readSheet, tableOf } from './sheet'

globalThis.localStorage ??= { getItem: () => null } as never
mock.module('virtual:operations', () => ({ default: new Set() }))
const { tradedOf } = await import('./data')
const { refusalsOf, batchesOf } = await import('./saving')
const { Refused } = await import('../../shared/api/problem')

const DAY = '2026-11-17'
const quarters = quartersOf(DAY)
const rows = [
  { id: 'e', name: 'Elbe', quarters },
  { id: 'w', name: 'Weser', quarters },
]
const read = (text: string, of = rows) => readSheet(text, of, 'Europe/Berlin')

describe('a pasted sheet', () => {
  test('is time by battery, by name or in the order shown', () => {
    const { changes, fault } = read('Time\tWeser\n08:00–08:15\t-1,5\n2026-11-17 08:15\t300 kW')
    expect(fault).toBeNull()
    expect([...(changes.get('w') ?? [])]).toEqual([
      [32, -1500],
      [33, 300],
    ])
    expect([...(read('00:00\t1\t2').changes.get('w') ?? [])]).toEqual([[0, 2000]])
    expect([...(read('Time;Elbe (kW)\n00:00;250').changes.get('e') ?? [])]).toEqual([[0, 250]])
  })

  test('is refused whole, with its place', () => {
    expect(read('Time\tRhine\n00:00\t1').fault).toBe('“Rhine” is none of the batteries shown.')
    expect(read('Time\tElbe\n00:07\t1').fault).toContain('no quarter-hour “00:07”')
    expect(read('Time\tElbe\n00:00\t1.500').fault).toContain('Elbe, 00:00: “1.500” can be 1.500 or 1500')
    expect(read('00:00\t1\t2\t3').fault).toContain('more powers than there are batteries')
    expect(read('Time\tElbe').fault).toContain('no line')
  })

  test('tells the hours of autumn apart', () => {
    const autumn = [{ id: 'e', name: 'Elbe', quarters: quartersOf('2026-10-25') }]
    expect([...(read('Time\tElbe\n02A:00\t1\n02B:00\t2', autumn).changes.get('e') ?? [])]).toEqual([
      [8, 1000],
      [12, 2000],
    ])
  })

  test('is what was exported', () => {
    const powers = new Map([[quarters[0] ?? 0, -1.25]])
    const table = tableOf(quarters.slice(0, 2), [{ name: 'Elbe, "one"', powers }], 'Europe/Berlin')
    expect(csvOf(table)).toBe('Time,"Elbe, ""one"""\r\n2026-11-17 00:00,-1.25\r\n2026-11-17 00:15,\r\n')
    const book = new TextDecoder('latin1').decode(workbookOf('a & b', table))
    expect(book.startsWith('PK')).toBeTrue()
    expect(book).toContain('<v>-1.25</v>')
    expect(book).toContain('name="a &amp; b"')
  })
})

describe('edits of many plans', () => {
  const stored = () => [0, 0]
  const edit = (id: string, power: number) => new Map([[id, new Map([[0, power]])]])

  test('have one way back over all of them, and one step for what belongs together', () => {
    let draft = reduce(EMPTY, { type: 'set', changes: edit('e', 5), stored })
    draft = reduce(draft, { type: 'set', changes: edit('w', 6), stored, isSameStep: true })
    draft = reduce(draft, { type: 'set', changes: edit('e', 0), stored })
    expect([...draft.edits.keys()]).toEqual(['w'])
    draft = reduce(reduce(draft, { type: 'undo' }), { type: 'undo' })
    expect(draft.edits.size).toBe(0)
    expect(
      reduce(reduce(draft, { type: 'redo' }), { type: 'drop', ids: ['e'] })
        .edits.get('w')
        ?.get(0),
    ).toBe(6)
  })

  test('keep what was changed after it was sent', () => {
    const sent = edit('e', 5)
    const draft = reduce(reduce(EMPTY, { type: 'set', changes: sent, stored }), {
      type: 'set',
      changes: edit('w', 1),
      stored,
    })
    expect([...reduce(draft, { type: 'saved', sent }).edits.keys()]).toEqual(['w'])
    const again = reduce(draft, { type: 'set', changes: edit('e', 7), stored })
    expect(reduce(again, { type: 'saved', sent }).edits.get('e')?.get(0)).toBe(7)
  })
})

describe('saving', () => {
  const row = (id: string, portfolioID?: string) => ({ asset: { id, portfolioID } }) as never

  test('goes by portfolio, fifty at a time, and one by one without', () => {
    const many = Array.from({ length: 51 }, (_, index) => row(`n${index}`, 'p'))
    expect(batchesOf([...many, row('a'), row('b')]).map((one) => [one.portfolioID, one.rows.length])).toEqual([
      ['p', 50],
      ['p', 1],
      [null, 1],
      [null, 1],
    ])
  })

  test('names each battery that was refused, and no other fault as one', () => {
    const problem = { type: '/docs/problems/energy-out-of-bounds', title: 'No', status: 422 }
    const detail = 'The stored energy would be 500 kWh below empty.'
    const figures = [{ text: '500 kWh', value: 500, unit: 'kWh' }]
    const assets = [{ ...problem, detail, figures, virtualAssetID: 'w' }]
    const refused = new Refused({ ...problem, assets } as never)
    expect([...refusalsOf(refused, null)]).toEqual([['w', 'The stored energy would be 0.5 MWh below empty.']])
    expect(refusalsOf(new Refused({ ...problem, status: 503 }), 'w').size).toBe(0)
    expect(refusalsOf(new Refused({ ...problem, status: 412 }), 'w').get('w')).toContain('colleague')
  })
})

test('a position is told apart by market', () => {
  const at = (index: number, power: number) => ({ time: new Date(quarters[index] ?? 0).toISOString(), power })
  const stages = [
    { stage: 'FCR', position: [at(0, 0)] },
    { stage: 'DAY_AHEAD', position: [at(0, 1000), at(1, 500)] },
    { stage: 'IDA1', position: [at(1, 700)] },
  ] as never
  const { dayAhead, later } = tradedOf(stages, DAY, 96)
  expect([dayAhead[0], dayAhead[1], later[0], later[1]]).toEqual([1000, 500, 0, 200])
})
