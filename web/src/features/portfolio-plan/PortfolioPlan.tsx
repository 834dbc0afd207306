import { useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent as Press, useCallback, useEffect, useMemo, useReducer, useRef, useState } from 'react'
import { isSignedOut, sentenceOf } from '../../shared/api/problem'
import { useVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { clock, useMinute } from '../../shared/clock'
import { megawatts, plural } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf, QUARTER_MS, quartersOf, spanOf } from '../../shared/time/marketDay'
import { dayInWords, time, weekday } from '../../shared/time/words'
import { Button, IconButton } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { hand } from '../../shared/ui/hand'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { isTyping } from '../../shared/ui/typing'
import { useZone } from '../../shared/zone'
import { go } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { type Prices, usePrices } from '../virtual-assets/data'
import { type Planned, readPlans, refreshPlans, useBand, usePlans, useTrading } from './data'
import { countOf, type Edits, EMPTY, reduce } from './draft'
import {
  beyondLimits,
  closedOf,
  nameOf,
  openInWords,
  openOf,
  openOnly,
  storedAt,
  useBases,
  useLook,
  usePosition,
  useRows,
  useWarning,
  useWorthAt,
  worthInWords,
} from './hooks'
import { PositionPane, PricePane } from './Panes'
import './portfolio-plan.css'
import { Preview } from './Preview'
import { type Decide, optimised, repaired } from './proposals'
import { Row } from './Row'
import { groupsOf, type RowState } from './rows'
import { batchesOf, saveRows } from './saving'
import { csvOf, readSheet, tableOf } from './sheet'
import { Tools } from './Tools'

/** What do all my batteries do on this day, what is wrong, and what would it be worth to change it? */
export default function PortfolioPlan({ values }: ScreenProps) {
  const now = useMinute()
  const assets = useVirtualAssets()
  const tomorrow = addDays(dayOf(now), 1)
  const day = dayFrom(values.day) ?? tomorrow
  return (
    <Loaded query={assets} skeleton={<SkeletonCard height={700} />}>
      {(all) => <Shown key={day} all={all} day={day} today={dayOf(now)} />}
    </Loaded>
  )
}

function Shown({ all, day, today }: { all: VirtualAsset[]; day: Day; today: Day }) {
  const span = useMemo(() => spanOf(day), [day])
  const assets = useMemo(
    () => all.filter((one) => Date.parse(one.start) < span.end && Date.parse(one.end) > span.start),
    [all, span],
  )
  const plans = usePlans(assets, day)
  const prices = usePrices(day)
  const sum = (of: (one: VirtualAsset) => number) => assets.reduce((total, one) => total + of(one), 0)
  const walk = useCallback((days: number) => go(`/portfolio-plan/${addDays(day, days)}`), [day])
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.key === '[') walk(-1)
      if (event.key === ']') walk(1)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [walk])
  return (
    <Page
      title="Portfolio plan"
      facts={[
        plural(assets.length, 'virtual battery', 'virtual batteries'),
        `${megawatts(sum((one) => one.ratedDischargePower))} MW · ${megawatts(sum((one) => one.energyCapacity))} MWh`,
        plural(new Set(assets.map((one) => one.deliveryZone)).size, 'zone'),
      ]}
      aside={
        <>
          <IconButton name="left" label="The day before" className="icon-button bordered" onClick={() => walk(-1)} />
          <strong className="day-name">{dayInWords(day)}</strong>
          <IconButton name="right" label="The day after" className="icon-button bordered" onClick={() => walk(1)} />
          <Button kind="quiet" onClick={() => go(`/portfolio-plan/${today}`)}>
            Today
          </Button>
        </>
      }
    >
      {assets.length === 0 ? (
        <Card>
          <Empty title="No battery delivers on this day">Choose another day with [ and ].</Empty>
        </Card>
      ) : (
        <Loaded query={plans} isShown={!prices.isPending} skeleton={<SkeletonCard height={700} />}>
          {({ plans: found, unread }) => (
            <Editor
              all={assets}
              found={found}
              unread={unread}
              day={day}
              prices={prices.data ?? { values: [], published: 0, source: 'published' }}
            />
          )}
        </Loaded>
      )}
    </Page>
  )
}

