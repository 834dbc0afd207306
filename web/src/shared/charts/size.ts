import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

export interface Size {
  width: number
  height: number
}

/** How large an element is, now and whenever that changes. */
export function useSize<E extends Element>(): [RefObject<E | null>, Size] {
  const ref = useRef<E | null>(null)
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(([entry]) => {
      if (!entry) return
      const { width, height } = entry.contentRect
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, size]
}
