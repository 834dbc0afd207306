import { useState } from 'react'
import { Button } from '../../shared/ui/Button'
import { Icon } from '../../shared/ui/Icon'

/** A secret, the only time that it is shown. */
export function Shown({ title, secret, note }: { title: string; secret: string; note: string }) {
  const [isCopied, setIsCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(secret)
    setIsCopied(true)
  }
  return (
    <section className="shown-once" aria-label={title} role="status">
      <Icon name="key" />
      <div>
        <strong>{title}</strong>
        <p className="code">{secret}</p>
        <p className="note">{note}</p>
      </div>
      <Button isCompact icon="copy" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </section>
  )
}
