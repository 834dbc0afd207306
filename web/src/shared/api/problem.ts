import { quantity, words } from '../format'
import type { Zone } from '../time/marketDay'
import { readable } from '../time/words'
import { currentZone } from '../zone'

/** Why a request was refused, as the service says it (RFC 9457). */
export interface FieldFault {
  pointer: string
  detail: string
  figures?: Figure[]
}

/** A quantity in a sentence of the service: how it is written there, and what it is. */
export interface Figure {
  text: string
  value: number
  unit: string
}

export interface Problem {
  type: string
  title: string
  status: number
  detail?: string
  figures?: Figure[]
  instance?: string
  requestId?: string
  errors?: FieldFault[]
}

export class Refused extends Error {
  readonly problem: Problem
  readonly retryAfterS: number | null

  constructor(problem: Problem, retryAfterS: number | null = null) {
    super(problem.detail ?? problem.title)
    this.name = 'Refused'
    this.problem = problem
    this.retryAfterS = retryAfterS
  }

  get status(): number {
    return this.problem.status
  }

  /** The last word of the problem's type, such as `capacity-taken`. */
  get kind(): string {
    return this.problem.type.split('/').pop() ?? ''
  }
}

export class Unreachable extends Error {
  constructor() {
    super('The service cannot be reached.')
    this.name = 'Unreachable'
  }
}

export async function refusalOf(response: Response): Promise<Refused> {
  const retryAfter = Number(response.headers.get('Retry-After'))
  const waitS = Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null
  try {
    const problem = (await response.clone().json()) as Problem
    if (typeof problem?.title === 'string') return new Refused({ ...problem, status: response.status }, waitS)
  } catch {
    // Not JSON: something before the service answered.
  }
  const title = response.statusText || `The answer was ${response.status}`
  return new Refused({ type: 'about:blank', title, status: response.status }, waitS)
}

const SERIES: Record<string, string> = {
  DAY_AHEAD_DE_LU: 'the day-ahead price',
  IDA1_DE_LU: 'the first intraday auction',
  IDA2_DE_LU: 'the second intraday auction',
  IDA3_DE_LU: 'the third intraday auction',
  INTRADAY_DE_LU: 'the intraday price',
  REBAP_DE: 'the imbalance price',
}
const POINTER = /^(?:\/|The query parameter |query:)([\w/-]+): */
const ID = / ?\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const CONSTANT = /\b[A-Z]+(?:_[A-Z0-9]+)+\b/g

/** `/parameters/ratedChargePower` → `Rated charge power`; of a list, with its place from one on. */
export function fieldInWords(pointer: string): string {
  const steps = pointer
    .replace(/^query:/, '')
    .split('/')
    .filter(Boolean)
  const last = steps.findLast((step) => !/^\d+$/.test(step)) ?? ''
  const place = steps.find((step) => /^\d+$/.test(step))
  const name = words(last.replaceAll(/([a-z])([A-Z])/g, '$1 $2'))
  return place === undefined ? name : `${name}, number ${Number(place) + 1}`
}

/** The sentence with its quantities, which the service names in their order, in the units of console and field. */
export function withFigures(sentence: string, figures: readonly Figure[] = [], scale?: Scale): string {
  let [said, rest] = ['', sentence]
  for (const { text, value, unit } of figures) {
    const at = rest.indexOf(text)
    if (at < 0) continue
    said += rest.slice(0, at) + (unit === '' ? (scale ? inUnit(value, scale) : text) : quantity(value, unit))
    rest = rest.slice(at + text.length)
  }
  return said + rest
}

/**
 * A sentence of the service for people: no codes, ids, pointers or names of series, moments by the reader's clock, and
 * the quantities that come beside it in the console's units. A number in a text is never read.
 */
export function inWords(sentence: string, zone: Zone, figures?: readonly Figure[], scale?: Scale): string {
  return readable(withFigures(sentence, figures, scale), zone)
    .replace(POINTER, (_, pointer: string) => `${fieldInWords(pointer)}: `)
    .replace(ID, '')
    .replace(CONSTANT, (name) => (name.startsWith('GRIDLOOM_') ? name : (SERIES[name] ?? words(name).toLowerCase())))
}

/** What is said of each of several fields, once where it is the same. */
export function onceEach(sentence: string): string {
  const parts = sentence.replace(/\.$/, '').split('; ')
  return parts.length === new Set(parts).size ? sentence : `${[...new Set(parts)].join('; ')}.`
}

/** A sentence a person can act on. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Refused) {
    const faults = error.problem.errors ?? []
    const said = onceEach(inWords(error.problem.detail ?? error.problem.title, currentZone(), error.problem.figures))
    const kinds = new Set(faults.map((fault) => fault.detail)).size
    return kinds > 1 ? `${said} (${faults.length} fields)` : said
  }
  return error instanceof Error ? error.message : 'Something went wrong.'
}

/** The session had ended: the sign-in page has said so, and once it is gone there is nothing more to say. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof Refused && error.kind === 'no-console-session'
}

/** Another version was saved since the one that was read. */
export function isConflict(error: unknown): boolean {
  return error instanceof Refused && error.status === 412
}

/** How a field shows what the service has: 1 % of the form is 0.01 there, 1 MW is 1,000. */
export interface Scale {
  factor: number
  unit: string
}

/** What the service says of one field of a form, by its JSON pointer, its limits in the field's own unit. */
export function faultAt(error: unknown, pointer: string, scale?: Scale): string | undefined {
  if (!(error instanceof Refused)) return undefined
  const fault = error.problem.errors?.find((one) => one.pointer === pointer)
  return fault && inWords(fault.detail, currentZone(), fault.figures, scale)
}

const inUnit = (value: number, { factor, unit }: Scale): string => `${Number((value / factor).toPrecision(12))} ${unit}`
