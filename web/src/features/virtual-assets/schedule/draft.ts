/** A day's plan while it is edited: what is stored, what is changed, and the way back. */

export interface Draft {
  /** Changed quarter-hours, by their place in the day; kW. */
  edits: ReadonlyMap<number, number>
  undo: readonly ReadonlyMap<number, number>[]
  redo: readonly ReadonlyMap<number, number>[]
  /** What the edits were when a stroke began that has changed nothing yet. */
  before: ReadonlyMap<number, number> | null
}

export const EMPTY: Draft = { edits: new Map(), undo: [], redo: [], before: null }
const MOST_STEPS = 200

export type Action =
  | { type: 'set'; changes: ReadonlyMap<number, number>; stored: readonly number[]; isSameStroke?: boolean }
  | { type: 'undo' }
  | { type: 'redo' }
  | { type: 'clear' }
  /** Edits of which the gate has passed are dropped. */
  | { type: 'drop'; indices: readonly number[] }
  /** These edits are stored now, in place of what was stored before; what was changed since they were sent stays. */
  | { type: 'saved'; sent: ReadonlyMap<number, number>; stored: readonly number[] }
  /** Other edits, made elsewhere, in place of these. */
  | { type: 'take'; edits: ReadonlyMap<number, number> }

export function reduce(draft: Draft, action: Action): Draft {
  switch (action.type) {
    case 'set': {
      const edits = new Map(draft.edits)
      for (const [index, power] of action.changes) {
        if (power === action.stored[index]) edits.delete(index)
        else edits.set(index, power)
      }
      // One drag is one step back, however many points it passed, and none if it changed nothing.
      const before = action.isSameStroke ? draft.before : draft.edits
      if (isSame(edits, draft.edits)) return before === draft.before ? draft : { ...draft, before }
      const undo = before === null ? draft.undo : [...draft.undo.slice(-MOST_STEPS), before]
      return { edits, undo, redo: [], before: null }
    }
    case 'undo': {
      const before = draft.undo.at(-1)
      if (!before) return draft
      return { edits: before, undo: draft.undo.slice(0, -1), redo: [...draft.redo, draft.edits], before: null }
    }
    case 'redo': {
      const after = draft.redo.at(-1)
      if (!after) return draft
      return { edits: after, undo: [...draft.undo, draft.edits], redo: draft.redo.slice(0, -1), before: null }
    }
    case 'clear':
      return draft.edits.size === 0
        ? EMPTY
        : { edits: new Map(), undo: [...draft.undo, draft.edits], redo: [], before: null }
    case 'drop': {
      const gone = new Set(action.indices)
      const edits = new Map([...draft.edits].filter(([index]) => !gone.has(index)))
      return { edits, undo: [...draft.undo, draft.edits], redo: [], before: null }
    }
    case 'saved': {
      const edits = new Map([...draft.edits].filter(([index, power]) => action.sent.get(index) !== power))
      // Taken back while it was on its way: what was stored before is a change now.
      for (const index of action.sent.keys()) if (!draft.edits.has(index)) edits.set(index, action.stored[index] ?? 0)
      return { ...EMPTY, edits }
    }
    case 'take':
      return { ...EMPTY, edits: action.edits }
  }
}

function isSame(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): boolean {
  return a.size === b.size && [...a].every(([index, power]) => b.get(index) === power)
}

/** A hundredth of a watt: below it two powers are the same one, written with more or fewer digits. */
const SAME_KW = 1e-5

/** Edits that can still be saved, and the places of those whose gate has passed since they were made. */
export function splitByGate(
  edits: ReadonlyMap<number, number>,
  isClosed: (index: number) => boolean,
): { live: ReadonlyMap<number, number>; expired: readonly number[] } {
  const expired = [...edits.keys()].filter(isClosed).sort((a, b) => a - b)
  return { live: expired.length === 0 ? edits : new Map([...edits].filter(([index]) => !isClosed(index))), expired }
}

export function isSamePower(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && Math.abs(a - b) < SAME_KW
}

export function applied(stored: readonly number[], edits: ReadonlyMap<number, number>): number[] {
  return stored.map((power, index) => edits.get(index) ?? power)
}

/** Within what the quarter-hour can take and give. */
export function clamped(powerKw: number, limits: { charge: number; discharge: number } | undefined): number {
  if (!limits) return powerKw
  return Math.min(limits.discharge, Math.max(-limits.charge, powerKw))
}
