/** Light or dark: as the system has it until somebody chooses. */
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

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  applyTheme()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  const system = matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', applyTheme)
  return () => {
    listeners.delete(listener)
    system.removeEventListener('change', applyTheme)
  }
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, currentTheme)
}
