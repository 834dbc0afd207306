/** Bids and orders placed for several batteries and days at once. */
import { askJson, type Schemas } from '../../shared/api/client'
import { Refused, sentenceOf } from '../../shared/api/problem'
import type { Day } from '../../shared/time/marketDay'
import { cancelOrder } from '../markets/data'
import { type SubjectDay, withdraw } from './data'
import { isOpen, stageOf } from './products'
import { plain, type Step } from './steps'

export interface Target {
  of: SubjectDay
  /** By product, those of open gates alone; an empty list takes back what stands. */
  wanted: Map<string, Step[]>
}

export interface Outcome {
  placed: number
  withdrawn: number
  /** By `battery day`, why nothing of it was taken. */
  refused: { name: string; day: Day; why: string }[]
}

const sameSteps = (one: readonly Step[], other: readonly Step[]): boolean =>
  one.length === other.length &&
  one.every((step, index) => {
    const their = other[index]
    return their?.capacity === step.capacity && their.price === step.price && their.energyPrice === step.energyPrice
  })

/** What placing would change: the products whose steps differ from what stands, of gates that are open. */
export function changesOf(of: SubjectDay, wanted: ReadonlyMap<string, Step[]>, now: number): Target {
  const changed = [...wanted].filter(([product, steps]) => {
    if (!isOpen(stageOf(product), of.day, now)) return false
    const stands = (of.bids.get(product) ?? []).filter((one) => one.status === 'OFFERED')
    return !sameSteps(steps, stands)
  })
  return { of, wanted: new Map(changed) }
}

export async function place(targets: readonly Target[]): Promise<Outcome> {
  const outcome: Outcome = { placed: 0, withdrawn: 0, refused: [] }
  const batteries = new Map<string, Target[]>()
  for (const one of targets)
    if (one.wanted.size > 0) batteries.set(one.of.subject.id, [...(batteries.get(one.of.subject.id) ?? []), one])
  for (const own of batteries.values()) {
    if (own[0]?.of.subject.kind === 'physical') await placeBids(own, outcome)
    else for (const one of own) await placeOrders(one, outcome)
  }
  return outcome
}

function refuse(outcome: Outcome, own: readonly Target[], error: unknown): void {
  const why = tell(error)
  for (const { of } of own) outcome.refused.push({ name: of.subject.name, day: of.day, why })
}

function tell(error: unknown): string {
  if (!(error instanceof Refused)) return sentenceOf(error)
  const { orders } = error.problem as typeof error.problem & { orders?: (typeof error.problem)[] }
  return orders?.[0] ? sentenceOf(new Refused(orders[0])) : sentenceOf(error)
}

/** Of one battery all days together: all or none. What is taken back goes first, so that it is free for the rest. */
async function placeBids(own: readonly Target[], outcome: Outcome): Promise<void> {
  const id = own[0]?.of.subject.id ?? ''
  const body: Schemas['NewProductBids'][] = []
  try {
    for (const { of, wanted } of own)
      for (const [product, steps] of wanted) {
        if (steps.length > 0) {
          body.push({ deliveryDay: of.day, product, bids: steps.map(bidOf) })
          continue
        }
        for (const bid of of.bids.get(product) ?? [])
          if (bid.status === 'OFFERED') {
            await withdraw(id, bid.id)
            outcome.withdrawn += 1
          }
      }
    if (body.length > 0) await askJson(`/physical-assets/${id}/ancillary/bids`, { method: 'POST', body })
    outcome.placed += body.length
  } catch (error) {
    refuse(outcome, own, error)
  }
}

const bidOf = ({ capacity, price, energyPrice }: Step) => ({
  offeredCapacity: capacity * 1000,
  capacityPrice: plain(price),
  ...(energyPrice === null ? {} : { energyPrice: plain(energyPrice) }),
})

/** A stage has one order with all its products: those that are not changed are asked for again. */
async function placeOrders(target: Target, outcome: Outcome): Promise<void> {
  const { of, wanted } = target
  const { subject } = of
  if (subject.kind !== 'virtual') return
  for (const stage of ['FCR', 'AFRR'] as const) {
    const changed = [...wanted].filter(([product]) => stageOf(product) === stage)
    if (changed.length === 0) continue
    const standing = of.orders.find((one) => one.stage === stage && one.status === 'STANDING')
    const all = new Map<string, Step[]>()
    for (const [product, bids] of of.bids)
      if (stageOf(product) === stage && bids[0]?.status === 'OFFERED') all.set(product, bids)
    for (const [product, steps] of changed) all.set(product, steps)
    const reserves = [...all].flatMap(([product, steps]) =>
      steps.map((step) => ({
        product,
        capacity: step.capacity * 1000,
        capacityPrice: plain(step.price),
        ...(step.energyPrice === null ? {} : { energyPrice: plain(step.energyPrice) }),
      })),
    )
    try {
      if (reserves.length === 0) {
        if (standing) await cancelOrder(standing)
        outcome.withdrawn += 1
        continue
      }
      const order = { virtualAssetID: subject.id, ifMatch: of.etag, stage, deliveryDay: of.day, reserves }
      const path = `/organisations/${subject.asset.organisationID}/orders`
      await askJson(path, { method: 'POST', body: [order] })
      outcome.placed += changed.filter(([, steps]) => steps.length > 0).length
    } catch (error) {
      refuse(outcome, [target], error)
    }
  }
}
