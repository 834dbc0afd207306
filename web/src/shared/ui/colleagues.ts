/** What others do to the resource of an open form, as the event stream tells it. */
import { useEffect, useRef, useState } from 'react'
import { live, type PlatformEvent } from '../api/live'
import type { Values } from './editing'

export interface Stored {
  values: Values
  etag: string
}

export interface ColleagueChange {
  stored: Stored
  /** Null where the event does not say. */
  authorID: string | null
  at: number
}

/** Whether an event is about the resource, or about something below it. */
const isAbout = ({ subject }: PlatformEvent, watched: string): boolean =>
  subject === watched || subject.startsWith(`${watched}/`)

/**
 * The latest version of others that the form has not seen, and how to forget it where the form reads anew by itself.
 * `known` is the ETag of the version that it has.
 */
export function useColleagueChange(
  subject: string | undefined,
  read: () => Promise<Stored>,
  known: string,
): [ColleagueChange | null, () => void] {
  const [change, setChange] = useState<ColleagueChange | null>(null)
  const latest = useRef(read)
  latest.current = read
  useEffect(() => {
    if (subject === undefined) return
    let isOpen = true
    const look = async (authorID: string | null, at: number) => {
      // What can no longer be read is told when it is saved.
      const stored = await latest.current().catch(() => null)
      if (isOpen && stored) setChange({ stored, authorID, at })
    }
    const leave = live.follow((event) => {
      if (!isAbout(event, subject)) return
      const { authorID } = event.data
      void look(typeof authorID === 'string' ? authorID : null, Date.parse(event.time))
    })
    return () => {
      isOpen = false
      leave()
    }
  }, [subject])
  return [change && change.stored.etag !== known ? change : null, () => setChange(null)]
}
