import { useMinute } from '../../shared/clock'
import { useInbox, useReadState } from './backlog'

/** How many messages are unread, for the rail. */
export default function Unread() {
  const { items } = useInbox()
  const { isUnread } = useReadState(useMinute())
  const count = items.filter(isUnread).length
  if (count === 0) return null
  return (
    <span className="count">
      {count > 99 ? '99+' : count}
      <span className="visually-hidden"> unread</span>
    </span>
  )
}
