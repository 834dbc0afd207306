/** Light or dark: as the system has it until the user chooses. */
import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark'
const KEY = 'gridloom.theme'
const listeners = new Set<() => void>()

export function currentTheme(): Theme {
  const chosen = localStorage.getItem(KEY)
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = currentTheme()
  for (const listener of listeners) listener()
}

/** The page follows the system from now on, whatever is on it. */
export function followSystem(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme)
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  applyTheme()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, currentTheme)
}
