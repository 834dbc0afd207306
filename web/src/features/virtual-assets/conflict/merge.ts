/** Three versions of a day: the one that editing began with, the reader's, and the one that was saved meanwhile. */

export type Side = 'mine' | 'theirs'

/** Neighbouring quarter-hours, `from` up to but not `to`, in which the two sides do not agree. */
export interface Range {
  from: number
  to: number
  changedBy: Side | 'both'
  /** Past its gate: what is stored stands. */
  isClosed: boolean
}

export interface Versions {
  baseKw: readonly number[]
  mineKw: readonly number[]
  theirsKw: readonly number[]
}

/** Runs of changed quarter-hours, divided where the gate has closed; runs on which both sides agree are none. */
export function rangesOf({ baseKw, mineKw, theirsKw }: Versions, isClosed: (index: number) => boolean): Range[] {
  const ranges: Range[] = []
  let from = 0
  while (from < baseKw.length) {
    if (!isTouched(from)) {
      from += 1
      continue
    }
    let to = from + 1
    while (to < baseKw.length && isTouched(to) && isClosed(to) === isClosed(from)) to += 1
    const run = Array.from({ length: to - from }, (_, each) => from + each)
    if (run.some((index) => mineKw[index] !== theirsKw[index])) {
      const isMine = run.some((index) => mineKw[index] !== baseKw[index])
      const isTheirs = run.some((index) => theirsKw[index] !== baseKw[index])
      ranges.push({
        from,
        to,
        changedBy: isMine && isTheirs ? 'both' : isMine ? 'mine' : 'theirs',
        isClosed: isClosed(from),
      })
    }
    from = to
  }
  return ranges

  function isTouched(index: number): boolean {
    return mineKw[index] !== baseKw[index] || theirsKw[index] !== baseKw[index]
  }
}

/** What is chosen without asking: who alone changed a range keeps it; both changed it: undecided; closed: theirs. */
export function defaultChoice({ changedBy, isClosed }: Range): Side | null {
  if (isClosed) return 'theirs'
  return changedBy === 'both' ? null : changedBy
}

/** What the reader chose for a range, and what the other side was then. */
export interface Choice {
  from: number
  to: number
  side: Side
  theirsKw: readonly number[]
}

const overlaps = (one: Choice, range: Range): boolean => one.from < range.to && one.to > range.from

function isCurrent(one: Choice, range: Range, { theirsKw }: Versions): boolean {
  if (one.from !== range.from || one.to !== range.to) return false
  return one.theirsKw.every((power, index) => power === theirsKw[range.from + index])
}

/** The side of a range: as it was chosen while the other side stays as it was then, else as without asking. */
export function choiceOf(range: Range, versions: Versions, chosen: readonly Choice[]): Side | null {
  return chosen.find((one) => isCurrent(one, range, versions))?.side ?? defaultChoice(range)
}

/** Something was chosen here, and the other side has moved since. */
export function isChoiceStale(range: Range, versions: Versions, chosen: readonly Choice[]): boolean {
  const here = chosen.filter((one) => overlaps(one, range))
  return !range.isClosed && here.length > 0 && !here.some((one) => isCurrent(one, range, versions))
}

export function withChoice(chosen: readonly Choice[], range: Range, versions: Versions, side: Side): Choice[] {
  const { from, to } = range
  return [
    ...chosen.filter((one) => !overlaps(one, range)),
    { from, to, side, theirsKw: versions.theirsKw.slice(from, to) },
  ]
}

/** The day as it would be saved. Undecided ranges show what is stored. */
export function merged({ mineKw, theirsKw }: Versions, ranges: Range[], choices: (Side | null)[]): number[] {
  const result = [...theirsKw]
  ranges.forEach((range, place) => {
    if (choices[place] !== 'mine' || range.isClosed) return
    for (let index = range.from; index < range.to; index += 1) result[index] = mineKw[index] ?? 0
  })
  return result
}

/** MWh of a range, export positive. */
export function energyOf(powersKw: readonly number[], { from, to }: Range): number {
  return powersKw.slice(from, to).reduce((sum, power) => sum + power / 4000, 0)
}
