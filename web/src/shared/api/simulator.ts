/** The simulated world of a sandbox: how far its history has been played, and how fast it runs. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { clock } from '../clock'
import { askJson, offers } from './client'
import { useSession } from './session'

export interface Simulator {
  running: boolean
  seed: number
  speed: number
  now: string
  historyComplete?: boolean
  /** 0 to 1, of the history. */
  progress?: number
  historySecondsLeft?: number
  /** Why the world stands still. */
  fault?: string
}

export function useSimulator() {
  const isThere = useSession().environment === 'sandbox' && offers('GET /sandbox/simulator')
  return useQuery({
    queryKey: ['simulator'],
    queryFn: async () => {
      const asked = performance.now()
      const answer = await askJson<Simulator>('/sandbox/simulator')
      // One request for both: the answer names the platform's time too.
      clock.set(Date.parse(answer.now) + (performance.now() - asked) / 2)
      return answer
    },
    enabled: isThere,
    refetchInterval: (query) => (query.state.data?.historyComplete === false ? 3_000 : 10_000),
    retry: false,
  })
}

export interface Playing {
  progress: number
  /** As the service says it; else null until it has been watched for a while. */
  leftMs: number | null
}

/** How far the history is played; null once it is, and where there is none to play. */
export function usePlaying(): Playing | null {
  const { data, dataUpdatedAt } = useSimulator()
  const first = useRef<{ at: number; progress: number } | null>(null)
  const progress = data?.historyComplete === false && data.running ? (data.progress ?? 0) : null
  useEffect(() => {
    if (progress === null) first.current = null
    else first.current ??= { at: dataUpdatedAt, progress }
  }, [progress, dataUpdatedAt])
  if (progress === null) return null
  const saidS = data?.historySecondsLeft
  const leftMs = saidS === undefined ? timeLeft(first.current, { at: dataUpdatedAt, progress }) : saidS * 1000
  return { progress, leftMs }
}

interface Seen {
  at: number
  progress: number
}

/** At the pace since it was first looked at. */
export function timeLeft(first: Seen | null, now: Seen): number | null {
  if (!first || now.progress - first.progress < 0.005) return null
  return ((now.at - first.at) / (now.progress - first.progress)) * (1 - now.progress)
}
