/** Where the reader is: the path below `/console`, and what follows it. */
import { type AnchorHTMLAttributes, type MouseEvent, type ReactNode, useSyncExternalStore } from 'react'

export const BASE = '/console'
const listeners = new Set<() => void>()
let blocker: (() => boolean) | null = null
/** What is shown now; a refused step back stays here. */
let shown = location.pathname + location.search

function tell(): void {
  shown = location.pathname + location.search
  for (const listener of listeners) listener()
}

addEventListener('popstate', () => {
  if (blocker && !blocker()) {
    history.pushState(null, '', shown)
    return
  }
  tell()
})

/** Go to a path below `/console`, such as `/auctions`. */
export function go(to: string, { replace = false } = {}): void {
  const target = BASE + to
  if (target === location.pathname + location.search) return
  if (blocker && !blocker()) return
  if (replace) history.replaceState(null, '', target)
  else history.pushState(null, '', target)
  tell()
}

/** Put what a screen shows by itself into its address. A reader who left while it was loading is not called back. */
export function goWithin(screen: string, to: string): void {
  const path = location.pathname.slice(BASE.length)
  if (path === screen || path.startsWith(`${screen}/`)) go(to, { replace: true })
}

/** Ask before unsaved edits are left; true lets go. */
export function blockLeaving(mayLeave: (() => boolean) | null): void {
  blocker = mayLeave
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => location.pathname.slice(BASE.length).replace(/\/+$/, '') || '/')
}

/** One parameter of the address, and how to change it; the rest stays. */
export function useParameter(name: string): [string | null, (value: string | null) => void] {
  const value = useSyncExternalStore(subscribe, () => new URLSearchParams(location.search).get(name))
  const change = (next: string | null) => {
    const all = new URLSearchParams(location.search)
    if (next === null) all.delete(name)
    else all.set(name, next)
    const query = all.toString()
    go(location.pathname.slice(BASE.length) + (query ? `?${query}` : ''), { replace: true })
  }
  return [value, change]
}

export type Values = Record<string, string>

/** The values of a pattern such as `/auctions/:auction`; null where the path is another. */
export function match(pattern: string, path: string): Values | null {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return null
  const values: Values = {}
  for (const [index, part] of wanted.entries()) {
    const found = given[index] ?? ''
    if (part.startsWith(':')) values[part.slice(1)] = decodeURIComponent(found)
    else if (part !== found) return null
  }
  return values
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  to: string
  children: ReactNode
}

export function Link({ to, children, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(to)
  }
  return (
    <a href={BASE + to} onClick={follow} {...rest}>
      {children}
    </a>
  )
}
