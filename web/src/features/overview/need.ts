/** One row of the overview's queue. */
import type { Figure } from '../../shared/api/problem'
import type { IconName } from '../../shared/ui/Icon'

export interface Need {
  key: string
  /** When it is too late; null for what has no deadline and comes last. */
  deadline: number | null
  /** Since when, for what has no deadline. */
  since?: number | null
  /** What the deadline is. */
  what: string
  icon: IconName
  tone: 'danger' | 'warning' | 'quiet'
  /** `**` marks what is bold. */
  title: string
  note: string
  /** The quantities in the note, where it is the service's. */
  figures?: readonly Figure[]
  action: string
  to: string
}
