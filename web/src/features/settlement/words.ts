import { words } from '../../shared/format'

const LINES: Record<string, string> = {
  TRADING: 'Wholesale',
  FCR: 'FCR',
  AFRR_CAPACITY: 'aFRR capacity',
  AFRR_ENERGY: 'aFRR energy',
  AUCTION: 'Auction price',
  TOLLING: 'Tolls',
  IMBALANCE: 'Imbalance',
  AVAILABILITY: 'Availability',
  SUBSTITUTION: 'Substitution',
  DRIFT: 'Drift',
  RESERVE_SHORTFALL: 'Reserve not held',
  END_OF_LIFE: 'End of life',
  CORRECTION: 'Corrections',
}

const ORDER = Object.keys(LINES)

/** As documents have them. */
export function inOrder(lines: Iterable<string>): string[] {
  const place = (line: string) => (ORDER.includes(line) ? ORDER.indexOf(line) : ORDER.length)
  return [...lines].sort((one, other) => place(one) - place(other))
}

export function lineInWords(line: string): string {
  return LINES[line] ?? words(line)
}
