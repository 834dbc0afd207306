/**
 * How far the service's log had come with the last change made here. Reads hand it along: a replica answers them once
 * it has come that far, without a question to the primary.
 */
const HEADER = 'Gridloom-Position'
let seen: string | null = null

/** A place in the log is written as two hexadecimal numbers, such as 0/16B3748. */
function measure(position: string): bigint {
  const [high, low] = position.split('/')
  return /^[0-9A-F]+\/[0-9A-F]+$/i.test(position) ? (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) : -1n
}

export function handAlong(request: Request): void {
  if (request.method === 'GET' && seen !== null) request.headers.set(HEADER, seen)
}

/** The furthest of them: answers may overtake each other. */
export function remember(response: Response): void {
  const told = response.headers.get(HEADER)
  if (told !== null && (seen === null || measure(told) > measure(seen))) seen = told
}

/** Somebody else's change was heard of: let reads ask how far the log is. */
export function forgetPosition(): void {
  seen = null
}
