import { useEffect, useMemo, useState } from 'react'
import type { VirtualAsset } from '../../shared/api/resources'
import { useMinute } from '../../shared/clock'
import { decimal, plural, size } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf, type Span, spanOf } from '../../shared/time/marketDay'
import { dayInWords, quarter, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card, Legend } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Loaded, SkeletonCard } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { isTyping } from '../../shared/ui/typing'
import { useZone } from '../../shared/zone'
import { useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { CoursePanes } from './CoursePanes'
import { clipped, LONGEST_DAYS, sumsOf, useCourse, zoomed } from './courseData'
import { useVirtualAsset } from './data'
import './virtual-assets.css'

/** What did and will it do over any days, and how does one day compare with another? */
export default function CourseScreen({ values }: ScreenProps) {
  const asset = useVirtualAsset(values.virtualAsset ?? '')
  return (
    <Loaded
      query={asset}
      skeleton={
        <div className="page">
          <SkeletonCard height={90} />
          <SkeletonCard height={520} />
        </div>
      }
    >
      {(found) => <Shown asset={found} />}
    </Loaded>
  )
}

function Shown({ asset }: { asset: VirtualAsset }) {
  const now = useMinute()
  const [fromText, setFrom] = useParameter('from')
  const [toText, setTo] = useParameter('to')
  const [besideText, setBeside] = useParameter('beside')
  const [first, last] = [dayOf(Date.parse(asset.start)), dayOf(Date.parse(asset.end) - 1)]
  const today = dayOf(now)
  const from = dayFrom(fromText) ?? (today < first ? first : today > last ? last : today)
  const asked = dayFrom(toText) ?? from
  const furthest = addDays(from, LONGEST_DAYS - 1)
  const to = asked < from ? from : asked > furthest ? furthest : asked
  const beside = dayFrom(besideText)
  const whole = useMemo((): Span => ({ start: spanOf(from).start, end: spanOf(to).end }), [from, to])
  const other = useMemo((): Span | null => {
    if (!beside) return null
    const { start } = spanOf(beside)
    return { start, end: start + (whole.end - whole.start) }
  }, [beside, whole])
  return (
    <Page
      title={`${asset.name}, course`}
      crumb={{ label: asset.name, to: `/virtual-batteries/${asset.id}/${from}` }}
      facts={[size(asset.ratedDischargePower, asset.energyCapacity), asset.deliveryZone]}
      aside={
        <>
          <DayField label="From" value={from} onChange={setFrom} />
          <DayField label="To" value={to} onChange={setTo} />
          <DayField label="Beside" value={beside} onChange={setBeside} />
          {beside && (
            <Button kind="quiet" onClick={() => setBeside(null)}>
              Alone
            </Button>
          )}
        </>
      }
    >
      <Course key={`${from} ${to}`} asset={asset} whole={whole} other={other} beside={beside} />
    </Page>
  )
}

interface FieldProps {
  label: string
  value: Day | null
  onChange: (day: Day | null) => void
}

/** A day as it is typed, `2026-11-17`, the same whatever the browser's language. */
function DayField({ label, value, onChange }: FieldProps) {
  const [text, setText] = useState(value ?? '')
  useEffect(() => setText(value ?? ''), [value])
  const isWrong = text !== '' && dayFrom(text) === null
  return (
    <label className="course-day">
      <span className="note">{label}</span>
      <span className={`input ${isWrong ? 'is-wrong' : ''}`}>
        <input
          value={text}
          placeholder="2026-11-17"
          aria-invalid={isWrong || undefined}
          onChange={(event) => {
            setText(event.target.value)
            const day = dayFrom(event.target.value)
            if (day) onChange(day)
          }}
        />
      </span>
    </label>
  )
}

interface CourseProps {
  asset: VirtualAsset
  whole: Span
  other: Span | null
  beside: Day | null
}

function Course({ asset, whole, other, beside }: CourseProps) {
  const zone = useZone()
  const course = useCourse(asset, whole)
  const second = useCourse(asset, other)
  const [view, setView] = useState(whole)
  const [read, setRead] = useState<number | null>(null)
  const zoom = (factor: number, around = read ?? (view.start + view.end) / 2) =>
    setView((old) => zoomed(old, factor, around, whole))
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.key === '+') setView((old) => zoomed(old, 0.5, (old.start + old.end) / 2, whole))
      if (event.key === '-') setView((old) => zoomed(old, 2, (old.start + old.end) / 2, whole))
      if (event.key === '0') setView(whole)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [whole])
  const shift = other ? other.start - whole.start : 0
  return (
    <Card
      title={
        view.start === whole.start && view.end === whole.end
          ? plural(Math.round((whole.end - whole.start) / 86_400_000), 'day')
          : `${weekday(view.start, zone)} ${quarter(view.start, zone).slice(0, 5)} to ${weekday(view.end - 1, zone)} ${quarter(view.end, zone).slice(0, 5)}`
      }
      note="drag over the panes to come closer; + − 0"
      actions={
        <>
          {beside && (
            <Legend
              items={[
                { label: 'this', color: 'var(--ink)', kind: 'line' },
                { label: `from ${dayInWords(beside)}`, color: 'var(--ink-3)', kind: 'dashed' },
              ]}
            />
          )}
          <Button isCompact aria-label="Closer" onClick={() => zoom(0.5)}>
            +
          </Button>
          <Button isCompact aria-label="Further" onClick={() => zoom(2)}>
            −
          </Button>
          <Button isCompact onClick={() => setView(whole)}>
            All
          </Button>
        </>
      }
    >
      <Loaded query={course} skeleton={<SkeletonCard height={480} />}>
        {(found) => (
          <>
            <CoursePanes
              asset={asset}
              course={found}
              other={other ? second.data : undefined}
              view={view}
              shift={shift}
              read={read}
              onRead={setRead}
              onZoom={setView}
            />
            <Table
              columns={[
                'Shown',
                { label: 'Bought, MWh', isNumber: true },
                { label: 'Sold, MWh', isNumber: true },
                { label: 'At published prices, EUR', isNumber: true },
              ]}
            >
              <tbody>
                <SumRow label={weekday(view.start, zone)} sums={sumsOf(clipped(found, view))} />
                {other && second.data && (
                  <SumRow
                    label={weekday(view.start + shift, zone)}
                    sums={sumsOf(clipped(second.data, { start: view.start + shift, end: view.end + shift }))}
                  />
                )}
              </tbody>
            </Table>
          </>
        )}
      </Loaded>
    </Card>
  )
}

function SumRow({ label, sums }: { label: string; sums: ReturnType<typeof sumsOf> }) {
  return (
    <tr>
      <th scope="row">from {label}</th>
      <td className="number">{decimal(sums.bought, 2)}</td>
      <td className="number">{decimal(sums.sold, 2)}</td>
      <td className="number">{sums.worth === null ? '–' : decimal(sums.worth, 2)}</td>
    </tr>
  )
}
