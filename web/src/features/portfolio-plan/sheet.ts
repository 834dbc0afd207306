/** Plans as a sheet, time by battery: what is pasted from one, and what is taken along as CSV or Excel. */
import { plainNumber, readQuantity } from '../../shared/quantity'
import type { Zone } from '../../shared/time/marketDay'
import { localInput } from '../../shared/time/words'

export interface SheetRow {
  id: string
  name: string
  quarters: readonly number[]
}

export interface Pasted {
  /** By battery, then by quarter-hour of its plan; kW. */
  changes: Map<string, Map<number, number>>
  fault: string | null
}

const NOTHING = new Map<string, Map<number, number>>()
const refused = (fault: string): Pasted => ({ changes: NOTHING, fault })

/**
 * A head of batteries' names, then a time and powers in each line; without a head the columns are the batteries in the
 * order of `rows`. Powers are MW unless a cell or the head says kW; an empty cell changes nothing.
 */
export function readSheet(text: string, rows: readonly SheetRow[], zone: Zone): Pasted {
  const lines = text
    .replace(/\r/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.split(line.includes('\t') ? '\t' : ';').map((cell) => cell.trim()))
  const head = lines[0] ?? []
  const hasHead = !/^[\d-]+[T ]?\d*[AB]?:?\d*/.test(head[0] ?? '') || (head[0] ?? '') === ''
  const names = hasHead ? head.slice(1) : rows.map((one) => one.name)
  const columns: (SheetRow | undefined)[] = names.map((name) => rows.find((one) => isNamed(one.name, name)))
  const unknown = columns.indexOf(undefined)
  if (unknown >= 0) return refused(`“${names[unknown]}” is none of the batteries shown.`)
  const changes = new Map<string, Map<number, number>>()
  const body = hasHead ? lines.slice(1) : lines
  if (body.length === 0) return refused('There is no line with a time and powers in what was pasted.')
  const places = columns.map((row) => (row ? placesOf(row.quarters, zone) : new Map<string, number>()))
  for (const cells of body) {
    const at = timeOf(cells[0] ?? '')
    for (const [column, cell] of cells.slice(1).entries()) {
      const row = columns[column]
      if (!row) {
        if (cell === '') continue
        return refused(`${cells[0]} has more powers than there are batteries.`)
      }
      if (cell === '') continue
      const index = places[column]?.get(at)
      if (index === undefined) return refused(`${row.name} delivers in no quarter-hour “${cells[0]}” of this day.`)
      const isKw = /\bkW\b/i.test(names[column] ?? '')
      const { value, fault } = readQuantity(isKw ? `${cell} kW` : cell, 'MW')
      if (value === null) return refused(`${row.name}, ${cells[0]}: ${fault}`)
      const own = changes.get(row.id) ?? new Map<number, number>()
      changes.set(row.id, own.set(index, Math.round(value * 1000)))
    }
  }
  return { changes, fault: null }
}

const isNamed = (name: string, head: string) =>
  head.replace(/[\s,(]*\b[mk]W\b\)?$/i, '').toLowerCase() === name.toLowerCase()

/** `2026-11-17 08:15`, `08:15`, `08:15–08:30` → `08:15` */
const timeOf = (text: string): string => /(\d{1,2}[AB]?:\d\d)/i.exec(text)?.[1]?.toUpperCase().padStart(5, '0') ?? text

function placesOf(quarters: readonly number[], zone: Zone): Map<string, number> {
  return new Map(quarters.map((at, index) => [localInput(at, zone).slice(11), index]))
}

export interface Column {
  name: string
  /** MW by start. */
  powers: ReadonlyMap<number, number>
}

/** A line each quarter-hour; cells are texts or numbers, empty where a battery does not deliver. */
export function tableOf(quarters: readonly number[], columns: readonly Column[], zone: Zone): (string | number)[][] {
  return [
    ['Time', ...columns.map(({ name }) => name)],
    ...quarters.map((at) => [localInput(at, zone), ...columns.map(({ powers }) => powers.get(at) ?? '')]),
  ]
}

export function csvOf(table: readonly (string | number)[][]): string {
  const cell = (value: string | number) => {
    if (typeof value === 'number') return plainNumber(value)
    return /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
  }
  return `${table.map((line) => line.map(cell).join(',')).join('\r\n')}\r\n`
}
