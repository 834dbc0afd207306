/** Berlin's time or UTC, as the reader chose. */
import { useState, useSyncExternalStore } from 'react'
import type { Zone } from './time/marketDay'

const KEY = 'gridloom.zone'
const listeners = new Set<() => void>()

export function currentZone(): Zone {
  return localStorage.getItem(KEY) === 'UTC' ? 'UTC' : 'Europe/Berlin'
}

export function chooseZone(zone: Zone): void {
  localStorage.setItem(KEY, zone)
  for (const listener of listeners) listener()
}

export function useZone(): Zone {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, currentZone)
}

/** The zone in which a form was opened: what is typed into it is read in that one, whatever is chosen meanwhile. */
export function useOpeningZone(): Zone {
  const [zone] = useState(currentZone)
  return zone
}

export const zoneName = (zone: Zone): string => (zone === 'UTC' ? 'UTC' : 'Berlin')
