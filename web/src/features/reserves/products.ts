/** The balancing products of a day in their rows and four-hour blocks. */
import { addDays, type Day, HOUR_MS, momentOf, type Span } from '../../shared/time/marketDay'

export const BLOCKS = [0, 4, 8, 12, 16, 20] as const
const two = (hour: number) => String(hour).padStart(2, '0')

export interface ProductRow {
  /** The first word of its products. */
  code: 'NEGPOS' | 'POS' | 'NEG'
  label: string
  unit: string
  stage: 'FCR' | 'AFRR'
  colour: string
}

export const ROWS: readonly ProductRow[] = [
  { code: 'NEGPOS', label: 'FCR', unit: 'EUR/MW, block', stage: 'FCR', colour: 'var(--fcr)' },
  { code: 'POS', label: 'aFRR up', unit: 'EUR/MW, hour', stage: 'AFRR', colour: 'var(--afrr-capacity)' },
  { code: 'NEG', label: 'aFRR down', unit: 'EUR/MW, hour', stage: 'AFRR', colour: 'var(--afrr-capacity)' },
]

export const productOf = (code: string, hour: number): string => `${code}_${two(hour)}_${two(hour + 4)}`
export const blockLabel = (hour: number): string => `${two(hour)}–${two(hour + 4)}`
export const stageOf = (product: string): 'FCR' | 'AFRR' => (product.startsWith('NEGPOS') ? 'FCR' : 'AFRR')
export const isBlock = (product: string): boolean => /^(NEGPOS|POS|NEG)_\d\d_\d\d$/.test(product)
export const hourOf = (product: string): number => Number(product.split('_')[1])

export function spanOfBlock(day: Day, hour: number): Span {
  return {
    start: momentOf(day, hour * 60),
    end: hour === 20 ? momentOf(addDays(day, 1)) : momentOf(day, (hour + 4) * 60),
  }
}

/** On days when clocks change the first block lasts three or five hours. */
export function hourSpan(product: string, day: Day): number {
  const { start, end } = spanOfBlock(day, hourOf(product))
  return Math.round((end - start) / HOUR_MS)
}

const OPENS = { FCR: 14, AFRR: 7 }
const CLOSES = { FCR: 8, AFRR: 9 }

/** When a product takes bids, as the market has it: the day before at 08:00 and 09:00, from 14 and 7 days before at 10:00. */
export function gateOf(stage: 'FCR' | 'AFRR', day: Day): { opens: number; closes: number } {
  return {
    opens: momentOf(addDays(day, -OPENS[stage]), 10 * 60),
    closes: momentOf(addDays(day, -1), CLOSES[stage] * 60),
  }
}

export const isOpen = (stage: 'FCR' | 'AFRR', day: Day, now: number): boolean => {
  const { opens, closes } = gateOf(stage, day)
  return now >= opens && now < closes
}
