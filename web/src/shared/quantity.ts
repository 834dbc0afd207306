/** Numbers as people type them: one parser for every field, which refuses what has two readings and says what it read. */
import { megawatts } from './format'

export type Unit = 'MW' | 'MWh' | 'EUR' | '%' | ''

export interface Limits {
  least?: number
  most?: number
  /** Named where a value is beyond a limit: `the battery’s 31.0 MW`. */
  mostIs?: string
  leastIs?: string
  decimals?: number
}

/** Of what a battery has, kW or kWh, no more can be named. */
export const atMost = (mostKw: number, unit: 'MW' | 'MWh'): Limits => ({
  least: 0,
  most: mostKw / 1000,
  mostIs: `the ${megawatts(mostKw)} ${unit} it has`,
})

export type Quantity = { value: number; fault: null } | { value: null; fault: string }

/** How much of the field's unit one of the typed unit is. */
const FACTORS: Record<Unit, ReadonlyMap<string, number>> = {
  MW: new Map([
    ['kw', 0.001],
    ['mw', 1],
    ['gw', 1000],
  ]),
  MWh: new Map([
    ['kwh', 0.001],
    ['mwh', 1],
    ['gwh', 1000],
  ]),
  EUR: new Map([
    ['eur', 1],
    ['€', 1],
  ]),
  '%': new Map([['%', 1]]),
  '': new Map(),
}

/** The value in the field's unit. `300 kW` is 0.3 MW; `1.234,5` and `1,234.5` are one number; `1.500` MW has two readings. */
export function readQuantity(text: string, unit: Unit, limits: Limits = {}): Quantity {
  const plain = ungrouped(text.replace(/[−–]/g, '-'))
  if (plain === '') return { value: null, fault: 'Name a number.' }
  const parts = /^(€?)([+-]?[\d.,]+)([a-z%€]*)$/i.exec(plain)
  if (!parts) return { value: null, fault: `“${text.trim()}” is not a number${unit ? ` in ${unit}` : ''}.` }
  const typed = ((parts[3] || parts[1]) ?? '').toLowerCase()
  const factor = typed === '' ? 1 : FACTORS[unit].get(typed)
  if (factor === undefined)
    return { value: null, fault: unit ? `“${parts[3] || '€'}” is no unit here: ${unit}.` : 'A number without a unit.' }
  const number = readDigits(parts[2] ?? '', limits.decimals)
  if (number.value === null) return number
  return withinLimits(Number((number.value * factor).toPrecision(12)), unit, limits)
}

/** A number as a form shows it, so that it has one reading: `31.125` would have two. */
export function plainNumber(value: number): string {
  const text = String(Number(value.toPrecision(12)))
  return /^-?[1-9]\d{0,2}\.\d{3}$/.test(text) ? `${text}0` : text
}

/** `% of rated power` → `%` */
export const unitOf = (label: string | undefined): Unit =>
  (['MWh', 'MW', 'EUR', '%'] as const).find((unit) => label?.startsWith(unit)) ?? ''

/** Without the spaces and apostrophes that group thousands or stand beside a number; `12 5` keeps its own, and is none. */
function ungrouped(text: string): string {
  const trimmed = text
    .trim()
    .replace(/^([€+-]*)\s+/, '$1')
    .replace(/\s*([a-z%€]+)$/i, '$1')
  const digits = /^([€+-]*)(\d{1,3}(?:[\s'’]\d{3})+)(?![\d\s'’])/.exec(trimmed)
  return digits ? trimmed.replace(digits[2] ?? '', (digits[2] ?? '').replace(/[\s'’]/g, '')) : trimmed
}

function readDigits(text: string, decimals: number | undefined): Quantity {
  const sign = text.startsWith('-') ? -1 : 1
  const digits = text.replace(/^[+-]/, '')
  const marks = digits.replace(/\d/g, '')
  const last = marks.at(-1)
  const isOfOneKind = new Set(marks).size === 1
  if (marks === '') return found(sign, digits, '')
  if (isOfOneKind && marks.length === 1) {
    const [whole = '', rest = ''] = digits.split(last ?? '')
    if (whole === '' && rest === '') return nothing(text)
    // Three digits behind one mark are thousands where no number has three decimals, and else could be either.
    if (/^[1-9]\d{0,2}$/.test(whole) && /^\d{3}$/.test(rest)) {
      if (decimals !== undefined && decimals < 3) return found(sign, whole + rest, '')
      return {
        value: null,
        fault: `“${text}” can be ${whole}.${rest} or ${whole}${rest}: write ${whole}.${rest}0 or ${whole}${rest}.`,
      }
    }
    return withDecimals(sign, whole, rest, decimals)
  }
  if (isOfOneKind)
    return isGrouped(digits, last ?? '') ? found(sign, digits.replaceAll(last ?? '', ''), '') : nothing(text)
  const at = digits.lastIndexOf(last ?? '')
  const whole = digits.slice(0, at)
  const grouping = last === ',' ? '.' : ','
  if (whole.includes(last ?? '') || !isGrouped(whole, grouping)) return nothing(text)
  return withDecimals(sign, whole.replaceAll(grouping, ''), digits.slice(at + 1), decimals)
}

const isGrouped = (text: string, mark: string): boolean => {
  const [first = '', ...groups] = text.split(mark)
  return /^\d{1,3}$/.test(first) && groups.every((group) => /^\d{3}$/.test(group))
}

function withDecimals(sign: number, whole: string, rest: string, decimals: number | undefined): Quantity {
  if (decimals !== undefined && rest.replace(/0+$/, '').length > decimals)
    return { value: null, fault: `This reads as ${whole || '0'}.${rest}: at most ${decimals} decimals.` }
  return found(sign, whole || '0', rest)
}

const found = (sign: number, whole: string, rest: string): Quantity => ({
  value: sign * Number(`${whole}.${rest || '0'}`),
  fault: null,
})

const nothing = (text: string): Quantity => ({ value: null, fault: `“${text}” is not a number.` })

function withinLimits(value: number, unit: Unit, { least, most, leastIs, mostIs }: Limits): Quantity {
  const name = (one: number) => `${one}${unit === '' ? '' : unit === '%' ? ' %' : ` ${unit}`}`.replace('-', '−')
  if (least !== undefined && value < least)
    return { value: null, fault: `${name(value)} is below ${leastIs ?? name(least)}.` }
  if (most !== undefined && value > most)
    return { value: null, fault: `${name(value)} is beyond ${mostIs ?? name(most)}.` }
  return { value, fault: null }
}
