import { readable } from '../time/words'
import { currentZone } from '../zone'

/** Why a request was refused, as the service says it (RFC 9457). */
export interface FieldFault {
  pointer: string
  detail: string
}

export interface Problem {
  type: string
  title: string
  status: number
  detail?: string
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

/** A sentence a person can act on. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Refused) {
    const faults = error.problem.errors ?? []
    const said = readable(error.problem.detail ?? error.problem.title, currentZone())
    return faults.length > 1 ? `${said} (${faults.length} fields)` : said
  }
  return error instanceof Error ? error.message : 'Something went wrong.'
}

/** Somebody saved another version since the one that was read. */
export function isConflict(error: unknown): boolean {
  return error instanceof Refused && error.status === 412
}

/** What the service says of one field of a form, by its JSON pointer. */
export function faultAt(error: unknown, pointer: string): string | undefined {
  if (!(error instanceof Refused)) return undefined
  return error.problem.errors?.find((fault) => fault.pointer === pointer)?.detail
}
