/** What the service would change: asked for, shown, then applied or dismissed. Nothing is stored by asking. */
import { useMutation } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { askJson, offers } from '../../../shared/api/client'
import { Refused, sentenceOf } from '../../../shared/api/problem'
import type { VirtualAsset } from '../../../shared/api/resources'
import { useMay } from '../../../shared/api/session'
import { instant, QUARTER_MS } from '../../../shared/time/marketDay'
import { weekdayTime } from '../../../shared/time/words'
import { currentZone } from '../../../shared/zone'
import { type DayPlan, pathOf } from '../data'

export type ProposalKind = 'optimise' | 'balance' | 'repair'

export interface Proposal {
  kind: ProposalKind
  /** Only the quarter-hours that would not be as they are, kW. */
  changes: Map<number, number>
}

export interface Proposals {
  current: Proposal | null
  may: Record<ProposalKind, boolean>
  isAsking: boolean
  /** The prices to optimise for are being read. */
  isAwaitingPrices: boolean
  /** Why there is none, in a sentence. */
  fault: string | null
  ask: (kind: ProposalKind) => void
  dismiss: () => void
}

interface Decided {
  blocks?: { blockID: string; schedule: { time: string; power: number }[] }[]
  schedule?: { time: string; power: number }[]
}

const BASE = '/organisations/{organisationID}/virtual-assets/{virtualAssetID}'

export function useProposal(
  asset: VirtualAsset,
  plan: DayPlan,
  powersKw: number[],
  /** EUR/MWh of the plan's quarter-hours, published or expected; null until they are read. */
  prices: readonly (number | null)[] | null,
  isClosed: (index: number) => boolean,
): Proposals {
  const mayDecide = useMay('Create:optimisations')
  const [current, setCurrent] = useState<Proposal | null>(null)
  const decide = useMutation({
    mutationFn: async (kind: ProposalKind) => {
      const path = `${pathOf(asset)}/${kind === 'optimise' ? 'optimisations' : 'repairs'}`
      const body = kind === 'optimise' ? optimiseBody(plan, prices ?? []) : repairBody(plan, powersKw, isClosed)
      const answer = await askJson<Decided>(path, { method: 'POST', body })
      return { kind, changes: differences(plan.quarters, powersKw, answer) }
    },
    onSuccess: setCurrent,
  })
  const { reset, isIdle } = decide
  // Asked at every move of a hand that draws: where there is nothing to dismiss no listener is called.
  const isAnything = current !== null || !isIdle
  const dismiss = useCallback(() => {
    if (!isAnything) return
    setCurrent(null)
    reset()
  }, [reset, isAnything])
  const repairs = mayDecide && offers(`POST ${BASE}/repairs`)
  return {
    current,
    may: { optimise: mayDecide && offers(`POST ${BASE}/optimisations`), balance: repairs, repair: repairs },
    isAsking: decide.isPending,
    isAwaitingPrices: prices === null,
    fault: decide.isError ? faultInWords(decide.error) : null,
    ask: decide.mutate,
    dismiss,
  }
}

export class NoPrices extends Error {}

/** At the prices that the chart shows: published as far as they are out, expected for the rest. */
export function optimiseBody(plan: DayPlan, prices: readonly (number | null)[]) {
  const values = plan.quarters.map((at, index) => {
    const price = prices[index]
    if (price === null || price === undefined)
      throw new NoPrices(
        `No price is published or expected yet from ${weekdayTime(at, currentZone())} on, so there is nothing to optimise for.`,
      )
    return { time: instant(at), price }
  })
  const [first, last] = [plan.quarters[0] ?? 0, (plan.quarters.at(-1) ?? 0) + QUARTER_MS]
  return { start: instant(first), end: instant(last), prices: { values } }
}

/** What stood in the way, for people: no names of series, no moments in UTC. */
export function faultInWords(error: unknown): string {
  if (error instanceof Refused) {
    const kind = error.kind
    if (kind === 'no-feasible-schedule')
      return 'No plan for this day keeps the store within its bounds and meets what is planned after it.'
    if (kind === 'prices-missing') return 'A price of this day is neither published nor expected yet.'
    if (error.status === 429) return 'The solver is busy for your organisation. Try again in a moment.'
  }
  return sentenceOf(error)
}

/** What the service may change: the quarter-hours whose gate is open, as they are shown. */
export function repairBody(plan: DayPlan, powersKw: number[], isClosed: (index: number) => boolean) {
  const schedule = plan.quarters.flatMap((at, index) =>
    isClosed(index) ? [] : [{ time: instant(at), power: powersKw[index] ?? 0 }],
  )
  return { schedule, objective: 'NEAREST' }
}

/** Power of all blocks together where it is not as it is shown, at the quarter-hours that this day has. */
export function differences(quarters: number[], powersKw: number[], answer: Decided): Map<number, number> {
  const place = new Map(quarters.map((at, index) => [at, index]))
  const sums = new Map<number, number>()
  for (const list of answer.blocks?.map((block) => block.schedule) ?? [answer.schedule ?? []])
    for (const point of list) {
      const index = place.get(Date.parse(point.time))
      if (index !== undefined) sums.set(index, (sums.get(index) ?? 0) + point.power)
    }
  return new Map([...sums].filter(([index, power]) => Math.abs(power - (powersKw[index] ?? 0)) > 1e-6))
}
