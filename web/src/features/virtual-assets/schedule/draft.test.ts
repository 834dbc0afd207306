import { describe, expect, test } from 'bun:test'
import { applied, clamped, EMPTY, isSamePower, reduce, splitByGate } from './draft'

const STORED = [0, 1000, -2000, 0]
const set = (changes: [number, number][], isSameStroke = false) => ({
  type: 'set' as const,
  changes: new Map(changes),
  stored: STORED,
  isSameStroke,
})

describe('a draft', () => {
  test('goes back and forth step by step', () => {
    let draft = reduce(EMPTY, set([[0, 500]]))
    draft = reduce(draft, set([[1, 0]]))
    expect(applied(STORED, draft.edits)).toEqual([500, 0, -2000, 0])
    draft = reduce(draft, { type: 'undo' })
    expect(applied(STORED, draft.edits)).toEqual([500, 1000, -2000, 0])
    draft = reduce(draft, { type: 'redo' })
    expect(applied(STORED, draft.edits)).toEqual([500, 0, -2000, 0])
    draft = reduce(reduce(draft, { type: 'undo' }), { type: 'undo' })
    expect(draft.edits.size).toBe(0)
    expect(reduce(draft, { type: 'undo' })).toBe(draft)
  })

  test('forgets what was undone once something new is set', () => {
    let draft = reduce(EMPTY, set([[0, 500]]))
    draft = reduce(draft, { type: 'undo' })
    draft = reduce(draft, set([[0, 700]]))
    expect(reduce(draft, { type: 'redo' })).toBe(draft)
  })

  test('takes a whole drag back at once', () => {
    let draft = reduce(EMPTY, set([[0, 100]]))
    draft = reduce(draft, set([[1, 100]], true))
    draft = reduce(draft, set([[2, 100]], true))
    expect(reduce(draft, { type: 'undo' }).edits.size).toBe(0)
  })

  test('takes a drag back that began where nothing changed', () => {
    let draft = reduce(EMPTY, set([[0, 0]]))
    draft = reduce(draft, set([[1, 500]], true))
    draft = reduce(draft, set([[2, 500]], true))
    expect(draft.undo).toHaveLength(1)
    expect(reduce(draft, { type: 'undo' }).edits.size).toBe(0)
  })

  test('keeps what is typed or taken back while it is being saved', () => {
    const sent = reduce(
      EMPTY,
      set([
        [0, 500],
        [1, 0],
      ]),
    ).edits
    let draft = reduce(
      { ...EMPTY, edits: sent },
      set([
        [1, 1000],
        [3, 700],
      ]),
    )
    draft = reduce(draft, { type: 'saved', sent, stored: STORED })
    expect(applied(applied(STORED, sent), draft.edits)).toEqual([500, 1000, -2000, 700])
    expect(draft.edits.size).toBe(2)
    expect(reduce({ ...EMPTY, edits: sent }, { type: 'saved', sent, stored: STORED })).toEqual(EMPTY)
  })

  test('holds no change that equals what is stored', () => {
    expect(reduce(EMPTY, set([[1, 1000]])).edits.size).toBe(0)
  })
})

describe('a power', () => {
  test('is the same one, however many digits it is written with', () => {
    expect(isSamePower(13_648.123456789, 13_648.123457)).toBeTrue()
    expect(isSamePower(100, 100.001)).toBeFalse()
    expect(isSamePower(100, undefined)).toBeFalse()
  })

  test('stays within what the quarter-hour can do', () => {
    expect(clamped(30_000, { charge: 10_000, discharge: 20_000 })).toBe(20_000)
    expect(clamped(-30_000, { charge: 10_000, discharge: 20_000 })).toBe(-10_000)
  })
})

test('an edit whose gate has passed is left out, and dropped without the others', () => {
  const edits = new Map([
    [3, 1000],
    [7, 2000],
  ])
  const { live, expired } = splitByGate(edits, (index) => index < 5)
  expect([...live]).toEqual([[7, 2000]])
  expect(expired).toEqual([3])
  const left = reduce({ ...EMPTY, edits }, { type: 'drop', indices: expired })
  expect([...left.edits]).toEqual([[7, 2000]])
  expect([...reduce(left, { type: 'undo' }).edits]).toEqual([...edits])
})
