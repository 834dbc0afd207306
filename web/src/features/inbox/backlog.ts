/** Events that are kept, read once, then followed with the console's one stream; what was read stays in the browser. */

import known from 'virtual:event-types'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { ask, askAll } from '../../shared/api/client'
import { live } from '../../shared/api/live'
import { usePhysicalAssets, useVirtualAssets } from '../../shared/api/resources'
import { useIsOperator, useSession } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { size } from '../../shared/format'
import { time, weekday } from '../../shared/time/words'
import { useZone } from '../../shared/zone'
import { useAuctions } from '../auctions/data'
import type { Version } from '../virtual-assets/conflict/versions'
import type { Item, Placed } from './item'
import { itemsOf, WANTED } from './items'
import { isTold, useAlertRules } from './rules'

const KEPT_DAYS = 30
const AFTER_LOAD_MS = 1500
const OPERATOR_ONLY = ['delivery.reserve-shortfall', 'delivery.run-failed', 'feed.late', 'feed.failed', 'feed.differs']
const NOT_OPERATOR = [
  'ancillary.result',
  'schedule.updated',
  'schedule.adjusted',
  'virtual-asset.availability-changed',
  'auction.cleared',
]

/** What is stored, from the oldest on: read until the heart-beat that follows it. */
async function readBacklog(types: string[]): Promise<Placed[]> {
  const stop = new AbortController()
  const response = await ask(`/events?types=${types.join(',')}`, {
    accept: 'text/event-stream',
    signal: stop.signal,
    lastEventID: '0',
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const events: Placed[] = []
  let text = ''
  let isComplete = !reader
  while (reader && !isComplete) {
    const piece = await reader.read()
    if (piece.done) break
    const frames = (text + piece.value).split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const data = frame.split('\n').find((line) => line.startsWith('data:'))
      if (data) events.push(JSON.parse(data.slice(5)) as Placed)
      else isComplete ||= !frame.startsWith('retry:')
    }
  }
  stop.abort()
  return events
}

function useEvents(isScreen: boolean): Placed[] | undefined {
  const isOperator = useIsOperator()
  const queries = useQueryClient()
  // Unless it is the screen that was asked for, after that.
  const [isDue, setIsDue] = useState(isScreen)
  useEffect(() => {
    const timer = setTimeout(() => setIsDue(true), AFTER_LOAD_MS)
    return () => clearTimeout(timer)
  }, [])
  const types: string[] = WANTED.filter(
    (type) => known.has(type) && !(isOperator ? NOT_OPERATOR : OPERATOR_ONLY).includes(type),
  )
  const { data } = useQuery({
    queryKey: ['inbox', 'events'],
    queryFn: async () => {
      const meanwhile: Placed[] = []
      const stopFollowing = live.follow((event) => types.includes(event.type) && meanwhile.push(event))
      try {
        const stored = await readBacklog(types)
        const known = new Set(stored.map((event) => event.id))
        return [...stored, ...meanwhile.filter((event) => !known.has(event.id))]
      } finally {
        stopFollowing()
      }
    },
    enabled: isDue,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    retry: false,
  })
  const key = types.join()
  useEffect(
    () =>
      live.follow((event) => {
        if (!key.split(',').includes(event.type)) return
        queries.setQueryData<Placed[]>(['inbox', 'events'], (old) => (old ? [...old, event] : old))
      }),
    [queries, key],
  )
  return data
}

/** By battery and number, as far as they were read. */
const versions = new Map<string, Version | undefined>()

/** Who made the versions that events tell of; one request, and each is asked once. */
function useAuthors(events: Placed[]) {
  const session = useSession()
  const asked = useMemo(() => {
    const newest = new Map<string, string>()
    for (const event of events) {
      const id = event.subject.split('/')[1]
      if (event.type === 'schedule.updated' && event.subject.startsWith('virtual-assets/') && id)
        newest.set(`${id}-${String(event.data.start).slice(0, 10)}`, `${id}/${String(event.data.version)}`)
    }
    return [...new Set(newest.values())].slice(-60)
  }, [events])
  const { data, isLoading } = useQuery({
    queryKey: ['inbox', 'authors', asked.join()],
    // Versions never change: only those that are new are asked for.
    queryFn: async () => {
      const unknown = asked.filter((one) => !versions.has(one))
      const answers = await askAll(
        unknown.map((one) => {
          const [id, version] = one.split('/')
          return `/organisations/${session.user.organisationID}/virtual-assets/${id}/schedule-history?version=${version}`
        }),
      )
      unknown.forEach((one, index) => {
        if (answers[index]?.status === 200) versions.set(one, (answers[index].body as Version[])[0])
      })
      return new Map(asked.map((one) => [one, versions.get(one)] as const))
    },
    enabled: asked.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (old) => old,
  })
  const author = (assetID: string, version: number): string | null => {
    const found = data?.get(`${assetID}/${version}`)
    if (!found || found.authorID === session.user.id || found.authorKind === 'PLATFORM') return null
    return found.authorName ?? 'The operator'
  }
  return { author, isLoading }
}

/**
 * Empty until all is there that makes a row: one that came later would change which is the first. For the screen that
 * shows it, it is read at once.
 */
export function useInbox(isScreen = false): { items: Item[]; isLoading: boolean } {
  const zone = useZone()
  const events = useEvents(isScreen)
  const virtual = useVirtualAssets()
  const physical = usePhysicalAssets()
  const auctions = useAuctions()
  const now = useMinute()
  const [rules] = useAlertRules()
  const { author, isLoading: isAuthorLoading } = useAuthors(events ?? NO_EVENTS)
  if (!events || isAuthorLoading || virtual.isLoading || physical.isLoading || auctions.isLoading)
    return { items: NO_ITEMS, isLoading: true }
  const names = new Map([...(virtual.data ?? []), ...(physical.data ?? [])].map((one) => [one.id, one.name]))
  const planned = new Set(
    events.flatMap((event) => (event.type === 'schedule.updated' ? [event.subject.split('/')[1]] : [])),
  )
  const recent = events.filter((event) => Date.parse(event.time) > now - KEPT_DAYS * 86_400_000)
  const items = itemsOf(recent, {
    battery: (id) => names.get(id) ?? 'a battery',
    auction: (id) => {
      const found = auctions.data?.find((one) => one.id === id)
      if (!found) return null
      const { item } = found
      return {
        what: `${size(item.ratedDischargePower, item.energyCapacity)} ${item.deliveryZone}`,
        price: found.currentBid?.price ?? null,
        virtualAssetID: found.virtualAssetID ?? null,
        end: Date.parse(item.end),
      }
    },
    author,
    isPlanned: (id) => planned.has(id),
    now,
    tellTime: (ms) => time(ms, zone),
    tellEnd: (ms) => (time(ms, zone) === '00:00' ? '24:00' : time(ms, zone)),
    tellDay: (ms) => weekday(ms, zone),
  })
  return { items: items.filter((item) => isTold(item, rules)), isLoading: false }
}

const NO_EVENTS: Placed[] = []
const NO_ITEMS: Item[] = []

// --- what was read -------------------------------------------------------------------------------------------------

interface ReadState {
  /** What is older was there before the inbox was first looked at. */
  since: number
  /** Up to which moment each thing was read. */
  read: Record<string, number>
}

const listeners = new Set<() => void>()
const MOST_READ = 500
const keyOf = (user: string) => `gridloom.inbox.${user}`
const cache = new Map<string, { text: string | null; state: ReadState | null }>()

function load(user: string): ReadState | null {
  const text = localStorage.getItem(keyOf(user))
  const held = cache.get(user)
  if (held && held.text === text) return held.state
  let state: ReadState | null = null
  try {
    state = text ? (JSON.parse(text) as ReadState) : null
  } catch {
    state = null
  }
  cache.set(user, { text, state })
  return state
}

function store(user: string, state: ReadState): void {
  const read = Object.fromEntries(
    Object.entries(state.read)
      .sort(([, a], [, b]) => b - a)
      .slice(0, MOST_READ),
  )
  localStorage.setItem(keyOf(user), JSON.stringify({ ...state, read }))
  for (const listener of listeners) listener()
}

/** Stored in this browser alone. */
export function useReadState(now: number) {
  const user = useSession().user.id
  const state = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      addEventListener('storage', listener)
      return () => {
        listeners.delete(listener)
        removeEventListener('storage', listener)
      }
    },
    () => load(user),
  )
  useEffect(() => {
    if (!load(user)) store(user, { since: now - 86_400_000, read: {} })
  }, [user, now])
  const isUnread = (item: Item) => state !== null && item.time > Math.max(state.since, state.read[item.key] ?? 0)
  const mark = (items: Item[], isRead: boolean) => {
    const old = load(user) ?? { since: now, read: {} }
    const read = { ...old.read }
    for (const item of items)
      read[item.key] = isRead ? item.time : Math.min(item.time - 1, read[item.key] ?? item.time - 1)
    // What is older than the inbox can still be marked unread: its own mark counts then.
    const since = isRead ? old.since : Math.min(old.since, ...items.map((item) => item.time - 1))
    store(user, { since, read })
  }
  return { isUnread, mark }
}
