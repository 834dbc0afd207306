/** Who is signed in. The cookie itself is out of every script's reach. */
import { createContext, useContext } from 'react'
import { MARK, type Schemas } from './client'
import { refusalOf, Unreachable } from './problem'

export type Session = Schemas['ConsoleSession']
/** One that newer services know is a word too. */
export type Permission = Schemas['Permission'] | (string & {})

const PATH = '/console/session'
const HINT = 'gridloom.signed-in'
/** Only that somebody was signed in here: whoever never was is not asked for a session. */
export const wasSignedIn = (): boolean => localStorage.getItem(HINT) !== null

async function call(method: string, body?: unknown): Promise<Response> {
  const init: RequestInit = { method, headers: { ...MARK, 'Content-Type': 'application/json' } }
  if (body !== undefined) init.body = JSON.stringify(body)
  let response: Response
  try {
    response = await fetch(PATH, init)
  } catch {
    throw new Unreachable()
  }
  if (!response.ok) throw await refusalOf(response)
  return response
}

export async function readSession(): Promise<Session> {
  const session = (await (await call('GET')).json()) as Session
  localStorage.setItem(HINT, '1')
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
  if (!session) throw new Error('A screen is shown to somebody who is signed in.')
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
