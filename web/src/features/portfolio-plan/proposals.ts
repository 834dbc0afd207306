/** What the service would change of one battery's day; nothing is stored by asking. */
import { askJson } from '../../shared/api/client'
import { pathOf } from '../virtual-assets/data'
import { differences, faultInWords, optimiseBody, repairBody } from '../virtual-assets/schedule/proposal'
import { pricesOf, type RowState } from './rows'

interface Decided {
  schedule?: { time: string; power: number }[]
}

/** Changes on top of what the row shows; a refusal is thrown as its sentence. */
export type Decide = (
  row: RowState,
  prices: readonly (number | null)[],
  closed: number,
  start: number,
  signal: AbortSignal,
) => Promise<Map<number, number>>

export const optimised: Decide = async ({ asset, plan, powersKw }, prices, _, start, signal) =>
  told(async () => {
    const body = optimiseBody(plan, pricesOf(plan, start, prices))
    const answer = await askJson<Decided>(`${pathOf(asset)}/optimisations`, { method: 'POST', body, signal })
    return differences(plan.quarters, powersKw, answer)
  })

export const repaired: Decide = async ({ asset, plan, powersKw }, _, closed, __, signal) =>
  told(async () => {
    const body = repairBody(plan, powersKw, (index) => index < closed)
    const answer = await askJson<Decided>(`${pathOf(asset)}/repairs`, { method: 'POST', body, signal })
    return differences(plan.quarters, powersKw, answer)
  })

async function told(decide: () => Promise<Map<number, number>>): Promise<Map<number, number>> {
  try {
    return await decide()
  } catch (error) {
    throw new Error(faultInWords(error))
  }
}
