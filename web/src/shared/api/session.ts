/** Who is signed in. The cookie itself is out of every script's reach. */
import { createContext, useContext } from 'react'
import { MARK, type Schemas } from './client'
import { refusalOf, Unreachable } from './problem'

export type Session = Schemas['ConsoleSession']
/** One that newer services know is a word too. */
export type Permission = Schemas['Permission'] | (string & {})

const PATH = '/console/session'
const HINT = 'gridloom.signed-in'
/** Only that there was a session here: where there never was one, none is asked for. */
export const wasSignedIn = (): boolean => localStorage.getItem(HINT) !== null || isBackFromProvider()

const BACK = '#signed-in'

/** Whether the identity provider has just sent the browser back, signed in; the mark goes from the address. */
function isBackFromProvider(): boolean {
  if (location.hash !== BACK) return false
  history.replaceState(null, '', location.pathname + location.search)
  return true
}

let early: Promise<Response> | null = null

/** Asks for the session before anything is drawn, where there was one; the first reading takes the answer. */
export function askEarly(): void {
  if (localStorage.getItem(HINT) === null) return
  early = fetch(PATH, { headers: MARK })
  early.catch(() => undefined)
}

async function call(method: string, body?: unknown): Promise<Response> {
  const init: RequestInit = { method, headers: { ...MARK, 'Content-Type': 'application/json' } }
  if (body !== undefined) init.body = JSON.stringify(body)
  let response: Response
  const asked = method === 'GET' ? early : null
  early = null
  try {
    response = await (asked ?? fetch(PATH, init))
  } catch {
    throw new Unreachable()
  }
  if (!response.ok) throw await refusalOf(response)
  return response
}

export async function readSession(): Promise<Session> {
  const session = (await (await call('GET')).json()) as Session
  // Another value each time, so that other tabs hear of it.
  localStorage.setItem(HINT, String(Date.now()))
  return session
}

export async function signIn(username: string, password: string): Promise<Session> {
  await call('POST', { username, password })
  return readSession()
}

/** The second step, where a password alone is not enough. */
export async function signInWithCode(challenge: string, code: string): Promise<Session> {
  await call('POST', { challenge, code })
  return readSession()
}

/** Where the sign-in at an organisation's identity provider begins; refused where it has none. */
export async function findSingleSignOn(organisation: string, path: string): Promise<string> {
  const start = `/auth/public/sso/start?${new URLSearchParams({ organisation, redirect: path })}`
  let response: Response
  try {
    response = await fetch(start, { redirect: 'manual' })
  } catch {
    throw new Unreachable()
  }
  if (response.type !== 'opaqueredirect') throw await refusalOf(response)
  return start
}

export async function signOut(): Promise<void> {
  await call('DELETE')
  forgetSession()
}

export function forgetSession(): void {
  localStorage.removeItem(HINT)
}

/** Another tab signed in or out. */
export function onOtherTab(listener: (isSignedIn: boolean) => void): () => void {
  const heard = (event: StorageEvent) => {
    if (event.key === HINT) listener(event.newValue !== null)
  }
  addEventListener('storage', heard)
  return () => removeEventListener('storage', heard)
}

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('A screen is shown only after signing in.')
  return session
}

export const RefreshContext = createContext<() => Promise<void>>(async () => undefined)

/** Reads anew who is signed in and what they may. */
export function useRefreshSession(): () => Promise<void> {
  return useContext(RefreshContext)
}

export function useMay(permission: Permission): boolean {
  return (useSession().user.permissions as Permission[]).includes(permission)
}

export function useIsOperator(): boolean {
  return useSession().organisationKind === 'OPERATOR'
}
