import { useState } from 'react'
import { euro } from '../../shared/format'
import { type Day, QUARTER_MS, spanOf } from '../../shared/time/marketDay'
import { dayInWords, time } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { Loaded, SkeletonCard } from '../../shared/ui/states'
import { type Subject, useBuckets } from './data'
import { Stacks } from './Stacks'

/** The quarter-hours of the chosen day, down to one of them. */
export function Quarters({ subject, day }: { subject: Subject; day: Day }) {
  const quarters = useBuckets(subject, spanOf(day), '15-minute')
  const [chosen, setChosen] = useState<number | null>(null)
  return (
    <Loaded query={quarters} skeleton={<SkeletonCard height={230} />}>
      {(buckets) => {
        const best = buckets.reduce(
          (found, one, index) => (one.total > (buckets[found]?.total ?? 0) ? index : found),
          0,
        )
        const index = chosen !== null && chosen < buckets.length ? chosen : best
        const picked = buckets[index]
        const span = picked
          ? `${time(picked.time, 'Europe/Berlin')}–${time(picked.time + QUARTER_MS, 'Europe/Berlin')}`
          : ''
        return (
          <Card
            title={dayInWords(day).replace(/ \d{4}$/, '')}
            note={`${buckets.length} quarters`}
            actions={
              picked && (
                <span className="note">
                  {span} <strong className="tone-good">{euro(picked.total)}</strong>
                </span>
              )
            }
          >
            <div className="stacks">
              <Stacks
                buckets={buckets}
                height={176}
                gap={0.15}
                name={`Revenue of ${day} by the quarter-hour`}
                chosen={index}
                onChoose={setChosen}
                labelOf={(bucket, place) => {
                  const text = time(bucket.time, 'Europe/Berlin')
                  return place < 0 || (place % 24 === 12 && buckets.length - place > 6) ? text : ''
                }}
              />
            </div>
          </Card>
        )
      }}
    </Loaded>
  )
}
