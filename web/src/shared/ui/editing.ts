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
