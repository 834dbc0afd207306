import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { onSignedOut, onSignInDemanded } from '../shared/api/client'
import { Refused } from '../shared/api/problem'
import {
  forgetSession,
  onOtherTab,
  RefreshContext,
  readSession,
  type Session,
  SessionContext,
  wasSignedIn,
} from '../shared/api/session'
import { ProblemNote } from '../shared/ui/states'
import { Frame } from './Frame'
import { BASE, usePath } from './router'
import { SignIn } from './SignIn'

const Join = lazy(() => import('./Join'))

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => !(error instanceof Refused && error.status < 500) && count < 2,
    },
  },
})

type State =
  | { is: 'asking' }
  | { is: 'out' }
  /** isExpired: the session ended while the console was in use; what was typed stays behind the sign-in. */
  | { is: 'in'; session: Session; isExpired?: boolean; note?: string }
  | { is: 'failed'; error: unknown }

export function App() {
  const [state, setState] = useState<State>(wasSignedIn() ? { is: 'asking' } : { is: 'out' })
  const path = usePath()

  useEffect(() => {
    if (state.is !== 'asking') return
    let isCurrent = true
    readSession()
      .then((session) => isCurrent && setState({ is: 'in', session }))
      .catch((error: unknown) => {
        if (!isCurrent) return
        if (error instanceof Refused && error.status === 401) {
          forgetSession()
          setState({ is: 'out' })
        } else setState({ is: 'failed', error })
      })
    return () => {
      isCurrent = false
    }
  }, [state.is])

  useEffect(() => {
    const leave = () => {
      forgetSession()
      queries.clear()
      setState({ is: 'out' })
    }
    const expire = () => setState((old) => (old.is === 'in' ? { ...old, isExpired: true } : old))
    const enter = () =>
      setState((old) => {
        if (old.is !== 'in') return { is: 'asking' }
        if (old.isExpired) void resumeFromOtherTab(old.session)
        return old
      })
    // What was typed here stays; a session of another person is that person's to open.
    const resumeFromOtherTab = async (before: Session) => {
      const session = await readSession().catch(() => null)
      if (session?.user.id !== before.user.id) return
      setState({ is: 'in', session })
      void queries.invalidateQueries()
    }
    const demand = (note: string) => setState((old) => (old.is === 'in' ? { ...old, isExpired: true, note } : old))
    const stops = [onSignInDemanded(demand), onSignedOut(expire), onOtherTab((isIn) => (isIn ? enter() : leave()))]
    return () => {
      for (const stop of stops) stop()
    }
  }, [])

  if (path === '/join')
    return (
      <Suspense>
        <Join />
      </Suspense>
    )
  if (state.is === 'asking') return null
  if (state.is === 'failed')
    return (
      <main className="alone">
        <ProblemNote error={state.error} onRetry={() => setState({ is: 'asking' })} />
      </main>
    )
  if (state.is === 'out') return <SignIn onSignedIn={(session) => setState({ is: 'in', session })} />
  const isExpired = state.isExpired === true
  const refresh = async () => {
    const session = await readSession()
    setState((old) => (old.is === 'in' ? { ...old, session } : old))
    void queries.invalidateQueries()
  }
  const resume = (session: Session) => {
    // Another person finds nothing of the one before.
    if (session.user.id !== state.session.user.id) location.assign(`${BASE}/`)
    setState({ is: 'in', session })
    void queries.invalidateQueries()
  }
  return (
    <>
      <QueryClientProvider client={queries}>
        <SessionContext value={state.session}>
          <RefreshContext value={refresh}>
            <div className={isExpired ? 'veil is-veiled' : 'veil'} inert={isExpired}>
              <Frame onSignedOut={() => setState({ is: 'out' })} />
            </div>
          </RefreshContext>
        </SessionContext>
      </QueryClientProvider>
      {isExpired && (
        <div className="over-all">
          <SignIn
            onSignedIn={resume}
            isOver
            username={state.session.user.username}
            note={
              state.note ??
              `The session of ${state.session.user.displayName || state.session.user.username} has ended. Sign in to go on: what you typed is kept.`
            }
          />
        </div>
      )}
    </>
  )
}
