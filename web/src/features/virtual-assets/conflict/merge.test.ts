import { describe, expect, test } from 'bun:test'
import { choiceOf, defaultChoice, energyOf, isChoiceStale, merged, rangesOf, withChoice } from './merge'

const open = () => false
const versions = (baseKw: number[], mineKw: number[], theirsKw: number[]) => ({ baseKw, mineKw, theirsKw })

describe('three versions of a day', () => {
  test('differ in ranges, each changed by one side or by both', () => {
    const three = versions([0, 0, 0, 0, 0, 0, 0], [0, 5, 0, 0, 0, 3, 4], [2, 0, 0, 0, 0, 0, 1])
    const ranges = rangesOf(three, open)
    expect(ranges.map(({ from, to, changedBy }) => [from, to, changedBy])).toEqual([
      [0, 2, 'both'],
      [5, 7, 'both'],
    ])
    const apart = rangesOf(versions([0, 0, 0, 0], [5, 0, 0, 0], [0, 0, 0, 7]), open)
    expect(apart.map(({ changedBy }) => changedBy)).toEqual(['mine', 'theirs'])
    expect(apart.map(defaultChoice)).toEqual(['mine', 'theirs'])
    expect(ranges.map(defaultChoice)).toEqual([null, null])
  })

  test('do not differ where both sides made the same change', () => {
    expect(rangesOf(versions([0, 0], [4, 0], [4, 0]), open)).toEqual([])
  })

  test('keep what is chosen, quarter-hour by quarter-hour', () => {
    const three = versions([0, 0, 0, 0], [5, 0, 6, 0], [0, 0, 7, 8])
    const ranges = rangesOf(three, open)
    expect(merged(three, ranges, ['mine', 'mine'])).toEqual([5, 0, 6, 0])
    expect(merged(three, ranges, ['mine', 'theirs'])).toEqual([5, 0, 7, 8])
    expect(merged(three, ranges, ['mine', null])).toEqual([5, 0, 7, 8])
  })

  test('drop a choice whose other side has moved again', () => {
    const before = versions([0, 0, 0], [5, 5, 0], [1, 1, 0])
    const [range] = rangesOf(before, open)
    if (!range) throw new Error('no range')
    const chosen = withChoice([], range, before, 'mine')
    expect([choiceOf(range, before, chosen), isChoiceStale(range, before, chosen)]).toEqual(['mine', false])
    const after = versions([0, 0, 0], [5, 5, 0], [1, 2, 0])
    expect([choiceOf(range, after, chosen), isChoiceStale(range, after, chosen)]).toEqual([null, true])
    const wider = rangesOf(versions([0, 0, 0], [5, 5, 0], [1, 1, 3]), open)[0]
    expect(wider && isChoiceStale(wider, before, chosen)).toBe(true)
    expect(withChoice(chosen, range, after, 'theirs')).toHaveLength(1)
  })

  test('leave what is past its gate as it is stored', () => {
    const three = versions([0, 0], [5, 5], [1, 0])
    const ranges = rangesOf(three, (index) => index === 0)
    expect(ranges.map(({ from, to, isClosed }) => [from, to, isClosed])).toEqual([
      [0, 1, true],
      [1, 2, false],
    ])
    expect(ranges.map(defaultChoice)).toEqual(['theirs', 'mine'])
    expect(merged(three, ranges, ['mine', 'mine'])).toEqual([1, 5])
  })

  test('are told in MWh', () => {
    expect(energyOf([-8000, -4000, 1000], { from: 0, to: 2, changedBy: 'both', isClosed: false })).toBe(-3)
  })
})
