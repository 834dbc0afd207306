/** Powers from a spreadsheet: decimal comma or point, MW or kW where named, a column or a block of cells. */

export interface Pasted {
  /** kW, in reading order; null for an empty cell, which changes nothing. */
  powersKw: (number | null)[]
  fault: string | null
}

const MOST = 100

export function readPasted(text: string): Pasted {
  const cells = text
    .replace(/\r/g, '')
    .split('\n')
    .filter((line, index, all) => line.trim() !== '' || index < all.length - 1)
    .flatMap((line) => line.split(/\t|;/))
    .map((cell) => cell.trim())
  const named = cells.find((cell) => /\b(mw|kw)\b/i.test(cell))
  const isKw = named !== undefined && /\bkw\b/i.test(named)
  const powersKw: (number | null)[] = []
  for (const cell of cells) {
    const plain = cell.replace(/\b(mw|kw)\b/gi, '').trim()
    if (plain === '') {
      if (cell === '') powersKw.push(null)
      continue // a heading that only names the unit
    }
    const value = readNumber(plain)
    if (value === null) {
      if (powersKw.length === 0 && /[a-z]/i.test(plain)) continue // a heading
      return { powersKw: [], fault: `“${cell}” is not a power.` }
    }
    powersKw.push(Math.round(isKw ? value : value * 1000))
  }
  if (powersKw.length === 0) return { powersKw: [], fault: 'There is no number in what was pasted.' }
  if (powersKw.length > MOST)
    return { powersKw: [], fault: `A day has at most ${MOST} quarter-hours, and this are ${powersKw.length}.` }
  return { powersKw, fault: null }
}

/** `−1.234,5`, `1,234.5`, `3,5`, `3.5`, with a true or a plain minus; null for anything else. */
export function readNumber(text: string): number | null {
  let plain = text.replace(/[−–]/g, '-').replace(/[\s']/g, '')
  if (!/^[+-]?[\d.,]+$/.test(plain)) return null
  const comma = plain.lastIndexOf(',')
  const point = plain.lastIndexOf('.')
  if (comma >= 0 && point >= 0) {
    const decimal = comma > point ? ',' : '.'
    plain = plain.replaceAll(decimal === ',' ? '.' : ',', '').replace(decimal, '.')
  } else plain = plain.replace(',', '.')
  const value = Number(plain)
  return Number.isFinite(value) && (plain.match(/\./g)?.length ?? 0) <= 1 ? value : null
}
