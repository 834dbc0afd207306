/** Powers from a spreadsheet: decimal comma or point, MW or kW where named, a column or a block of cells. */

import { readQuantity } from '../../../shared/quantity'

export interface Pasted {
  /** kW, in reading order; null for an empty cell, which changes nothing. */
  powersKw: (number | null)[]
  fault: string | null
}

const MOST = 100
/** Also right behind its number: `300kW`. */
const UNIT = /(?<![a-z])[mk]w\b/gi

const unitIn = (cell: string): string | null => cell.match(UNIT)?.[0].toLowerCase() ?? null

export function readPasted(text: string): Pasted {
  const cells = text
    .replace(/\r/g, '')
    .split('\n')
    .filter((line, index, all) => line.trim() !== '' || index < all.length - 1)
    .flatMap((line) => line.split(/\t|;/))
    .map((cell) => cell.trim())
  // The first unit that is named, by a heading or a cell, is that of the cells that name none.
  const named = cells.map(unitIn).find((unit) => unit !== null)
  const powersKw: (number | null)[] = []
  for (const cell of cells) {
    const plain = cell.replace(UNIT, '').trim()
    if (plain === '') {
      if (cell === '') powersKw.push(null)
      continue // a heading that only names the unit
    }
    const isKw = (unitIn(cell) ?? named) === 'kw'
    const { value, fault } = readQuantity(plain, 'MW', isKw ? { decimals: 2 } : {})
    if (value === null) {
      if (powersKw.length === 0 && /[a-z]/i.test(plain)) continue // a heading
      return { powersKw: [], fault: fault.includes('can be') ? fault : `“${cell}” is not a power.` }
    }
    powersKw.push(Math.round(isKw ? value : value * 1000))
  }
  if (powersKw.length === 0) return { powersKw: [], fault: 'There is no number in what was pasted.' }
  if (powersKw.length > MOST)
    return { powersKw: [], fault: `A day has at most ${MOST} quarter-hours, and this are ${powersKw.length}.` }
  return { powersKw, fault: null }
}
