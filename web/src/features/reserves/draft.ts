/** What is typed into the table of bids, read, and held against what is free. */
import type { Day } from '../../shared/time/marketDay'
import type { Bid, SubjectDay } from './data'
import type { Target } from './placing'
import { BLOCKS, hourOf, isOpen, productOf, ROWS, stageOf } from './products'
import { fared, megawattsOf, type Past, plain, readSteps, type Step, tellSteps } from './steps'

export interface Draft {
  /** By product. */
  texts: Record<string, string>
  /** Energy prices by row, POS and NEG. */
  energies: Record<string, string>
}

const offered = (bids: readonly Bid[] | undefined): Bid[] => (bids ?? []).filter((one) => one.status === 'OFFERED')

/** What stands, as it would be typed. */
export function draftOf({ bids }: SubjectDay): Draft {
  const draft: Draft = { texts: {}, energies: {} }
  for (const { code } of ROWS) {
    const own = BLOCKS.flatMap((hour) => offered(bids.get(productOf(code, hour))))
    const energy = own[0]?.energyPrice ?? null
    draft.energies[code] = energy === null ? '' : plain(energy)
    for (const hour of BLOCKS) {
      const product = productOf(code, hour)
      draft.texts[product] = tellSteps(offered(bids.get(product)), energy)
    }
  }
  return draft
}

export interface Cell {
  steps: Step[] | null
  fault: string | null
  isOpen: boolean
}

export function readDraft(shown: Draft, { subject, day }: SubjectDay, now: number): Map<string, Cell> {
  const cells = new Map<string, Cell>()
  for (const { code, stage } of ROWS)
    for (const hour of BLOCKS) {
      const product = productOf(code, hour)
      const read = readSteps(shown.texts[product] ?? '', code === 'NEGPOS', shown.energies[code] ?? '')
      const isTooMany = subject.kind === 'virtual' && (read.steps?.length ?? 0) > 1
      cells.set(product, {
        steps: isTooMany ? null : read.steps,
        fault: isTooMany ? 'An order has one step for each product.' : read.fault,
        isOpen: isOpen(stage, day, now),
      })
    }
  return cells
}

/** What a target would have offered in a block, by product. */
export function offersOf({ of, wanted }: Target, hour: number): Map<string, number> {
  return new Map(
    ROWS.map(({ code }) => {
      const product = productOf(code, hour)
      return [code, megawattsOf(wanted.get(product) ?? offered(of.bids.get(product)))]
    }),
  )
}

/** MW that may be offered in a block with what the day's own bids hold given back. */
export function roomOf({ of }: Target, hour: number, direction: 'up' | 'down'): number {
  const block = of.blocks.find((one) => one.hour === hour)
  if (!block) return 0
  const own = (code: string) => megawattsOf(offered(of.bids.get(productOf(code, hour))))
  return block[direction].free + own('NEGPOS') + own(direction === 'up' ? 'POS' : 'NEG')
}

export interface Over {
  of: SubjectDay
  hour: number
  direction: 'up' | 'down'
  /** MW too many. */
  by: number
  room: number
}

/** Where more would be offered than is free; blocks in which nothing is changed are left alone. */
export function tooMuch(target: Target | undefined): Over[] {
  if (!target) return []
  const touched = new Set([...target.wanted.keys()].map(hourOf))
  return BLOCKS.filter((hour) => touched.has(hour)).flatMap((hour) => {
    const offers = offersOf(target, hour)
    return (['up', 'down'] as const).flatMap((direction) => {
      const asked = (offers.get('NEGPOS') ?? 0) + (offers.get(direction === 'up' ? 'POS' : 'NEG') ?? 0)
      const room = roomOf(target, hour, direction)
      return asked > room + 1e-6 ? [{ of: target.of, hour, direction, by: asked - room, room }] : []
    })
  })
}

/** What all that is typed would earn on an average day of those before, EUR. */
export function expectedOf(cells: ReadonlyMap<string, Cell>, day: Day, past: ReadonlyMap<string, Past> | undefined) {
  const found = { fcr: 0, afrr: 0, isKnown: false, days: 0 }
  for (const [product, { steps }] of cells)
    for (const step of steps ?? []) {
      const how = fared(step, product, day, past?.get(product) ?? [])
      if (!how) return { ...found, isKnown: false }
      found.isKnown = true
      found.days = Math.max(found.days, how.of)
      if (stageOf(product) === 'FCR') found.fcr += how.expected
      else found.afrr += how.expected
    }
  return found
}
