/** What happens on the platform, as it happens: one stream of events makes stale answers be read anew. */
import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { GATEWAY } from './client'
import { forgetPosition } from './position'

export interface PlatformEvent {
  id: string
  type: string
  time: string
  subject: string
  data: Record<string, unknown>
}

export const EVENT_TYPES = [
  'auction.opened',
  'auction.cleared',
  'auction.changed',
  'bid.placed',
  'virtual-asset.allocated',
  'virtual-asset.availability-changed',
  'schedule.updated',
  'schedule.adjusted',
  'unavailability.created',
  'unavailability.changed',
  'unavailability.cancelled',
  'physical-asset.parameters-changed',
  'portfolio.changed',
  'ancillary.result',
  'exchange-notification.published',
  'data-points.updated',
  'dispatch.updated',
  'forecast.published',
  'auction.cancelled',
  'statement.issued',
  'delivery.reserve-shortfall',
  'delivery.run-failed',
  'dispatch.acknowledged',
  'dispatch.not-followed',
  'dispatch.deviation',
  'webhook.disabled',
  'api-key.expiring',
  'quota.near',
  'order.placed',
  'order.executed',
  'order.not-executed',
  'order.overdue',
  'order.cancelled',
  'feed.late',
  'feed.failed',
  'feed.differs',
  'member.invited',
  'member.removed',
  'member.role-changed',
] as const

/** The first words of the keys of queries that an event of this type makes stale. */
const STALE: Record<string, string[]> = {
  auction: ['auctions', 'virtual-assets'],
  bid: ['auctions'],
  'virtual-asset': ['virtual-assets', 'auctions'],
  schedule: ['virtual-assets', 'physical-assets', 'delivery'],
  unavailability: ['physical-assets', 'virtual-assets'],
  'physical-asset': ['physical-assets', 'delivery'],
  portfolio: ['portfolios'],
  ancillary: ['physical-assets'],
  'exchange-notification': ['physical-assets'],
  'data-points': ['revenue', 'virtual-assets'],
  dispatch: ['delivery', 'physical-assets'],
  forecast: ['forecasts', 'valuations'],
  statement: ['statements', 'revenue'],
  delivery: ['delivery'],
  webhook: ['administration', 'delivery'],
  'api-key': ['administration'],
  quota: ['administration'],
  order: ['virtual-assets', 'physical-assets', 'orders'],
  feed: ['administration'],
  member: ['administration'],
}

export function staleKeys(type: string): string[] {
  return STALE[type.split('.')[0] ?? ''] ?? []
}

const ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** What an event makes stale: all queries of a kind, but of single things only those of the one that it names. */
export interface Stale {
  key: string
  /** Left out where it names none of the kind. */
  id?: string
}

export function staleOf({ type, subject }: Pick<PlatformEvent, 'type' | 'subject'>): Stale[] {
  const [kind, id] = subject.split('/')
  const isOfKind = (key: string) => kind === key && id !== undefined && ID.test(id)
  // A plan of a virtual battery tells nothing of physical ones: what they do of it comes with their dispatch.
  const keys = staleKeys(type).filter(
    (key) => !(type.startsWith('schedule.') && key.endsWith('-assets') && key !== kind),
  )
  return keys.map((key) => (isOfKind(key) ? { key, id: id as string } : { key }))
}

/** Whether a query is of the kind, and of no other thing of it than the one that is named. */
export function isStale([first, second]: readonly unknown[], stale: readonly Stale[]): boolean {
  const isSingle = typeof second === 'string' && ID.test(second)
  return stale.some(({ key, id }) => first === key && (!isSingle || id === undefined || second === id))
}

export type Connection = 'connecting' | 'live' | 'lost'
const HEARTBEAT_MS = 40_000
const GATHERED_MS = 250
const RETRY_MS = 3000

class Live {
  private source: EventSource | null = null
  private state: Connection = 'connecting'
  private readonly listeners = new Set<() => void>()
  private readonly heard = new Set<(event: PlatformEvent) => void>()
  private stale: Stale[] = []
  private timer: ReturnType<typeof setTimeout> | null = null
  private retry: ReturnType<typeof setTimeout> | null = null
  private wasLost = false

  start(queries: QueryClient): () => void {
    this.open(queries)
    const onOffline = () => this.lose(queries)
    const onOnline = () => this.open(queries)
    addEventListener('offline', onOffline)
    addEventListener('online', onOnline)
    return () => {
      removeEventListener('offline', onOffline)
      removeEventListener('online', onOnline)
      this.close()
    }
  }

  private close(): void {
    this.source?.close()
    this.source = null
    if (this.retry) clearTimeout(this.retry)
    this.retry = null
  }

  private open(queries: QueryClient): void {
    this.close()
    const source = new EventSource(`${GATEWAY}/events`)
    this.source = source
    source.onopen = () => {
      // What was missed while the stream was closed is read anew.
      if (this.wasLost) void queries.invalidateQueries()
      this.wasLost = false
      this.say('live')
    }
    source.onerror = () => {
      // The browser connects again by itself, unless the stream was refused: then it is closed for good.
      if (source.readyState === EventSource.CLOSED) this.lose(queries)
      else this.sayLost()
    }
    for (const type of EVENT_TYPES) source.addEventListener(type, (message) => this.hear(message, queries))
  }

  /** Closes the stream, so that one that was just opening cannot be taken for a live one, and opens another later. */
  private lose(queries: QueryClient): void {
    this.close()
    this.sayLost()
    this.retry = setTimeout(() => this.open(queries), RETRY_MS)
  }

  private sayLost(): void {
    this.wasLost = true
    this.say('lost')
  }

  private hear(message: MessageEvent<string>, queries: QueryClient): void {
    forgetPosition()
    const event = JSON.parse(message.data) as PlatformEvent
    for (const listener of this.heard) listener(event)
    this.stale.push(...staleOf(event))
    this.timer ??= setTimeout(() => {
      this.timer = null
      const { stale } = this
      this.stale = []
      void queries.invalidateQueries({ predicate: ({ queryKey }) => isStale(queryKey, stale) })
    }, GATHERED_MS)
  }

  private say(state: Connection): void {
    this.state = state
    for (const listener of this.listeners) listener()
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  current = (): Connection => this.state

  /** Every event as it comes, for who wants more than fresh answers. */
  follow(listener: (event: PlatformEvent) => void): () => void {
    this.heard.add(listener)
    return () => this.heard.delete(listener)
  }
}

export const live = new Live()
export { HEARTBEAT_MS }

export function useConnection(): Connection {
  return useSyncExternalStore(live.subscribe, live.current)
}
