/** The bids of a battery's day, to be typed, and placed for other days and batteries as well. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useMay } from '../../shared/api/session'
import { useMinute, useNow } from '../../shared/clock'
import { decimal, euro, percent, plural } from '../../shared/format'
import type { Day } from '../../shared/time/marketDay'
import { countdown, time, weekday } from '../../shared/time/words'
import { Card, type Figure, Figures, Legend } from '../../shared/ui/Card'
import { useKept } from '../../shared/ui/Kept'
import { say } from '../../shared/ui/Said'
import { useZone } from '../../shared/zone'
import { blockLeaving } from '../../shell/router'
import { type Subject, type SubjectDay, useCleared, useRecord } from './data'
import { type Draft, draftOf, expectedOf, readDraft, tooMuch } from './draft'
import { FreeCapacity } from './FreeCapacity'
import { Grid } from './Grid'
import { changesOf, type Outcome, place } from './placing'
import { gateOf } from './products'
import { Ticket } from './Ticket'

interface Props {
  main: SubjectDay
  also: SubjectDay[]
  isReadingMore: boolean
  subjects: Subject[]
  today: Day
  alsoDays: ReadonlySet<Day>
  alsoIDs: ReadonlySet<string>
  onDays: (days: ReadonlySet<Day>) => void
  onIDs: (ids: ReadonlySet<string>) => void
}

const LEGEND = [
  { label: 'virtual batteries', color: 'var(--holder-1)' },
  { label: 'FCR', color: 'var(--fcr)' },
  { label: 'aFRR', color: 'var(--afrr-capacity)' },
  { label: 'free', color: 'var(--line-strong)', kind: 'outline' as const },
  { label: 'lost', color: 'var(--danger)', kind: 'hatch' as const },
]

export function Editor(props: Props) {
  const { main, also, subjects } = props
  const queries = useQueryClient()
  const now = useMinute()
  const isPhysical = main.subject.kind === 'physical'
  const mayBid = useMay(isPhysical ? 'Create:ancillary-bids' : 'Create:trades')
  const cleared = useCleared(props.today)
  const { kept: templates, keep } = useKept<Draft>('reserve-templates')
  const stored = useMemo(() => draftOf(main), [main])
  const [draft, setDraft] = useState<Draft>({ texts: {}, energies: {} })
  const [chosen, setChosen] = useState('NEGPOS_00_04')
  const [isBusy, setIsBusy] = useState(false)
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const shown = useMemo(
    (): Draft => ({
      texts: { ...stored.texts, ...draft.texts },
      energies: { ...stored.energies, ...draft.energies },
    }),
    [stored, draft],
  )
  const cells = useMemo(() => readDraft(shown, main, now), [shown, main, now])
  const targets = useMemo(() => {
    const wanted = new Map([...cells].flatMap(([product, cell]) => (cell.steps ? [[product, cell.steps]] : [])))
    const filled = new Map([...wanted].filter(([, steps]) => steps.length > 0))
    return [changesOf(main, wanted, now), ...also.map((one) => changesOf(one, filled, now))]
  }, [cells, main, also, now])
  const faults = [...cells.values()].filter((cell) => cell.fault !== null).length
  const over = targets.flatMap((target) => tooMuch(target))
  const count = targets.reduce((sum, one) => sum + one.wanted.size, 0)
  const isEdited = (targets[0]?.wanted.size ?? 0) > 0 || faults > 0
  const held = !mayBid
    ? 'Your role places none.'
    : faults > 0
      ? `${plural(faults, 'field')} cannot be read.`
      : isPhysical && over.length > 0
        ? 'More is offered than is free.'
        : count === 0
          ? 'Nothing is changed.'
          : props.isReadingMore
            ? 'Reading what is free …'
            : null
  const submit = async () => {
    if (held !== null || isBusy) return
    setIsBusy(true)
    setOutcome(null)
    try {
      const done = await place(targets)
      setOutcome(done)
      if (done.refused.length === 0) {
        setDraft({ texts: {}, energies: {} })
        say(saidOf(done, isPhysical ? 'bid' : 'offer'))
      }
    } finally {
      setIsBusy(false)
      await queries.invalidateQueries({ queryKey: [isPhysical ? 'physical-assets' : 'virtual-assets'] })
    }
  }
  const act = useRef(submit)
  act.current = submit
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === 'Enter') {
        event.preventDefault()
        void act.current()
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  useWarning(isEdited)
  const type = (product: string, text: string) =>
    setDraft((old) => ({ ...old, texts: { ...old.texts, [product]: text } }))
  const price = (code: string, text: string) =>
    setDraft((old) => ({ ...old, energies: { ...old.energies, [code]: text } }))
  return (
    <>
      <Heads main={main} cells={cells} past={cleared.data} today={props.today} />
      <div className="reserves">
        <div className="reserves-main">
          <Card
            title="Free capacity"
            note="MW; of each block the quarter-hour with least"
            actions={<Legend items={isPhysical ? LEGEND : LEGEND.slice(1)} />}
          >
            <FreeCapacity main={main} target={targets[0]} chosen={chosen} />
          </Card>
          <Grid
            main={main}
            cells={cells}
            shown={shown}
            past={cleared.data}
            over={tooMuch(targets[0])}
            target={targets[0]}
            chosen={chosen}
            mayBid={mayBid}
            templates={templates}
            onChoose={setChosen}
            onType={type}
            onPrice={price}
            onTemplate={(one) => setDraft({ texts: { ...one.texts }, energies: { ...one.energies } })}
            onKeep={(name, isKept) => keep(name, isKept ? shown : null)}
          />
        </div>
        <Ticket
          main={main}
          product={chosen}
          cell={cells.get(chosen)}
          past={cleared.data?.get(chosen) ?? []}
          targets={targets}
          subjects={subjects}
          over={over}
          held={held}
          outcome={outcome}
          isBusy={isBusy}
          isEdited={isEdited}
          alsoDays={props.alsoDays}
          alsoIDs={props.alsoIDs}
          onDays={props.onDays}
          onIDs={props.onIDs}
          onPlace={() => void submit()}
          onDiscard={() => {
            setDraft({ texts: {}, energies: {} })
            setOutcome(null)
          }}
        />
      </div>
    </>
  )
}

function saidOf({ placed, withdrawn }: Outcome, noun: string): string {
  if (placed === 0) return `${plural(withdrawn, noun)} taken back.`
  return `${plural(placed, noun)} placed${withdrawn > 0 ? `, ${withdrawn} taken back` : ''}.`
}

/** Leaving with what was typed asks first. */
function useWarning(isEdited: boolean): void {
  useEffect(() => {
    if (!isEdited) return
    blockLeaving(() => confirm('Leave without placing what you typed?'))
    return () => blockLeaving(null)
  }, [isEdited])
}

