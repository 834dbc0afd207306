import { describe, expect, test } from 'bun:test'
import { readNumber, readPasted } from './paste'

describe('a pasted number', () => {
  test.each([
    ['3,5', 3.5],
    ['3.5', 3.5],
    ['-10', -10],
    ['−10,25', -10.25],
    ['1.234,5', 1234.5],
    ['1,234.5', 1234.5],
    ['+2', 2],
  ])('%s is read', (text, value) => expect(readNumber(text)).toBe(value))

  test.each(['abc', '1.2.3', '', '--2', '1e3', 'NaN'])('%s is none', (text) => expect(readNumber(text)).toBeNull())
})

describe('what is pasted', () => {
  test('is MW unless it says kW', () => {
    expect(readPasted('3,5\n-2').powersKw).toEqual([3500, -2000])
    expect(readPasted('kW\n3500\n-2000').powersKw).toEqual([3500, -2000])
    expect(readPasted('3500 kW\n-2000 kW').powersKw).toEqual([3500, -2000])
    expect(readPasted('Power, MW\n3.5').powersKw).toEqual([3500])
  })

  test('is read row by row, and an empty cell changes nothing', () => {
    expect(readPasted('1\t2\t\t4\n5\t6\t7\t8').powersKw).toEqual([1000, 2000, null, 4000, 5000, 6000, 7000, 8000])
  })

  test('is refused as a whole where a cell is no number', () => {
    expect(readPasted('1\nx\n3')).toEqual({ powersKw: [], fault: '“x” is not a power.' })
    expect(readPasted('').fault).toBeString()
    expect(readPasted(Array(101).fill('1').join('\n')).fault).toContain('100')
  })

  test('ends with the line break that spreadsheets add', () => {
    expect(readPasted('1\n2\n').powersKw).toEqual([1000, 2000])
  })
})
