/** The edits of many plans at once, with one way back over all of them. */
export type Edits = ReadonlyMap<string, ReadonlyMap<number, number>>

export interface Draft {
  /** By battery, then by quarter-hour of its plan; kW. */
  edits: Edits
  undo: readonly Edits[]
  redo: readonly Edits[]
}

export const EMPTY: Draft = { edits: new Map(), undo: [], redo: [] }
const MOST_STEPS = 100

export type Action =
  /** `isSameStep`: part of what was just done, so that one step back takes both. */
  | { type: 'set'; changes: Edits; stored: (id: string) => readonly number[]; isSameStep?: boolean }
  | { type: 'undo' }
  | { type: 'redo' }
  | { type: 'drop'; ids: readonly string[] }
  /** These are stored now; what was changed since they were sent stays. */
  | { type: 'saved'; sent: Edits }

export function reduce(draft: Draft, action: Action): Draft {
  switch (action.type) {
    case 'set': {
      const edits = new Map(draft.edits)
      for (const [id, changes] of action.changes) {
        const own = merged(edits.get(id), changes, action.stored(id))
        if (own.size === 0) edits.delete(id)
        else edits.set(id, own)
      }
      return step(draft, edits, action.isSameStep)
    }
    case 'undo': {
      const before = draft.undo.at(-1)
      return before ? { edits: before, undo: draft.undo.slice(0, -1), redo: [...draft.redo, draft.edits] } : draft
    }
    case 'redo': {
      const after = draft.redo.at(-1)
      return after ? { edits: after, undo: [...draft.undo, draft.edits], redo: draft.redo.slice(0, -1) } : draft
    }
    case 'drop': {
      const gone = new Set(action.ids)
      return step(draft, new Map([...draft.edits].filter(([id]) => !gone.has(id))))
    }
    case 'saved': {
      const edits = new Map(draft.edits)
      for (const [id, sent] of action.sent) {
        const left = new Map([...(edits.get(id) ?? [])].filter(([index, power]) => sent.get(index) !== power))
        if (left.size === 0) edits.delete(id)
        else edits.set(id, left)
      }
      // What was undone to before it was saved is no way back: it is stored.
      return { edits, undo: [], redo: [] }
    }
  }
}

function merged(
  before: ReadonlyMap<number, number> | undefined,
  changes: ReadonlyMap<number, number>,
  stored: readonly number[],
): Map<number, number> {
  const own = new Map(before)
  for (const [index, power] of changes) {
    if (Math.abs(power - (stored[index] ?? 0)) < 1e-5) own.delete(index)
    else own.set(index, power)
  }
  return own
}

function step(draft: Draft, edits: Edits, isSameStep = false): Draft {
  return { edits, undo: isSameStep ? draft.undo : [...draft.undo.slice(-MOST_STEPS), draft.edits], redo: [] }
}

export const countOf = (edits: Edits): number => [...edits.values()].reduce((sum, one) => sum + one.size, 0)
