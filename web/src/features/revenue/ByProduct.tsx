import { useSize } from '../../shared/charts/size'
import { euro } from '../../shared/format'
import type { Day } from '../../shared/time/marketDay'
import { weekday } from '../../shared/time/words'
import { Card, Legend } from '../../shared/ui/Card'
import { Segmented } from '../../shared/ui/Segmented'
import { type Bucket, dayOfBucket, type Product } from './data'
import { Stacks } from './Stacks'

const VIEWS = [
  { value: 'kept', label: 'Kept' },
  { value: 'earned', label: 'Earned' },
] as const

const LABEL_PX = 64

interface ByProductProps {
  buckets: Bucket[]
  products: readonly Product[]
  view: 'earned' | 'kept'
  /** Null where there is no statement to read. */
  onView: ((view: 'earned' | 'kept') => void) | null
  chosen: Day
  onChoose: (day: Day) => void
}

/** What the batteries earned, or what the reader keeps of it. */
export function ByProduct({ buckets, products, view, onView, chosen, onChoose }: ByProductProps) {
  const index = buckets.findIndex((one) => dayOfBucket(one) === chosen)
  const picked = buckets[index]
  const [ref, { width }] = useSize<HTMLDivElement>()
  // As many labels as there is room for, and none that would touch the chosen one's.
  const every = Math.max(1, Math.ceil((buckets.length * LABEL_PX) / Math.max(LABEL_PX, width)))
  return (
    <Card
      title="By product"
      note={`EUR a day${view === 'kept' ? ', income up, cost down' : ''}${picked ? ` · ${weekday(picked.time, 'Europe/Berlin')} ${euro(picked.total, 0)}` : ''}`}
      actions={
        <>
          <Legend items={[...products].reverse().map(({ label, colour }) => ({ label, color: colour }))} />
          {onView && <Segmented label="Earned or kept" options={VIEWS} value={view} onChange={onView} />}
        </>
      }
    >
      <div ref={ref} className="stacks">
        <Stacks
          buckets={buckets}
          products={products}
          height={190}
          name={`Revenue of ${buckets.length} days by product`}
          chosen={index}
          onChoose={(next) => {
            const bucket = buckets[next]
            if (bucket) onChoose(dayOfBucket(bucket))
          }}
          labelOf={(bucket, place) => {
            const text = weekday(bucket.time, 'Europe/Berlin')
            if (place < 0) return text
            const isNear = place !== index && Math.abs(place - index) < every * 0.75
            return (place % every === 0 && !isNear) || place === index ? text.replace(/^\w+ /, '') : ''
          }}
        />
      </div>
    </Card>
  )
}
