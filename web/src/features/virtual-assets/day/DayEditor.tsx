import { useCallback, useEffect, useMemo, useReducer, useState } from 'react'
import type { VirtualAsset } from '../../../shared/api/resources'
import { useMay } from '../../../shared/api/session'
import { useMinute } from '../../../shared/clock'
import { type Day, QUARTER_MS, spanOf } from '../../../shared/time/marketDay'
import { Card, Legend, type LegendItem } from '../../../shared/ui/Card'
import { isTyping } from '../../../shell/keyboard'
import { blockLeaving } from '../../../shell/router'
import { type DayPlan, type Held, useHeld, usePrices } from '../data'
import { energies, firstBreach, value } from '../projection'
import { applied, clamped, EMPTY, reduce } from '../schedule/draft'
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
export function DayEditor({ asset, plan, day }: Props) {
  const now = useMinute()
  const mayEdit = useMay('Update:schedules')
  const prices = usePrices(day)
  const held = useHeld(asset, day)
  const span = useMemo(() => spanOf(day), [day])
  const [draft, dispatch] = useReducer(reduce, EMPTY)
  const [selection, setSelection] = useState<[number, number] | null>(null)
  const gateMs = asset.dispatchGateClosureSeconds * 1000
  const isClosed = useCallback(
    (index: number) => (plan.quarters[index] ?? 0) - gateMs <= now,
    [plan.quarters, gateMs, now],
  )
  const isEditable = mayEdit && plan.quarters.some((_, index) => !isClosed(index))
  const drafted = useMemo(() => applied(plan.powersKw, draft.edits), [plan.powersKw, draft.edits])
  const proposal = useProposal(asset, plan, drafted, isClosed)
  const shown = proposal.current
  const powersKw = useMemo(() => (shown ? applied(drafted, shown.changes) : drafted), [drafted, shown])
  const projected = useProjection(asset, plan, powersKw)
  const priceOf = useMemo(() => pricesOf(plan, day, prices.data?.values ?? []), [plan, day, prices.data])
  const isEdited = draft.edits.size > 0 || shown !== null

  const { dismiss } = proposal
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

  return (
    <>
      <DayFigures
        asset={asset}
        plan={plan}
        powersKw={powersKw}
        energiesKwh={projected.energiesKwh}
        endKwh={projected.endKwh}
        breachIndex={projected.breach?.index ?? null}
        prices={priceOf}
        isEdited={isEdited}
        isForecast={prices.data?.isForecast ?? false}
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
          dispatch={dispatch}
          proposal={proposal}
          onApply={apply}
          gain={gainOf(powersKw, drafted, priceOf)}
          selection={selection}
          onSelect={setSelection}
          onChange={set}
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

function gainOf(powersKw: number[], before: number[], prices: (number | null)[]): number | null {
  const [now, then] = [value(powersKw, prices), value(before, prices)]
  return now === null || then === null ? null : now - then
}

/** What the shown powers make of the store: as the service projects it, from the first change on by the same formulas. */
function useProjection(asset: VirtualAsset, plan: DayPlan, powersKw: number[]) {
  return useMemo(() => {
    const battery = {
      chargeEfficiency: asset.chargeEfficiency,
      dischargeEfficiency: asset.dischargeEfficiency,
      energyCapacityKwh: asset.energyCapacity,
      availableEnergyKwh: asset.availableEnergyCapacity,
    }
    const found = powersKw.findIndex((power, index) => power !== plan.powersKw[index])
    const from = found < 0 ? powersKw.length : found
    const tail = energies(plan.energiesKwh[from] ?? plan.startKwh, powersKw.slice(from), battery)
    const energiesKwh = found < 0 ? plan.energiesKwh : [...plan.energiesKwh.slice(0, from), ...tail]
    const stored = (asset.endStateOfChargePercentage / 100) * asset.energyCapacity
    return {
      energiesKwh,
      endKwh: stored + (energiesKwh.at(-1) ?? 0) - (plan.energiesKwh.at(-1) ?? 0),
      breach: found < 0 ? null : firstBreach(energiesKwh, battery, from),
    }
  }, [asset, plan, powersKw])
}

/** The prices of the plan's own quarter-hours: on the first day of a life those may be fewer than the day's. */
function pricesOf(plan: DayPlan, day: Day, values: (number | null)[]): (number | null)[] {
  const { start } = spanOf(day)
  return plan.quarters.map((at) => values[Math.round((at - start) / QUARTER_MS)] ?? null)
}

/** Nobody leaves with unsaved changes unasked. */
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
