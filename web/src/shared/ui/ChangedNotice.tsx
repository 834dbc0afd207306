import type { ReactNode } from 'react'
import { useNow } from '../clock'
import { age } from '../time/words'
import { Button } from './Button'
import { Icon } from './Icon'

interface Props {
  author: string
  /** What they did, such as `changed 4 quarter-hours`. */
  did: string
  at: number
  /** What it means to the reader. */
  children: ReactNode
  onCompare?: () => void
}

/** Told while the reader still edits, before saving finds out. */
export function ChangedNotice({ author, did, at, children, onCompare }: Props) {
  const passed = useNow() - at
  return (
    <div className="changed-notice" role="status">
      <Icon name="user" />
      <p>
        <strong>{author}</strong> {did} {passed < 90_000 ? 'just now' : `${age(passed)} ago`}. {children}
      </p>
      {onCompare && (
        <Button isCompact onClick={onCompare}>
          Compare
        </Button>
      )}
    </div>
  )
}
