/** What was just done, said once and shown for a while: `Saved.` */
import { useEffect, useState } from 'react'

const SHOWN_MS = 4000
const listeners = new Set<(text: string) => void>()

export function say(text: string): void {
  for (const listener of listeners) listener(text)
}

export function Said() {
  const [text, setText] = useState('')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const hear = (next: string) => {
      setText(next)
      clearTimeout(timer)
      timer = setTimeout(() => setText(''), SHOWN_MS)
    }
    listeners.add(hear)
    return () => {
      listeners.delete(hear)
      clearTimeout(timer)
    }
  }, [])
  return (
    <div className={`said ${text ? '' : 'is-empty'}`} role="status">
      {text}
    </div>
  )
}
