import { useState } from 'react'
import { Button } from './Button'

/** An id or another text for machines: out of sight, and to be had. */
export function Copy({ text, label = 'Copy ID', what }: { text: string; label?: string; what?: string }) {
  const [isCopied, setIsCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setIsCopied(true)
    setTimeout(() => setIsCopied(false), 3000)
  }
  return (
    <Button
      kind="quiet"
      isCompact
      icon="copy"
      title={text}
      aria-label={what ? `${label} of ${what}` : undefined}
      onClick={() => void copy()}
    >
      {isCopied ? 'Copied' : label}
    </Button>
  )
}
