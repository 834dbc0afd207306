/** One row of the overview's queue. */
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
  action: string
  to: string
}
