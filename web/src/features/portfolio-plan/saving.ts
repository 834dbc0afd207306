/** Many plans saved by one key: of a portfolio all or none, a battery in no portfolio by itself. */
import { ask } from '../../shared/api/client'
import { type Problem, Refused, sentenceOf } from '../../shared/api/problem'
import { instant } from '../../shared/time/marketDay'
import { pathOf } from '../virtual-assets/data'
import type { Edits } from './draft'
import type { RowState } from './rows'

export interface Batch {
  /** null: a battery in no portfolio. */
  portfolioID: string | null
  rows: RowState[]
}

export interface Saved {
  sent: Edits
  /** Why a battery's plan was not taken, in a sentence. */
  refused: Map<string, string>
  /** Not saved, since another of their portfolio was refused. */
  held: string[]
}

/** As many as the service takes at once. */
const MOST = 50

export function batchesOf(rows: readonly RowState[]): Batch[] {
  const portfolios = new Map<string, RowState[]>()
  const alone: Batch[] = []
  for (const row of rows) {
    const { portfolioID } = row.asset
    if (!portfolioID) alone.push({ portfolioID: null, rows: [row] })
    else portfolios.set(portfolioID, [...(portfolios.get(portfolioID) ?? []), row])
  }
  const batches: Batch[] = []
  for (const [portfolioID, list] of portfolios)
    for (let from = 0; from < list.length; from += MOST)
      batches.push({ portfolioID, rows: list.slice(from, from + MOST) })
  return [...batches, ...alone]
}

export async function saveRows(organisation: string, rows: readonly RowState[]): Promise<Saved> {
  const sent = new Map<string, ReadonlyMap<number, number>>()
  const refused = new Map<string, string>()
  const held: string[] = []
  for (const batch of batchesOf(rows)) {
    const found = await saveBatch(organisation, batch)
    for (const [id, why] of found) refused.set(id, why)
    for (const { asset, live } of batch.rows) {
      if (found.size === 0) sent.set(asset.id, live)
      else if (!found.has(asset.id)) held.push(asset.id)
    }
  }
  return { sent, refused, held }
}

const scheduleOf = ({ plan, live }: RowState) =>
  [...live].sort(([a], [b]) => a - b).map(([index, power]) => ({ time: instant(plan.quarters[index] ?? 0), power }))

/** Whose plans were refused; none where all were taken. */
async function saveBatch(organisation: string, { portfolioID, rows }: Batch): Promise<Map<string, string>> {
  const [first] = rows
  try {
    if (portfolioID) {
      const schedules = rows.map((row) => ({
        virtualAssetID: row.asset.id,
        ifMatch: row.plan.etag,
        schedule: scheduleOf(row),
      }))
      await ask(`/organisations/${organisation}/portfolios/${portfolioID}/schedules`, {
        method: 'PUT',
        body: { schedules },
      })
    } else if (first)
      await ask(`${pathOf(first.asset)}/schedule`, {
        method: 'PUT',
        body: { schedule: scheduleOf(first) },
        ifMatch: first.plan.etag,
      })
    return new Map()
  } catch (error) {
    const found = refusalsOf(error, portfolioID ? null : (first?.asset.id ?? null))
    if (found.size === 0) throw error
    return found
  }
}

type Named = Problem & { virtualAssetID?: string }

/** By battery: of many at once each has its own problem, a single one's is the answer itself. */
export function refusalsOf(error: unknown, alone: string | null): Map<string, string> {
  if (!(error instanceof Refused) || ![409, 412, 422].includes(error.status)) return new Map()
  if (alone) return new Map([[alone, reasonOf(error.problem)]])
  const named = (error.problem as Problem & { assets?: Named[] }).assets ?? []
  return new Map(named.flatMap((one) => (one.virtualAssetID ? [[one.virtualAssetID, reasonOf(one)] as const] : [])))
}

function reasonOf(problem: Problem): string {
  if (problem.status === 412 || problem.type.endsWith('precondition-failed'))
    return 'A colleague saved its plan meanwhile.'
  return sentenceOf(new Refused(problem))
}
