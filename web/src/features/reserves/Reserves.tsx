import { useEffect, useMemo, useState } from 'react'
import { usePhysicalAssets, useVirtualAssets } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { size } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf, spanOf } from '../../shared/time/marketDay'
import { dayInWords } from '../../shared/time/words'
import { IconButton } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Segmented } from '../../shared/ui/Segmented'
import { Empty, Loaded, SkeletonCard } from '../../shared/ui/states'
import { isTyping } from '../../shared/ui/typing'
import { go, useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { type Subject, useSubjectDays } from './data'
import { Editor } from './Editor'
import { isOpen } from './products'
import './reserves.css'

const KINDS = [
  { value: 'physical', label: 'Own batteries' },
  { value: 'virtual', label: 'Virtual batteries' },
] as const

/** What is free for FCR and aFRR, what do I ask for it, and how often would it have been taken? */
export default function Reserves({ values }: ScreenProps) {
  const now = useMinute()
  const { organisationID } = useSession().user
  const physical = usePhysicalAssets()
  const virtual = useVirtualAssets()
  const [mayPhysical, mayVirtual] = [useMay('Read:physical-assets'), useMay('Read:virtual-assets')]
  const tomorrow = addDays(dayOf(now), 1)
  const day = dayFrom(values.day) ?? (isOpen('FCR', tomorrow, now) ? tomorrow : addDays(tomorrow, 1))
  const own = useMemo(
    () =>
      (physical.data ?? [])
        .filter((one) => one.organisationID === organisationID && one.status === 'ACTIVE')
        .map((asset): Subject => ({ kind: 'physical', id: asset.id, name: asset.name, asset })),
    [physical.data, organisationID],
  )
  const traded = useMemo(() => {
    const span = spanOf(day)
    return (virtual.data ?? [])
      .filter((one) => Date.parse(one.start) < span.end && Date.parse(one.end) > span.start)
      .map((asset): Subject => ({ kind: 'virtual', id: asset.id, name: asset.name, asset }))
  }, [virtual.data, day])
  if ((mayPhysical && physical.isPending) || (mayVirtual && virtual.isPending))
    return (
      <div className="page">
        <SkeletonCard height={90} />
        <SkeletonCard height={600} />
      </div>
    )
  return <Chosen own={own} traded={traded} day={day} />
}

function Chosen({ own, traded, day }: { own: Subject[]; traded: Subject[]; day: Day }) {
  const now = useMinute()
  const [as, setAs] = useParameter('as')
  const [of, setOf] = useParameter('of')
  const hasBoth = own.length > 0 && traded.length > 0
  const kind = as === 'virtual' || own.length === 0 ? 'virtual' : 'physical'
  const subjects = kind === 'virtual' ? traded : own
  const subject = subjects.find((one) => one.id === of) ?? subjects[0]
  const walk = (days: number) => go(`/reserves/${addDays(day, days)}${location.search}`)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.key === '[') go(`/reserves/${addDays(day, -1)}${location.search}`)
      if (event.key === ']') go(`/reserves/${addDays(day, 1)}${location.search}`)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [day])
  return (
    <Page
      title="Reserves"
      facts={subject ? factsOf(subject) : []}
      aside={
        <>
          {hasBoth && <Segmented label="Reserves of" options={KINDS} value={kind} onChange={setAs} />}
          {subjects.length > 1 && (
            <select
              className="role-select"
              aria-label="Battery"
              value={subject?.id}
              onChange={(event) => setOf(event.target.value)}
            >
              {subjects.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          )}
          <IconButton name="left" label="The day before" className="icon-button bordered" onClick={() => walk(-1)} />
          <strong className="day-name">{dayInWords(day)}</strong>
          <IconButton name="right" label="The day after" className="icon-button bordered" onClick={() => walk(1)} />
        </>
      }
    >
      {subject ? (
        <Offers key={`${subject.id} ${day}`} subject={subject} others={subjects} day={day} today={dayOf(now)} />
      ) : (
        <Card>
          <Empty title={kind === 'virtual' ? 'No virtual battery delivers on this day' : 'No battery to offer'}>
            {kind === 'virtual'
              ? 'Choose another day with [ and ].'
              : 'Reserves are offered of batteries that your organisation owns.'}
          </Empty>
        </Card>
      )}
    </Page>
  )
}

function factsOf({ name, kind, asset }: Subject): string[] {
  return kind === 'physical'
    ? [name, size(asset.parameters.ratedDischargePower, asset.parameters.energyCapacity), asset.deliveryZone]
    : [name, size(asset.ratedDischargePower, asset.energyCapacity), asset.deliveryZone, 'by orders']
}

interface DayProps {
  subject: Subject
  others: Subject[]
  day: Day
  today: Day
}

function Offers({ subject, others, day, today }: DayProps) {
  const [alsoDays, setAlsoDays] = useState<ReadonlySet<Day>>(new Set())
  const [alsoIDs, setAlsoIDs] = useState<ReadonlySet<string>>(new Set())
  const subjects = useMemo(() => [subject], [subject])
  const days = useMemo(() => [day], [day])
  const main = useSubjectDays(subjects, days)
  const alsoSubjects = useMemo(
    () => [subject, ...others.filter((one) => alsoIDs.has(one.id))],
    [subject, others, alsoIDs],
  )
  const alsoAll = useMemo(() => [day, ...[...alsoDays].sort()], [day, alsoDays])
  const hasMore = alsoSubjects.length * alsoAll.length > 1
  const also = useSubjectDays(hasMore ? alsoSubjects : [], alsoAll)
  return (
    <Loaded query={main} skeleton={<SkeletonCard height={640} />}>
      {([found]) =>
        found && (
          <Editor
            main={found}
            also={hasMore ? (also.data ?? []).filter((one) => one.subject.id !== subject.id || one.day !== day) : []}
            isReadingMore={hasMore && also.isPending}
            subjects={others}
            today={today}
            alsoDays={alsoDays}
            alsoIDs={alsoIDs}
            onDays={setAlsoDays}
            onIDs={setAlsoIDs}
          />
        )
      }
    </Loaded>
  )
}
