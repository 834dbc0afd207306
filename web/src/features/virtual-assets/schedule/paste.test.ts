import { describe, expect, test } from 'bun:test'
import { readPasted } from './paste'

describe('what is pasted', () => {
  test('is MW unless it says kW', () => {
    expect(readPasted('3,5\n-2').powersKw).toEqual([3500, -2000])
    expect(readPasted('kW\n3500\n-2000').powersKw).toEqual([3500, -2000])
    expect(readPasted('3500 kW\n-2000 kW').powersKw).toEqual([3500, -2000])
    expect(readPasted('Power, MW\n3.5').powersKw).toEqual([3500])
    expect(readPasted('300kW\n-1.5 MW\n250').powersKw).toEqual([300, -1500, 250])
  })

  test('is read row by row, and an empty cell changes nothing', () => {
    expect(readPasted('1\t2\t\t4\n5\t6\t7\t8').powersKw).toEqual([1000, 2000, null, 4000, 5000, 6000, 7000, 8000])
  })

  test('is refused as a whole where a cell is no number', () => {
    expect(readPasted('1\nx\n3')).toEqual({ powersKw: [], fault: '“x” is not a power.' })
    expect(readPasted('').fault).toBeString()
    expect(readPasted(Array(101).fill('1').join('\n')).fault).toContain('100')
  })

  test('is refused where a cell has two readings', () => {
    expect(readPasted('1\n1.500').fault).toContain('1.500 or 1500')
    expect(readPasted('kW\n1.500').powersKw).toEqual([1500])
  })

  test('ends with the line break that spreadsheets add', () => {
    expect(readPasted('1\n2\n').powersKw).toEqual([1000, 2000])
  })
})
