import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { onSignedOut } from '../shared/api/client'
import { Refused } from '../shared/api/problem'
import {
  forgetSession,
  onOtherTab,
  readSession,
  type Session,
  SessionContext,
  wasSignedIn,
} from '../shared/api/session'
import { ProblemNote } from '../shared/ui/states'
import { Frame } from './Frame'
import { usePath } from './router'
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

type State = { is: 'asking' } | { is: 'out' } | { is: 'in'; session: Session } | { is: 'failed'; error: unknown }

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
    const stops = [onSignedOut(leave), onOtherTab((isIn) => (isIn ? setState({ is: 'asking' }) : leave()))]
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
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={state.session}>
        <Frame onSignedOut={() => setState({ is: 'out' })} />
      </SessionContext>
    </QueryClientProvider>
  )
}
