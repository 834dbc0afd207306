/**
 * How far the service's log had come with the last change made here. Reads hand it along: a replica answers them once
 * it has come that far, without a question to the primary.
 */
const HEADER = 'Gridloom-Position'
let seen: string | null = null

/** When a position was read is what comes before its dot, a hexadecimal number; the rest is sealed. */
function measure(position: string): bigint {
  const read = position.split('.')[0]
  return /^[0-9a-f]+\./i.test(position) ? BigInt(`0x${read}`) : -1n
}

export function handAlong(request: Request): void {
  if (request.method === 'GET' && seen !== null) request.headers.set(HEADER, seen)
}

/** The latest of them: answers may overtake each other. */
export function remember(response: Response): void {
  const told = response.headers.get(HEADER)
  if (told !== null && (seen === null || measure(told) > measure(seen))) seen = told
}

/** Another caller's change was announced: let reads ask how far the log is. */
export function forgetPosition(): void {
  seen = null
}
