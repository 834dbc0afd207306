/** Keys that work everywhere: `g` and a letter for a screen, ⌘K for the palette, `?` for help. */
import { useEffect } from 'react'
import { go } from './router'
import type { Place } from './screens'

const AFTER_G_MS = 1200

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
}

export function useShortcuts(places: Place[], openPalette: () => void): void {
  useEffect(() => {
    let armedUntil = 0
    const press = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        openPalette()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (event.key === '/' || event.key === '?') {
        event.preventDefault()
        openPalette()
        return
      }
      if (performance.now() < armedUntil) {
        armedUntil = 0
        const place = places.find((one) => one.letter === event.key)
        if (place) {
          event.preventDefault()
          go(place.path)
        }
        return
      }
      if (event.key === 'g') armedUntil = performance.now() + AFTER_G_MS
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [places, openPalette])
}
