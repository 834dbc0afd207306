/** Keys that work everywhere: `g` and a letter for a screen, ⌘K for the palette, `?` for help. */
import { useEffect, useRef } from 'react'
import { isTyping } from '../shared/ui/typing'
import { go } from './router'
import type { Place } from './screens'

const AFTER_G_MS = 1200

export function useShortcuts(places: Place[], openPalette: () => void): void {
  // By the time of the keys themselves, and kept while the screen renders anew: a busy page loses no key.
  const armedUntil = useRef(0)
  useEffect(() => {
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
      if (event.timeStamp < armedUntil.current) {
        armedUntil.current = 0
        const place = places.find((one) => one.letter === event.key)
        if (place) {
          event.preventDefault()
          go(place.path)
        }
        return
      }
      if (event.key === 'g') armedUntil.current = event.timeStamp + AFTER_G_MS
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [places, openPalette])
}
