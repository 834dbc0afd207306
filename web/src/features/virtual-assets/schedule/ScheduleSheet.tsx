/** The table of the day, what the plan comes to, and saving it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Dispatch, useEffect, useState } from 'react'
import { ask, askJson, offers } from '../../../shared/api/client'
import { Refused, sentenceOf } from '../../../shared/api/problem'
import type { VirtualAsset } from '../../../shared/api/resources'
import { useMay } from '../../../shared/api/session'
import { decimal, plural } from '../../../shared/format'
import { type Day, instant, QUARTER_MS } from '../../../shared/time/marketDay'
import { time } from '../../../shared/time/words'
import { Button, IconButton } from '../../../shared/ui/Button'
import { Card } from '../../../shared/ui/Card'
import { useZone } from '../../../shared/zone'
import { type DayPlan, PRICES, pathOf } from '../data'
import type { Breach } from '../projection'
import type { Action, Draft } from './draft'
import { ScheduleGrid } from './ScheduleGrid'

interface Props {
  asset: VirtualAsset
  plan: DayPlan
  day: Day
  powersKw: number[]
  draft: Draft
  dispatch: Dispatch<Action>
  selection: [number, number] | null
  onSelect: (selection: [number, number]) => void
  onChange: (changes: Map<number, number>) => void
  breach: Breach | null
  endKwh: number
  isClosed: (index: number) => boolean
  isEditable: boolean
  mayEdit: boolean
}

export function ScheduleSheet(props: Props) {
  const {
    asset,
    plan,
    day,
    powersKw,
    draft,
    dispatch,
    selection,
    onSelect,
    onChange,
    breach,
    isClosed,
    isEditable,
    mayEdit,
  } = props
  const queries = useQueryClient()
  const [said, setSaid] = useState<string | null>(null)
  const changed = draft.edits.size
  const save = useMutation({
    mutationFn: async () => {
      const schedule = [...draft.edits]
        .sort(([a], [b]) => a - b)
        .map(([index, power]) => ({ time: instant(plan.quarters[index] ?? 0), power }))
      return ask(`${pathOf(asset)}/schedule`, { method: 'PUT', body: { schedule }, ifMatch: plan.etag })
    },
    onSuccess: () => dispatch({ type: 'clear' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['virtual-assets'] }),
  })
  const mayKeep = isEditable && changed > 0 && breach === null && !save.isPending
  const { mutate } = save
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 's') {
        event.preventDefault()
        if (mayKeep) mutate()
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [mayKeep, mutate])
  const change = (changes: Map<number, number>) => {
    setSaid(null)
    save.reset()
    onChange(changes)
  }
  return (
    <Card
      className="schedule-sheet"
      title="Schedule"
      note="MW"
      actions={
        <>
          <IconButton
            name="undo"
            label="Undo"
            disabled={draft.undo.length === 0}
            onClick={() => dispatch({ type: 'undo' })}
          />
          <IconButton
            name="redo"
            label="Redo"
            disabled={draft.redo.length === 0}
            onClick={() => dispatch({ type: 'redo' })}
          />
        </>
      }
    >
      <div className="schedule-scroll">
        <ScheduleGrid
          day={day}
          quarters={plan.quarters}
          powersKw={powersKw}
          storedKw={plan.powersKw}
          isClosed={isClosed}
          isEditable={isEditable}
          selection={selection}
          onSelect={onSelect}
          onChange={change}
          onFault={setSaid}
        />
      </div>
      <div className="schedule-foot">
        <Selected plan={plan} powersKw={powersKw} selection={selection} />
        {said && (
          <p className="field-fault" role="alert">
            {said}
          </p>
        )}
        <Verdict {...props} />
        {save.isError && <Conflict error={save.error} />}
        <Decisions
          asset={asset}
          plan={plan}
          powersKw={powersKw}
          isClosed={isClosed}
          isEditable={isEditable}
          onChange={change}
          onFault={setSaid}
        />
      </div>
      <footer className="schedule-save">
        <span className="note">
          {!mayEdit
            ? 'Your role may not change it'
            : !isEditable
              ? 'Every gate has closed'
              : changed === 0
                ? 'No changes'
                : `${changed} changed`}
        </span>
        <Button kind="quiet" disabled={changed === 0} onClick={() => dispatch({ type: 'clear' })}>
          Discard
        </Button>
        <Button kind="primary" disabled={!mayKeep} isBusy={save.isPending} onClick={() => save.mutate()}>
          Save <span aria-hidden="true">⌘S</span>
        </Button>
      </footer>
    </Card>
  )
}

function Selected({
  plan,
  powersKw,
  selection,
}: {
  plan: DayPlan
  powersKw: number[]
  selection: [number, number] | null
}) {
  const zone = useZone()
  if (!selection) return <p className="note">Choose a cell, then type; arrows move, Shift extends, Alt+↑↓ nudges.</p>
  const [low, high] = [Math.min(...selection), Math.max(...selection)]
  const [from, until] = [plan.quarters[low] ?? 0, (plan.quarters[high] ?? 0) + QUARTER_MS]
  const energy = powersKw.slice(low, high + 1).reduce((sum, power) => sum + power / 4000, 0)
  const span = `${time(from, zone)}–${time(until, zone)}`
  return (
    <p className="note">
      {low === high
        ? `${span} · ${decimal((powersKw[low] ?? 0) / 1000, 2)} MW`
        : `${span} · ${plural(high - low + 1, 'quarter')} · ${decimal(energy, 2)} MWh`}
    </p>
  )
}

function Verdict({ asset, plan, breach, endKwh }: Props) {
  const zone = useZone()
  if (breach) {
    const end = (plan.quarters[breach.index] ?? 0) + QUARTER_MS
    return (
      <p className="verdict verdict-danger" role="status">
        At {time(end, zone)} the store would be{' '}
        <strong>
          {decimal(Math.abs(breach.kwh) / 1000, 2)} MWh {breach.kwh > 0 ? 'above its capacity' : 'below empty'}.
        </strong>
      </p>
    )
  }
  const off = endKwh - 0.5 * asset.energyCapacity
  const percent = `${decimal((endKwh / asset.energyCapacity) * 100, 1)} %`
  if (Math.abs(off) <= asset.finalSoCTolerance * asset.energyCapacity + 1e-6)
    return (
      <p className="verdict verdict-good" role="status">
        The plan ends at <strong>{percent}</strong>, within the tolerance.
      </p>
    )
  return (
    <p className="verdict" role="status">
      Ends at <strong>{percent}</strong>: {off < 0 ? 'charge' : 'discharge'}{' '}
      <strong>{decimal(Math.abs(off) / 1000, 2)} MWh</strong> more.
    </p>
  )
}

/** Somebody else was quicker: the edits stay, and what is stored now is drawn beside them. */
function Conflict({ error }: { error: unknown }) {
  const isConflict = error instanceof Refused && error.status === 412
  return (
    <div className="form-problem" role="alert">
      {isConflict
        ? 'Somebody changed this schedule meanwhile. Your changes are kept; what is stored now is drawn beside them. Save again to put yours over it.'
        : sentenceOf(error)}
    </div>
  )
}