interface HeadProps {
  main: SubjectDay
  cells: ReturnType<typeof readDraft>
  past: Map<string, { day: Day; price: number }[]> | undefined
  today: Day
}

function Heads({ main, cells, past, today }: HeadProps) {
  const now = useNow()
  const zone = useZone()
  const record = useRecord(main.subject, today)
  const gate = (stage: 'FCR' | 'AFRR'): Figure => {
    const { opens, closes } = gateOf(stage, main.day)
    const label = `${stage === 'FCR' ? 'FCR' : 'aFRR'} gate, ${weekday(closes, zone)} ${time(closes, zone)}`
    if (now < opens) return { label, value: 'not open', below: `opens ${weekday(opens, zone)} ${time(opens, zone)}` }
    if (now >= closes) return { label, value: 'closed', below: 'what was accepted stands below' }
    return { label, value: countdown(closes - now), below: 'bids can be changed until then' }
  }
  const expected = expectedOf(cells, main.day, past)
  const figures: Figure[] = [
    gate('FCR'),
    gate('AFRR'),
    {
      label: 'Expected of what is typed',
      value: expected.isKnown ? euro(expected.fcr + expected.afrr, 2) : '–',
      below: expected.isKnown
        ? `FCR ${euro(expected.fcr, 2)}, aFRR ${euro(expected.afrr, 2)}; as the last ${expected.days} days cleared`
        : [...cells.values()].every((cell) => !cell.steps?.length)
          ? 'nothing is typed'
          : 'fewer than ten past days are published',
    },
  ]
  if (main.subject.kind === 'physical') {
    const { accepted = 0, decided = 0 } = record.data ?? {}
    figures.push({
      label: 'Accepted, 30 days',
      value: decided < 10 ? '–' : percent(accepted / decided),
      below: decided === 0 ? 'no bid has its result' : `${decimal(accepted)} of ${plural(decided, 'bid')}`,
    })
  }
  return <Figures figures={figures} />
}
