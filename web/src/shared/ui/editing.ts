import { type Limits, readQuantity, unitOf } from '../quantity'
import type { Zone } from '../time/marketDay'
import { readMoment } from '../time/words'

/** Three versions of a form: what it began with, the reader's, and what was saved meanwhile. */
export type Values = Record<string, string>
export type Side = 'mine' | 'theirs'

export interface Difference {
  key: string
  changedBy: Side | 'both'
}

/** Fields on which the two sides do not agree. */
export function differencesOf(keys: readonly string[], base: Values, mine: Values, theirs: Values): Difference[] {
  return keys
    .filter((key) => mine[key] !== theirs[key])
    .map((key) => {
      const isMine = mine[key] !== base[key]
      const isTheirs = theirs[key] !== base[key]
      return { key, changedBy: isMine && isTheirs ? 'both' : isMine ? 'mine' : 'theirs' }
    })
}

/** A change of one side alone is kept; where both sides changed a field, the reader chooses. */
export function startingSide({ changedBy }: Difference): Side | null {
  return changedBy === 'both' ? null : changedBy
}

export function mergedValues(theirs: Values, mine: Values, sides: ReadonlyMap<string, Side | null>): Values {
  const result = { ...theirs }
  for (const [key, side] of sides) if (side === 'mine') result[key] = mine[key] ?? ''
  return result
}

/** Why a text is no moment or no number; what cannot be read is never sent. A number that is left empty is none. */
export function unreadable(
  kind: string,
  text: string,
  unit?: string,
  zone: Zone = 'UTC',
  limits?: Limits,
): string | undefined {
  if (kind === 'moment') return readMoment(text, zone).fault ?? undefined
  if (kind === 'number' && text.trim() !== '') return readQuantity(text, unitOf(unit), limits).fault ?? undefined
  return undefined
}

/** In the field's unit; 0 where nothing stands, NaN where it has no one reading. */
export const numberFrom = (text: string, unit?: string): number =>
  text.trim() === '' ? 0 : (readQuantity(text, unitOf(unit)).value ?? Number.NaN)