interface EditorProps {
  /** Those that deliver on the day, in the order in which they were asked for. */
  all: VirtualAsset[]
  found: Planned[]
  unread: string[]
  day: Day
  prices: Prices
}

const EXCEL = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const NO_REFUSALS: ReadonlyMap<string, string> = new Map()
const LEFT = 190
const NARROW_LEFT = 34

function Editor({ all, found, unread, day, prices }: EditorProps) {
  const zone = useZone()
  const now = useMinute()
  const queries = useQueryClient()
  const { organisationID } = useSession().user
  const mayEdit = useMay('Update:schedules')
  const mayDecide = useMay('Create:optimisations')
  const span = useMemo(() => spanOf(day), [day])
  const quarters = useMemo(() => quartersOf(day), [day])
  const band = useBand(day, quarters.length)
  const assets = useMemo(() => found.map(({ asset }) => asset), [found])
  const trading = useTrading(assets, day, quarters.length)
  const [draft, dispatch] = useReducer(reduce, EMPTY)
  const [ticked, setTicked] = useState<ReadonlySet<string>>(() => new Set(assets.map((one) => one.id)))
  const [lastTick, setLastTick] = useState<string | null>(null)
  const [refused, setRefused] = useState(NO_REFUSALS)
  const [said, setSaid] = useState<string | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [isSaving, setIsSaving] = useState(false)
  const [progress, setProgress] = useState<{ done: number; of: number } | null>(null)
  const stopped = useRef<AbortController | null>(null)
  const [read, setRead] = useState<number | null>(null)
  const look = useLook()
  const [frame, { width: frameWidth }] = useSize<HTMLDivElement>()
  const isNarrow = innerWidth <= 720
  const left = isNarrow ? NARROW_LEFT : LEFT
  const chartWidth = Math.max(1, frameWidth - left - (isNarrow ? 0 : 130))
  const x = useMemo(() => linear(span.start, span.end, left, left + chartWidth), [span, left, chartWidth])
  const { based, keep } = useBases(found, draft.edits)
  const rows = useRows(based, draft.edits, prices.values, span.start, now, zone)
  const groups = useMemo(() => groupsOf(rows, refused), [rows, refused])
  const ordered = useMemo(() => groups.flatMap((group) => group.rows), [groups])
  const edited = rows.filter((row) => row.live.size > 0)
  const expired = rows.filter((row) => row.expired.length > 0)
  const chosen = ordered.filter((row) => ticked.has(row.asset.id))
  const wrong = chosen.filter((row) => row.problem !== null)
  const batches = useMemo(() => batchesOf(edited), [edited])
  const isPriced = prices.values.length > 0 && prices.values.every((price) => price !== null)
  const stored = useRef(new Map<string, readonly number[]>())
  stored.current = new Map(based.map(({ plan, asset }) => [asset.id, plan.powersKw]))

  const set = useCallback((changes: Edits, isSameStep = false) => {
    setSaid(null)
    setFault(null)
    dispatch({ type: 'set', changes, stored: (id) => stored.current.get(id) ?? [], isSameStep })
  }, [])
  const rowsByID = useRef(new Map<string, RowState>())
  rowsByID.current = new Map(rows.map((row) => [row.asset.id, row]))
  const draw = useCallback(
    (id: string, share: number, level: number, isSameStep: boolean) => {
      const row = rowsByID.current.get(id)
      if (!row || !mayEdit) return
      const index = Math.floor(
        (span.start + share * (span.end - span.start) - (row.plan.quarters[0] ?? 0)) / QUARTER_MS,
      )
      if (index < 0 || index >= row.plan.quarters.length) return
      const reach = Math.max(row.asset.ratedChargePower, row.asset.ratedDischargePower)
      const kw = Math.round((level * reach) / 100) * 100
      set(new Map([[id, openOnly(row, new Map([[index, kw]]), clock.now())]]), isSameStep)
    },
    [mayEdit, set, span],
  )
  const point = useCallback(
    (share: number | null) => setRead(share === null ? null : Math.floor(share * quarters.length)),
    [quarters.length],
  )
  const tick = useCallback(
    (id: string, isRange: boolean) => {
      const ids = ordered.map((row) => row.asset.id)
      const [from, to] = [ids.indexOf(lastTick ?? id), ids.indexOf(id)]
      const range = isRange && from >= 0 ? ids.slice(Math.min(from, to), Math.max(from, to) + 1) : [id]
      setTicked((old) => {
        const next = new Set(old)
        const isOn = !old.has(id)
        for (const one of range) {
          if (isOn) next.add(one)
          else next.delete(one)
        }
        return next
      })
      setLastTick(id)
    },
    [ordered, lastTick],
  )
  const propose = async (list: readonly RowState[], decide: Decide) => {
    const control = new AbortController()
    stopped.current = control
    setRefused(NO_REFUSALS)
    setProgress({ done: 0, of: list.length })
    const failed = new Map<string, string>()
    let isFirst = true
    for (const [index, row] of list.entries()) {
      if (control.signal.aborted) break
      try {
        const changes = await decide(row, prices.values, closedOf(row, now), span.start, control.signal)
        set(new Map([[row.asset.id, openOnly(row, changes, now)]]), !isFirst)
        isFirst = false
      } catch (error) {
        if (control.signal.aborted) break
        failed.set(row.asset.id, sentenceOf(error))
      }
      setProgress({ done: index + 1, of: list.length })
    }
    setRefused(failed)
    setProgress(null)
  }
  const copy = async () => {
    const before = addDays(day, -1)
    const answers = await readPlans(
      chosen.map((row) => row.asset),
      before,
    ).catch((error: unknown) => setFault(sentenceOf(error)))
    if (!answers) return
    const changes = new Map<string, Map<number, number>>()
    for (const { asset, plan } of answers.plans) {
      const row = rowsByID.current.get(asset.id)
      if (!row) continue
      const powers = new Map(plan.quarters.map((at, index) => [time(at, 'Europe/Berlin'), plan.powersKw[index] ?? 0]))
      const own = new Map<number, number>()
      row.plan.quarters.forEach((at, index) => {
        const power = powers.get(time(at, 'Europe/Berlin'))
        if (power !== undefined) own.set(index, power)
      })
      changes.set(asset.id, openOnly(row, own, now))
    }
    set(changes)
    const missing = chosen.length - changes.size
    setSaid(
      `Copied ${weekday(spanOf(before).start, 'Europe/Berlin')} to ${plural(changes.size, 'battery', 'batteries')}${missing > 0 ? `; ${missing} did not deliver then` : ''}.`,
    )
  }
  const paste = useCallback(
    (text: string) => {
      const list = ordered.map((row) => ({ id: row.asset.id, name: row.asset.name, quarters: row.plan.quarters }))
      const { changes, fault: why } = readSheet(text, list, zone)
      if (why) return setFault(why)
      const beyond = beyondLimits(rowsByID.current, changes)
      if (beyond) return setFault(`${beyond} Nothing was pasted.`)
      const allowed = new Map(
        [...changes].map(([id, own]) => {
          const row = rowsByID.current.get(id)
          return [id, row ? openOnly(row, own, now) : own] as const
        }),
      )
      set(allowed)
      const count = countOf(allowed)
      const late = countOf(changes) - count
      setSaid(
        `Pasted ${plural(count, 'power')} of ${plural(allowed.size, 'battery', 'batteries')}${late > 0 ? `; ${late} came after their gate` : ''}.`,
      )
    },
    [ordered, zone, set, now],
  )
  const held =
    edited.length === 0
      ? 'Nothing is changed.'
      : (nameOf(edited, (row) => row.isInBreach, 'is in breach', 'are in breach') ??
        nameOf(edited, (row) => row.isOvertaken, 'was saved by a colleague', 'were saved by colleagues') ??
        (progress ? 'Wait until all are proposed.' : null))
  const save = async (list: readonly RowState[]) => {
    if (isSaving || list.length === 0) return
    setIsSaving(true)
    setRefused(NO_REFUSALS)
    setFault(null)
    setSaid(null)
    try {
      const done = await saveRows(organisationID, list)
      const ids = new Set([...done.sent.keys(), ...done.refused.keys()])
      await refreshPlans(
        queries,
        all,
        day,
        all.filter((one) => ids.has(one.id)),
      )
      dispatch({ type: 'saved', sent: done.sent })
      setRefused(done.refused)
      if (done.sent.size > 0) setSaid(`Saved ${plural(done.sent.size, 'plan')}.`)
    } catch (error) {
      if (!isSignedOut(error)) setFault(sentenceOf(error))
    } finally {
      setIsSaving(false)
    }
  }
  const dropExpired = () =>
    set(new Map(expired.map(({ asset, plan, expired: late }) => [asset.id, storedAt(plan.powersKw, late)] as const)))
  const dropRefused = () => {
    const gone = [...refused.keys(), ...edited.filter((row) => row.isOvertaken).map((row) => row.asset.id)]
    dispatch({ type: 'drop', ids: gone })
    setRefused(NO_REFUSALS)
    const rest = edited.filter((row) => !gone.includes(row.asset.id))
    if (rest.some((row) => row.isInBreach)) return
    void save(rest)
  }
  const isStuck = refused.size > 0 || edited.some((row) => row.isOvertaken)
  const act = useRef<(event: KeyboardEvent) => void>(() => {})
  act.current = (event) => {
    const isCommand = event.metaKey || event.ctrlKey
    const key = event.key.toLowerCase()
    if (isCommand && key === 's') {
      event.preventDefault()
      if (held === null) void save(edited)
      return
    }
    if (isTyping(event.target)) return
    if (isCommand && (key === 'z' || key === 'y')) {
      event.preventDefault()
      dispatch({ type: key === 'y' || event.shiftKey ? 'redo' : 'undo' })
      return
    }
    if (isCommand || event.altKey || !mayEdit) return
    if (key === 'escape') stopped.current?.abort()
    if (key === 'o' && mayDecide && isPriced && !progress) void propose(chosen, optimised)
    if (key === 'r' && mayDecide && !progress) void propose(wrong, repaired)
    if (key === 'x' && isStuck) dropRefused()
    else if (key === 'x' && expired.length > 0) dropExpired()
  }
  useEffect(() => {
    const press = (event: KeyboardEvent) => act.current(event)
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  useEffect(() => {
    const receive = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text')
      if (!text || isTyping(event.target)) return
      event.preventDefault()
      paste(text)
    }
    addEventListener('paste', receive)
    return () => removeEventListener('paste', receive)
  }, [paste])
  useWarning(draft.edits.size > 0)

  const worthAt = useWorthAt(rows, band.data, prices, span.start)
  const position = usePosition(rows, quarters.length, span.start, trading.data)
  const table = () =>
    tableOf(
      quarters,
      ordered.map((row) => ({
        name: row.asset.name,
        powers: new Map(row.plan.quarters.map((at, index) => [at, (row.powersKw[index] ?? 0) / 1000])),
      })),
      zone,
    )
  const walkRows = (event: Press<HTMLElement>) => {
    const box = event.target
    if (!(box instanceof HTMLInputElement) || !box.dataset.battery) return
    const id = box.dataset.battery
    if (event.key === 'Enter') go(`/virtual-batteries/${id}/${day}`)
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    const all = [...event.currentTarget.querySelectorAll<HTMLInputElement>('input[data-battery]')]
    const next = all[all.indexOf(box) + (event.key === 'ArrowDown' ? 1 : -1)]
    next?.focus()
    if (event.shiftKey && next?.dataset.battery && !next.checked) tick(next.dataset.battery, false)
  }
  return (
    <>
      {unread.length > 0 && <ProblemNote error={new Error(`Could not be read just now: ${unread.join(', ')}.`)} />}
      <div className="plan">
        <Card className="plan-table" label="Plans">
          <Tools
            count={rows.length}
            chosen={chosen.length}
            wrong={wrong.length}
            before={weekday(spanOf(addDays(day, -1)).start, 'Europe/Berlin')}
            mayEdit={mayEdit}
            mayDecide={mayDecide}
            prices={prices}
            start={span.start}
            progress={progress}
            draft={draft}
            onTickAll={(isOn) => setTicked(new Set(isOn ? rows.map((row) => row.asset.id) : []))}
            onOptimise={() => void propose(chosen, optimised)}
            onRepair={() => void propose(wrong, repaired)}
            onCopy={() => void copy()}
            onPaste={() => void navigator.clipboard.readText().then(paste, () => setFault('Paste with ⌘V or Ctrl+V.'))}
            onStep={(type) => dispatch({ type })}
            onCSV={() => hand(new Blob([csvOf(table())], { type: 'text/csv' }), `plan-${day}.csv`)}
            onExcel={async () => {
              const { workbookOf } = await import('./excel')
              hand(new Blob([workbookOf(day, table())], { type: EXCEL }), `plan-${day}.xlsx`)
            }}
          />
          {/* biome-ignore lint/a11y/noStaticElementInteractions: arrows walk between the boxes in it */}
          <div className="plan-body" ref={frame} onKeyDown={walkRows}>
            {read !== null && (
              <div className="plan-cross-line" style={{ left: x(span.start + (read + 0.5) * QUARTER_MS) }} />
            )}
            {frameWidth > 0 && (
              <PricePane {...{ span, zone, x, left, read, prices }} band={band.data} width={left + chartWidth} />
            )}
            {groups.map((group) => (
              <section key={group.title} aria-label={group.title}>
                <h2 className="plan-group">
                  {group.title}
                  <span className="note">
                    {megawatts(group.rows.reduce((sum, row) => sum + row.asset.ratedDischargePower, 0))} MW
                  </span>
                </h2>
                <ul className="plan-rows">
                  {group.rows.map((row) => (
                    <Row
                      key={row.asset.id}
                      row={row}
                      span={span}
                      width={chartWidth}
                      closed={closedOf(row, now)}
                      look={look}
                      isTicked={ticked.has(row.asset.id)}
                      refusal={refused.get(row.asset.id)}
                      openMwh={openOf(row, trading.data?.of.get(row.asset.id), span.start)}
                      onTick={tick}
                      onDraw={draw}
                      onPoint={point}
                      onKeep={keep}
                    />
                  ))}
                </ul>
              </section>
            ))}
            <div className="plan-total">
              {frameWidth > 0 && (
                <PositionPane
                  {...{ span, zone, x, left, read, position }}
                  width={left + chartWidth}
                  note={openInWords(position, trading.data?.gate ?? null, now)}
                />
              )}
              <div className="plan-worth">
                <strong>{worthInWords(rows)}</strong>
                <span className="note">all {rows.length}, expected</span>
              </div>
            </div>
          </div>
        </Card>
        <Preview
          rows={rows}
          edited={edited}
          refused={refused}
          batches={batches}
          worthAt={worthAt}
          held={mayEdit ? held : 'Your role may not change plans.'}
          expired={expired.reduce((sum, row) => sum + row.expired.length, 0)}
          said={said}
          fault={fault}
          isSaving={isSaving}
          onSave={() => void save(edited)}
          onDrop={dropRefused}
          onDropExpired={dropExpired}
          onDiscard={() => {
            setRefused(NO_REFUSALS)
            dispatch({ type: 'drop', ids: [...draft.edits.keys()] })
          }}
        />
      </div>
    </>
  )
}
