import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useReducer, useState } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import { useMay } from '../../../shared/api/session'
import { useMinute } from '../../../shared/clock'
import { type Day, QUARTER_MS, spanOf } from '../../../shared/time/marketDay'
import { Card, Legend, type LegendItem } from '../../../shared/ui/Card'
import { isTyping } from '../../../shared/ui/typing'
import { blockLeaving } from '../../../shell/router'
import { ChangedPlanNotice } from '../conflict/ChangedPlanNotice'
import { Conflict } from '../conflict/Conflict'
import { type DayPlan, type Held, planKey, useHeld, usePrices } from '../data'
import { projectionOf, value } from '../projection'
import { applied, clamped, EMPTY, isSamePower, reduce, splitByGate } from '../schedule/draft'
import { type Proposal, useProposal } from '../schedule/proposal'
import { ScheduleSheet } from '../schedule/ScheduleSheet'
import { DayFigures } from './DayFigures'
import { DayPanes } from './DayPanes'

const NONE: Held[] = []
const LEGEND: LegendItem[] = [
  { label: 'past', color: 'var(--soc)', kind: 'line' },
  { label: 'plan', color: 'var(--soc)', kind: 'dashed' },
  { label: 'discharge', color: 'var(--discharge)' },
  { label: 'charge', color: 'var(--charge)' },
  { label: 'FCR, aFRR', color: 'var(--fcr)', kind: 'outline' },
  { label: 'gate closed', color: 'var(--line)' },
]

interface Props {
  asset: VirtualAsset
  plan: DayPlan
  day: Day
}

/** One day of a battery: what is stored, what the reader has changed, and what the service proposes. */
export function DayEditor({ asset, plan: latest, day }: Props) {
  const now = useMinute()
  const queries = useQueryClient()
  const mayEdit = useMay('Update:schedules')
  const prices = usePrices(day)
  const held = useHeld(asset, day)
  const span = useMemo(() => spanOf(day), [day])
  const [draft, dispatch] = useReducer(reduce, EMPTY)
  const [selection, setSelection] = useState<[number, number] | null>(null)
  const [isComparing, setIsComparing] = useState(false)
  const [doesBalance, setDoesBalance] = useState(false)
  const { plan, rebase } = useBasis(latest, draft.edits.size > 0)
  const gateMs = asset.dispatchGateClosureSeconds * 1000
  const isClosed = useCallback(
    (index: number) => (plan.quarters[index] ?? 0) - gateMs <= now,
    [plan.quarters, gateMs, now],
  )
  const isEditable = mayEdit && plan.quarters.some((_, index) => !isClosed(index))
  const { live, expired } = useMemo(() => splitByGate(draft.edits, isClosed), [draft.edits, isClosed])
  const drafted = useMemo(() => applied(plan.powersKw, live), [plan.powersKw, live])
  const priceOf = useMemo(() => pricesOf(plan, day, prices.data?.values ?? []), [plan, day, prices.data])
  const proposal = useProposal(asset, plan, drafted, prices.isPending ? null : priceOf, isClosed)
  const shown = proposal.current
  const powersKw = useMemo(() => (shown ? applied(drafted, shown.changes) : drafted), [drafted, shown])
  const projected = useMemo(() => projectionOf(asset, plan, powersKw), [asset, plan, powersKw])
  const isEdited = live.size > 0 || shown !== null

  const { dismiss, ask } = proposal
  useEffect(() => {
    if (!doesBalance) return
    setDoesBalance(false)
    ask('balance')
  }, [doesBalance, ask])
  const set = useCallback(
    (changes: Map<number, number>, isSameStroke = false) => {
      dismiss()
      const allowed = new Map<number, number>()
      for (const [index, power] of changes) if (!isClosed(index)) allowed.set(index, clamped(power, plan.limits[index]))
      dispatch({ type: 'set', changes: allowed, stored: plan.powersKw, isSameStroke })
    },
    [isClosed, plan, dismiss],
  )
  const apply = ({ changes }: Proposal) => set(changes)
  useWarning(draft.edits.size > 0)
  useUndoKeys(dispatch)

  if (isComparing)
    return (
      <Conflict
        asset={asset}
        base={plan}
        theirs={latest}
        mineKw={drafted}
        prices={priceOf}
        source={prices.data?.source ?? 'published'}
        isClosed={isClosed}
        onBack={() => setIsComparing(false)}
        onSaved={() => {
          dispatch({ type: 'take', edits: new Map() })
          setIsComparing(false)
        }}
        onTake={(edits) => {
          // The choice becomes the draft, on top of what is stored now.
          rebase(latest)
          setDoesBalance(true)
          dispatch({ type: 'take', edits })
          setIsComparing(false)
        }}
      />
    )
  return (
    <>
      {draft.edits.size > 0 && plan.version !== latest.version && (
        <div className="floating-notice">
          <ChangedPlanNotice asset={asset} base={plan} theirs={latest} onCompare={() => setIsComparing(true)} />
        </div>
      )}
      <DayFigures
        asset={asset}
        plan={plan}
        powersKw={powersKw}
        energiesKwh={projected.energiesKwh}
        endKwh={projected.endKwh}
        breachIndex={projected.breach?.index ?? null}
        prices={priceOf}
        isEdited={isEdited}
        source={prices.data?.source ?? 'published'}
      />
      <div className="day">
        <Card className="day-chart" label="The day">
          <div className="day-legend">
            <Legend items={LEGEND} />
            {isEditable && <span className="note">Drag to draw · Shift keeps the level</span>}
          </div>
          <DayPanes
            asset={asset}
            plan={plan}
            span={span}
            powersKw={powersKw}
            energiesKwh={projected.energiesKwh}
            breach={projected.breach}
            prices={prices.data}
            held={held.data ?? NONE}
            now={now}
            selection={selection}
            isEditable={isEditable}
            isClosed={isClosed}
            onDraw={set}
          />
        </Card>
        <ScheduleSheet
          asset={asset}
          plan={plan}
          day={day}
          powersKw={powersKw}
          draft={draft}
          live={live}
          expired={expired}
          dispatch={dispatch}
          proposal={proposal}
          onApply={apply}
          gain={
            projected.breach || projectionOf(asset, plan, drafted).breach ? null : gainOf(powersKw, drafted, priceOf)
          }
          selection={selection}
          onSelect={setSelection}
          onChange={set}
          onSaved={(sent, etag) => {
            // Until it is read again: what was typed meanwhile is a change of what was just saved.
            const saved = applied(plan.powersKw, sent)
            const { energiesKwh } = projectionOf(asset, plan, saved)
            const stored = { ...plan, powersKw: saved, energiesKwh, etag }
            rebase(stored)
            queries.setQueryData(planKey(asset, day), stored)
            dispatch({ type: 'saved', sent, stored: plan.powersKw })
          }}
          onConflict={() => setIsComparing(true)}
          breach={projected.breach}
          endKwh={projected.endKwh}
          isClosed={isClosed}
          isEditable={isEditable}
          mayEdit={mayEdit}
        />
      </div>
    </>
  )
}

