/** What lies further down a screen is asked for when the reader comes near it. */
import { useEffect, useState } from 'react'

const NEAR = '300px'

/** A ref, and whether its element has come near the visible part of the page; once it has, it stays so. */
export function useSeen(): [(element: Element | null) => void, boolean] {
  const [element, setElement] = useState<Element | null>(null)
  const [isSeen, setIsSeen] = useState(false)
  useEffect(() => {
    if (isSeen || !element) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setIsSeen(true)
      },
      { root: element.closest('main'), rootMargin: NEAR },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [element, isSeen])
  return [setElement, isSeen]
}
