import { type ReactNode, useEffect, useRef } from 'react'
import { Button } from './Button'

interface Props {
  title: string
  action: string
  isBusy?: boolean
  onCancel: () => void
  onConfirm: () => void
  children: ReactNode
}

/** What cannot be taken back is asked once, naming what it does; the way back has the focus. */
export function Confirmation({ title, action, isBusy = false, onCancel, onConfirm, children }: Props) {
  const place = useRef<HTMLElement>(null)
  useEffect(() => place.current?.querySelector('button')?.focus(), [])
  return (
    <section ref={place} className="review" aria-label={title}>
      <h3>{title}</h3>
      <p>{children}</p>
      <div className="review-foot">
        <Button onClick={onCancel}>Back</Button>
        <Button kind="danger" isBusy={isBusy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </section>
  )
}