interface DecisionsProps {
  asset: VirtualAsset
  plan: DayPlan
  powersKw: number[]
  isClosed: (index: number) => boolean
  isEditable: boolean
  onChange: (changes: Map<number, number>) => void
  onFault: (sentence: string) => void
}

interface Decided {
  blocks?: { blockID: string; schedule: { time: string; power: number }[] }[]
  schedule?: { time: string; power: number }[]
  value?: number
}

/** Optimise and balance: the answer becomes changes that can be looked at, undone and saved like one's own. */
function Decisions({ asset, plan, powersKw, isClosed, isEditable, onChange, onFault }: DecisionsProps) {
  const may = useMay('Create:optimisations')
  const base = '/organisations/{organisationID}/virtual-assets/{virtualAssetID}'
  const hasOptimiser = offers(`POST ${base}/optimisations`)
  const hasRepairs = offers(`POST ${base}/repairs`)
  const decide = useMutation({
    mutationFn: async (kind: 'optimise' | 'repair') => {
      const [first, last] = [plan.quarters[0] ?? 0, (plan.quarters.at(-1) ?? 0) + QUARTER_MS]
      if (kind === 'optimise')
        return askJson<Decided>(`${pathOf(asset)}/optimisations`, {
          method: 'POST',
          body: { start: instant(first), end: instant(last), prices: { series: PRICES } },
        })
      const schedule = plan.quarters.flatMap((at, index) =>
        isClosed(index) ? [] : [{ time: instant(at), power: powersKw[index] ?? 0 }],
      )
      return askJson<Decided>(`${pathOf(asset)}/repairs`, { method: 'POST', body: { schedule, objective: 'NEAREST' } })
    },
    onSuccess: (answer) => onChange(changesOf(plan, answer)),
    onError: (error) => onFault(sentenceOf(error)),
  })
  if (!may || !isEditable || !(hasOptimiser || hasRepairs)) return null
  return (
    <div className="decisions">
      {hasOptimiser && (
        <Button isCompact isBusy={decide.isPending} onClick={() => decide.mutate('optimise')}>
          Optimise
        </Button>
      )}
      {hasRepairs && (
        <Button isCompact isBusy={decide.isPending} onClick={() => decide.mutate('repair')}>
          Balance the rest
        </Button>
      )}
      <span className="note">shown before it is saved</span>
    </div>
  )
}

/** Power of all blocks together, at the quarter-hours that this day shows. */
function changesOf(plan: DayPlan, answer: Decided): Map<number, number> {
  const place = new Map(plan.quarters.map((at, index) => [at, index]))
  const sums = new Map<number, number>()
  const lists = answer.blocks?.map((block) => block.schedule) ?? [answer.schedule ?? []]
  for (const list of lists)
    for (const point of list) {
      const index = place.get(Date.parse(point.time))
      if (index !== undefined) sums.set(index, (sums.get(index) ?? 0) + point.power)
    }
  return sums
}
