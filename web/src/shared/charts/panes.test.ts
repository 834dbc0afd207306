import { describe, expect, test } from 'bun:test'
import { spanOf, wallAt } from '../time/marketDay'
import { hourMarks } from './panes'

const hours = (day: string) => hourMarks(spanOf(day), 'Europe/Berlin').map((at) => wallAt(at).hour)

describe('the marks of a day', () => {
  test('are every third hour on the wall, whatever the clocks do', () => {
    expect(hours('2026-11-16')).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 0])
    expect(hours('2026-10-25')).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 0])
    expect(hours('2026-03-29')).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 0])
  })

  test('are read in UTC where the reader wants it, none beside an end', () => {
    const marks = hourMarks(spanOf('2026-11-16'), 'UTC').map((at) => wallAt(at, 'UTC').hour)
    expect(marks).toEqual([23, 3, 6, 9, 12, 15, 18, 21, 23])
  })
})
