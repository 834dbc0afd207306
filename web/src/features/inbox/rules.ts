/** What a person wants to be told of: which kinds, and from what size. Kept in this browser, as what was read is. */
import { useSyncExternalStore } from 'react'
import { useSession } from '../../shared/api/session'
import type { Item } from './item'

export const KINDS = {
  auction: 'Auctions won, lost or cancelled',
  schedule: 'Plans that a colleague changed',
  cut: 'Cuts, expected or made',
  deviation: 'Batteries off their dispatch',
  result: 'Results of reserve bids',
  order: 'Orders executed or not',
  statement: 'Statements issued',
  delivery: 'Delivery and reserve at risk',
  feed: 'Market data late or faulty',
  other: 'Keys, webhooks and shares',
} as const
export type Kind = keyof typeof KINDS

const KIND_OF: Record<string, Kind> = {
  auction: 'auction',
  schedule: 'schedule',
  cut: 'cut',
  expected: 'cut',
  deviation: 'deviation',
  not: 'deviation',
  result: 'result',
  order: 'order',
  statement: 'statement',
  reserve: 'delivery',
  run: 'delivery',
  feed: 'feed',
}

/** By the first word of its key. */
export const kindOfItem = ({ key }: Pick<Item, 'key'>): Kind => KIND_OF[key.split('-')[0] ?? ''] ?? 'other'

export interface AlertRules {
  /** Kinds that are not told. */
  off: readonly Kind[]
  /** Cuts and deviations of less are not told, MWh. */
  leastMwh: number
}

export const ALL: AlertRules = { off: [], leastMwh: 0 }

export function isTold(item: Pick<Item, 'key' | 'sizeMwh'>, { off, leastMwh }: AlertRules): boolean {
  return !off.includes(kindOfItem(item)) && (item.sizeMwh === undefined || item.sizeMwh >= leastMwh)
}

const listeners = new Set<() => void>()
const keyOf = (user: string) => `gridloom.alerts.${user}`
let known: { text: string | null; rules: AlertRules } = { text: null, rules: ALL }

function load(user: string): AlertRules {
  const text = localStorage.getItem(keyOf(user))
  if (text === known.text) return known.rules
  let rules = ALL
  try {
    if (text) rules = { ...ALL, ...(JSON.parse(text) as AlertRules) }
  } catch {
    // What another version wrote is no reason to tell nothing.
  }
  known = { text, rules }
  return rules
}

export function useAlertRules(): [AlertRules, (rules: AlertRules) => void] {
  const user = useSession().user.id
  const rules = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => load(user),
  )
  const change = (next: AlertRules) => {
    localStorage.setItem(keyOf(user), JSON.stringify(next))
    for (const listener of listeners) listener()
  }
  return [rules, change]
}
