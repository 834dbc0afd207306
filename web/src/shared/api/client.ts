/** Calls of the service, through the console's gateway. */

import known from 'virtual:operations'
import createClient, { type Middleware } from 'openapi-fetch'
import { handAlong, remember } from './position'
import { Refused, refusalOf, Unreachable } from './problem'
import type { components, paths } from './schema'

export type Schemas = components['schemas']
export const GATEWAY = '/console/api'
export const MARK = { 'X-Gridloom-Console': '1' }

type Listener = () => void
const signedOutListeners = new Set<Listener>()

/** Calls back when the service no longer knows the session. */
export function onSignedOut(listener: Listener): () => void {
  signedOutListeners.add(listener)
  return () => signedOutListeners.delete(listener)
}

const signInListeners = new Set<(note: string) => void>()

/** Calls back when something can only be done soon after signing in. */
export function onSignInDemanded(listener: (note: string) => void): () => void {
  signInListeners.add(listener)
  return () => signInListeners.delete(listener)
}

export function demandSignIn(note: string): void {
  for (const listener of signInListeners) listener(note)
}

async function send(request: Request): Promise<Response> {
  let response: Response
  handAlong(request)
  try {
    response = await fetch(request)
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === 'AbortError') throw fault
    throw new Unreachable()
  }
  remember(response)
  if (response.status === 401) for (const listener of signedOutListeners) listener()
  if (!response.ok) throw await refusalOf(response)
  return response
}

const marked: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET') request.headers.set('X-Gridloom-Console', '1')
    if (request.method === 'POST') request.headers.set('Idempotency-Key', crypto.randomUUID())
    return request
  },
}

/** Typed by the interface: `api.GET('/auctions', …)`. Refusals are thrown, as `Refused`. */
export const api = createClient<paths, 'application/json'>({ baseUrl: GATEWAY, fetch: send })
api.use(marked)

/** The body of an answer; a refusal was thrown before it gets here. */
export async function answered<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call
  return data as T
}

/** Every item of a collection, page after page, up to `most`. */
export async function allPages<T>(path: string, most = 5000): Promise<T[]> {
  const items: T[] = []
  let target: string | null = `${GATEWAY}${path}`
  while (target && items.length < most) {
    const response = await send(new Request(target))
    items.push(...((await response.json()) as T[]))
    target = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1] ?? null
  }
  return items
}

interface Asking {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: unknown
  ifMatch?: string
  accept?: string
  signal?: AbortSignal
  /** Of an event stream: the event after which it goes on. */
  lastEventID?: string
}

/** A call of an operation that newer services have: ask `offers` first. */
export async function ask(
  path: string,
  { method = 'GET', body, ifMatch, accept, signal, lastEventID }: Asking = {},
): Promise<Response> {
  const headers = new Headers(method === 'GET' ? {} : MARK)
  if (method === 'POST') headers.set('Idempotency-Key', crypto.randomUUID())
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  if (ifMatch) headers.set('If-Match', ifMatch)
  if (accept) headers.set('Accept', accept)
  if (lastEventID) headers.set('Last-Event-ID', lastEventID)
  const init: RequestInit = { method, headers }
  if (body !== undefined) init.body = JSON.stringify(body)
  if (signal) init.signal = signal
  return send(new Request(`${GATEWAY}${path}`, init))
}

export async function askJson<T>(path: string, asking?: Asking): Promise<T> {
  return (await ask(path, asking)).json() as Promise<T>
}

export interface Answered {
  status: number
  body: unknown
  etag: string | null
}

const MOST_AT_ONCE = 100

/** Several reads in one request, each answered in its place. */
export async function askAll(paths: readonly string[]): Promise<Answered[]> {
  const found: Answered[] = []
  for (let from = 0; from < paths.length; from += MOST_AT_ONCE) {
    const body = { paths: paths.slice(from, from + MOST_AT_ONCE) }
    found.push(...(await askJson<Answered[]>('/batch', { method: 'POST', body })))
  }
  return found
}

/** The same, of answers of one kind; null where one was refused. */
export async function askMany<T>(paths: readonly string[]): Promise<(T | null)[]> {
  return (await askAll(paths)).map(({ status, body }) => (status < 300 ? (body as T) : null))
}

/** Whether the service has an operation, such as `GET /delivery/runs`. */
export function offers(operation: string): boolean {
  return known.has(operation)
}

export function isRefused(error: unknown, status: number): error is Refused {
  return error instanceof Refused && error.status === status
}
