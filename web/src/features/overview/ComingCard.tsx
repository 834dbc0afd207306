import type { ReactNode } from 'react'
import type { Schemas } from '../../shared/api/client'
import { addDays, type Day, dayOf, type Zone } from '../../shared/time/marketDay'
import { time, weekday } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import type { Auction } from '../auctions/data'
import { type Coming, comingOf } from './next'

interface Props {
  auctions: Auction[]
  unavailabilities: { name: string; item: Schemas['Unavailability'] }[]
  hasBatteries: boolean
  gateSeconds: number
  now: number
  foot?: ReactNode
}

export function ComingCard({ now, foot, ...sources }: Props) {
  const zone = useZone()
  const coming = comingOf(
    {
      ...sources,
      tellDay: (ms) => weekday(ms, zone),
      tellSpan: (start, end) => `${time(start, zone)}–${time(end, zone)}`,
    },
    now,
  )
  const days = [...new Set(coming.map((one) => dayOf(one.time, zone)))]
  return (
    <Card title="Next">
      <div className="card-body">
        {days.map((day) => {
          const of = coming.filter((one) => dayOf(one.time, zone) === day)
          const isToday = day === dayOf(now, zone)
          return (
            <section key={day} className="coming-section" aria-label={isToday ? 'Today' : day}>
              {!isToday && <p className="note coming-later">{dayTitle(day, now, of[0]?.time ?? now, zone)}</p>}
              <List coming={of} />
            </section>
          )
        })}
      </div>
      {foot}
    </Card>
  )
}

function dayTitle(day: Day, now: number, moment: number, zone: Zone): string {
  const name = weekday(moment, zone)
  return day === addDays(dayOf(now, zone), 1) ? `Tomorrow, ${name}` : name
}

function List({ coming }: { coming: Coming[] }) {
  const zone = useZone()
  return (
    <ol className="coming">
      {coming.map((one) => (
        <li key={one.key}>
          <span className="note">{time(one.time, zone)}</span>
          <span className={`coming-mark coming-${one.tone}`} aria-hidden="true" />
          <span>
            <strong>{one.title}</strong> <span className="note">{one.note}</span>
          </span>
        </li>
      ))}
    </ol>
  )
}