/**
 * The version that editing began with: it stays while there are edits, so that saving names it and no change of a
 * colleague is overwritten. One that touches nothing of this day is taken over.
 */
function useBasis(latest: DayPlan, isEdited: boolean) {
  const [basis, setBasis] = useState(latest)
  const isElsewhere = latest.powersKw.every((power, index) => isSamePower(power, basis.powersKw[index]))
  const plan = isEdited && !isElsewhere ? basis : latest
  useEffect(() => {
    if (plan !== basis) setBasis(plan)
  }, [plan, basis])
  return { plan, rebase: setBasis }
}

function gainOf(powersKw: number[], before: number[], prices: (number | null)[]): number | null {
  const [now, then] = [value(powersKw, prices), value(before, prices)]
  return now === null || then === null ? null : now - then
}

/** The prices of the plan's own quarter-hours: on the first day of a life those may be fewer than the day's. */
function pricesOf(plan: DayPlan, day: Day, values: (number | null)[]): (number | null)[] {
  const { start } = spanOf(day)
  return plan.quarters.map((at) => values[Math.round((at - start) / QUARTER_MS)] ?? null)
}

/** Leaving with unsaved changes asks first. */
function useWarning(isEdited: boolean): void {
  useEffect(() => {
    if (!isEdited) return
    blockLeaving(() => confirm('Leave without saving your changes?'))
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => {
      blockLeaving(null)
      removeEventListener('beforeunload', ask)
    }
  }, [isEdited])
}

function useUndoKeys(dispatch: (action: { type: 'undo' | 'redo' }) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || isTyping(event.target)) return
      const key = event.key.toLowerCase()
      if (key !== 'z' && key !== 'y') return
      event.preventDefault()
      dispatch({ type: key === 'y' || event.shiftKey ? 'redo' : 'undo' })
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [dispatch])
}
