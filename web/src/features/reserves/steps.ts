/** Price steps as they are typed, `8@9.8 6@14.5`, and how they would have fared in the days before. */
import { decimal } from '../../shared/format'
import { readQuantity } from '../../shared/quantity'
import type { Day } from '../../shared/time/marketDay'
import { hourSpan } from './products'

export interface Step {
  /** MW, whole. */
  capacity: number
  /** FCR EUR/MW for the block, aFRR EUR/MW per hour. */
  price: number
  /** EUR/MWh; of aFRR alone. */
  energyPrice: number | null
}

export type Steps = { steps: Step[]; fault: null } | { steps: null; fault: string }

/** `8@9.8 6@14.5`; of aFRR the energy price may follow each, `8@9.8/120`, else that of the row holds. */
export function readSteps(text: string, isFCR: boolean, energyText: string): Steps {
  const steps: Step[] = []
  for (const part of text.split(/[\s;]+/).filter(Boolean)) {
    const [offer = '', own] = part.split('/')
    const [capacityText, priceText, ...rest] = offer.split('@')
    if (!capacityText || !priceText || rest.length > 0)
      return fault(`“${part}” is no step: MW, @ and the price, such as 8@9.8.`)
    const capacity = readQuantity(capacityText, 'MW', { least: 1 })
    if (capacity.value === null) return fault(capacity.fault)
    if (!Number.isInteger(capacity.value)) return fault(`${capacity.value} MW is no whole MW.`)
    const price = readQuantity(priceText, '', { least: isFCR ? 0 : -15_000, most: 15_000, decimals: 2 })
    if (price.value === null) return fault(price.fault)
    if (isFCR && own !== undefined) return fault('FCR has no energy price.')
    const energy = isFCR ? null : readQuantity(own ?? energyText, '', { least: -15_000, most: 15_000, decimals: 2 })
    if (energy && energy.value === null)
      return fault((own ?? energyText).trim() === '' ? 'Name its energy price as well.' : energy.fault)
    steps.push({ capacity: capacity.value, price: price.value, energyPrice: energy?.value ?? null })
  }
  return { steps, fault: null }
}

const fault = (why: string): Steps => ({ steps: null, fault: why })

/** As they are typed; energy prices that differ from the row's follow each. */
export function tellSteps(steps: readonly Step[], energyPrice: number | null): string {
  return steps
    .map(({ capacity, price, energyPrice: own }) => {
      const offer = `${capacity}@${plain(price)}`
      return own !== null && own !== energyPrice ? `${offer}/${plain(own)}` : offer
    })
    .join(' ')
}

/** Two decimals, no thousands: it has one reading. */
export const plain = (value: number): string => value.toFixed(2)

export const megawattsOf = (steps: readonly Step[]): number => steps.reduce((sum, one) => sum + one.capacity, 0)

/** The prices at which a product cleared on the days before, as a bid names them. */
export type Past = { day: Day; price: number }[]

/** Below this a share of days says nothing. */
export const FEWEST_DAYS = 10

export interface Fared {
  accepted: number
  of: number
  /** EUR that it would have earned on an average day of them. */
  expected: number
}

/** On how many days the marginal price was at least the step's. FCR pays what cleared, aFRR what was asked. */
export function fared(step: Step, product: string, day: Day, past: Past): Fared | null {
  if (past.length < FEWEST_DAYS) return null
  const isFCR = product.startsWith('NEGPOS')
  const accepted = past.filter((one) => one.price >= step.price)
  const hours = isFCR ? 1 : hourSpan(product, day)
  const paid = accepted.reduce((sum, one) => sum + (isFCR ? one.price : step.price) * step.capacity * hours, 0)
  return { accepted: accepted.length, of: past.length, expected: paid / past.length }
}

/** `14 MW for 4 h is 56 of 80 MWh`; `isBeyond` where the store cannot hold it. */
export function energyCheck(capacityMw: number, hours: number, storeMwh: number) {
  const asked = capacityMw * hours
  return {
    isBeyond: asked > storeMwh + 1e-9,
    text: `${capacityMw} MW for ${hours} h is ${decimal(asked, 0)} of ${decimal(storeMwh, Number.isInteger(storeMwh) ? 0 : 1)} MWh`,
  }
}
