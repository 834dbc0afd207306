/** The table of the day, what the plan comes to, and saving it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Dispatch, useEffect, useState } from 'react'
import { ask } from '../../../shared/api/client'
import { isConflict, isSignedOut, sentenceOf } from '../../../shared/api/problem'
import type { VirtualAsset } from '../../../shared/api/resources'
import { isBalanced } from '../../../shared/balance'
import { decimal, plural, signedEuro } from '../../../shared/format'
import { type Day, instant, QUARTER_MS } from '../../../shared/time/marketDay'
import { quarter, time } from '../../../shared/time/words'
import { Button, IconButton } from '../../../shared/ui/Button'
import { Card } from '../../../shared/ui/Card'
import { say } from '../../../shared/ui/Said'
import { isTyping } from '../../../shared/ui/typing'
import { useZone } from '../../../shared/zone'
import { type DayPlan, pathOf } from '../data'
import type { Breach } from '../projection'
import type { Action, Draft } from './draft'
import type { Proposal, ProposalKind, Proposals } from './proposal'
import { ScheduleGrid } from './ScheduleGrid'

interface Props {
  asset: VirtualAsset
  plan: DayPlan
  day: Day
  powersKw: number[]
  draft: Draft
  /** The edits that can still be saved. */
  live: ReadonlyMap<number, number>
  /** Places of edits whose gate has passed: left out of the verdict and of what is saved. */
  expired: readonly number[]
  dispatch: Dispatch<Action>
  selection: [number, number] | null
  onSelect: (selection: [number, number]) => void
  onChange: (changes: Map<number, number>) => void
  /** These edits are stored, as the version of this ETag. */
  onSaved: (sent: ReadonlyMap<number, number>, etag: string) => void
  /** Another version was saved meanwhile. */
  onConflict: () => void
  breach: Breach | null
  endKwh: number
  isClosed: (index: number) => boolean
  isEditable: boolean
  mayEdit: boolean
  proposal: Proposals
  onApply: (proposal: Proposal) => void
  /** EUR that the proposal is worth more than what is shown without it. */
  gain: number | null
}

export function ScheduleSheet(props: Props) {
  const {
    asset,
    plan,
    day,
    powersKw,
    draft,
    live,
    expired,
    dispatch,
    selection,
    onSelect,
    onChange,
    onSaved,
    onConflict,
    breach,
    isClosed,
    isEditable,
    mayEdit,
    proposal,
  } = props
  const queries = useQueryClient()
  const [said, setSaid] = useState<string | null>(null)
  const changed = live.size
  const save = useMutation({
    mutationFn: async () => {
      const sent = live
      const schedule = [...sent]
        .sort(([a], [b]) => a - b)
        .map(([index, power]) => ({ time: instant(plan.quarters[index] ?? 0), power }))
      const answer = await ask(`${pathOf(asset)}/schedule`, { method: 'PUT', body: { schedule }, ifMatch: plan.etag })
      return { sent, etag: answer.headers.get('ETag') ?? '' }
    },
    onSuccess: ({ sent, etag }) => {
      say(`Saved ${plural(sent.size, 'quarter-hour')}.`)
      onSaved(sent, etag)
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['virtual-assets'] }),
    // What was saved meanwhile is read before it is compared.
    onError: async (error) => {
      if (!isConflict(error)) return
      await queries.refetchQueries({ queryKey: ['virtual-assets', asset.id] })
      onConflict()
    },
  })
  const mayKeep = isEditable && changed > 0 && breach === null && proposal.current === null && !save.isPending
  const { mutate } = save
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 's') {
        event.preventDefault()
        if (mayKeep) mutate()
      }
      if (event.key === 'x' && expired.length > 0 && !isTyping(event.target))
        dispatch({ type: 'drop', indices: expired })
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [mayKeep, mutate, expired, dispatch])
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
          {isEditable && proposal.may.optimise && (
            <Button
              isCompact
              isBusy={proposal.isAsking || proposal.isAwaitingPrices}
              disabled={proposal.current !== null}
              onClick={() => proposal.ask('optimise')}
            >
              Optimise
            </Button>
          )}
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
          limits={plan.limits}
          day={day}
          quarters={plan.quarters}
          powersKw={powersKw}
          storedKw={plan.powersKw}
          ratedKw={Math.max(asset.ratedChargePower, asset.ratedDischargePower)}
          isClosed={isClosed}
          isEditable={isEditable}
          expired={expired}
          selection={selection}
          onSelect={onSelect}
          onChange={change}
          onFault={setSaid}
        />
      </div>
      <div className="schedule-foot">
        <Selected plan={plan} powersKw={powersKw} selection={selection} />
        {expired.length > 0 && (
          <Expired plan={plan} expired={expired} onDrop={() => dispatch({ type: 'drop', indices: expired })} />
        )}
        {said && (
          <p className="field-fault" role="alert">
            {said}
          </p>
        )}
        {proposal.fault && (
          <p className="field-fault" role="alert">
            {proposal.fault}
          </p>
        )}
        {proposal.current ? <Preview {...props} shown={proposal.current} /> : <Verdict {...props} />}
        {save.isError && !isConflict(save.error) && !isSignedOut(save.error) && (
          <div className="form-problem" role="alert">
            {sentenceOf(save.error)}
          </div>
        )}
      </div>
      <footer className="schedule-save">
        <span className="note">
          {!mayEdit
            ? 'Your role may not change it'
            : !isEditable
              ? 'All gates closed'
              : changed === 0
                ? 'No changes'
                : `${changed} changed`}
        </span>
        <Button kind="quiet" disabled={draft.edits.size === 0} onClick={() => dispatch({ type: 'clear' })}>
          Discard
        </Button>
        <Button kind="primary" disabled={!mayKeep} isBusy={save.isPending} onClick={() => save.mutate()}>
          Save <span aria-hidden="true">⌘S</span>
        </Button>
      </footer>
    </Card>
  )
}

/** Edits that came too late: named, and dropped by one key. */
function Expired({ plan, expired, onDrop }: { plan: DayPlan; expired: readonly number[]; onDrop: () => void }) {
  const zone = useZone()
  const last = time(plan.quarters[expired.at(-1) ?? 0] ?? 0, zone)
  return (
    <div className="verdict">
      <p role="status">
        <strong>{plural(expired.length, 'expired edit')}</strong> left out: the gate of {last}
        {expired.length > 1 ? ' and before' : ''} has passed.
      </p>
      <Button isCompact onClick={onDrop}>
        Drop <kbd>X</kbd>
      </Button>
    </div>
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
  if (!selection) return <p className="note">Type, paste or drag; Alt+↑↓ moves by 0.1.</p>
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

const KINDS = { optimise: 'Optimised', balance: 'Balanced', repair: 'Repaired' } as const

/** What a proposal would change: drawn and in the table already, stored only after it is applied and saved. */
function Preview({ asset, endKwh, gain, proposal, onApply, shown }: Props & { shown: Proposal }) {
  const count = shown.changes.size
  const end = `${decimal((endKwh / asset.energyCapacity) * 100, 1)} %`
  return (
    <section className="verdict verdict-proposal" aria-label="Proposal">
      <p role="status">
        {count === 0 ? (
          <>
            {KINDS[shown.kind]}, the plan would stay <strong>as it is</strong>.
          </>
        ) : (
          <>
            {KINDS[shown.kind]}: <strong>{plural(count, 'quarter')}</strong> would change
            {gain !== null && (
              <>
                , worth <strong>{signedEuro(gain)}</strong>
              </>
            )}
            , ending at <strong>{end}</strong>.
          </>
        )}
      </p>
      <div className="verdict-actions">
        <Button isCompact onClick={proposal.dismiss}>
          {count === 0 ? 'Good' : 'Dismiss'}
        </Button>
        {count > 0 && (
          <Button isCompact kind="primary" onClick={() => onApply(shown)}>
            Apply
          </Button>
        )}
      </div>
    </section>
  )
}

function Verdict({ asset, plan, breach, endKwh, isEditable, proposal }: Props) {
  const zone = useZone()
  const helper = (kind: ProposalKind, label: string) =>
    isEditable && proposal.may[kind] ? (
      <Button isCompact isBusy={proposal.isAsking} onClick={() => proposal.ask(kind)}>
        {label}
      </Button>
    ) : null
  if (breach) {
    return (
      <div className="verdict verdict-danger">
        <p role="status">
          In {quarter(plan.quarters[breach.index] ?? 0, zone)} the store would be{' '}
          <strong>
            {decimal(Math.abs(breach.kwh) / 1000, 2)} MWh {breach.kwh > 0 ? 'above its capacity' : 'below empty'}.
          </strong>
        </p>
        {helper('repair', 'Repair')}
      </div>
    )
  }
  if (plan.cuts.size > 0) {
    const lost = [...plan.cuts.values()].reduce((sum, cut) => sum + Math.abs(cut.from - cut.to) / 4000, 0)
    return (
      <div className="verdict">
        <p role="status">
          <strong>{plural(plan.cuts.size, 'quarter')}</strong> will be cut, {decimal(lost, 2)} MWh in all.
        </p>
        {helper('repair', 'Repair plan')}
      </div>
    )
  }
  const off = endKwh - 0.5 * asset.energyCapacity
  const percent = `${decimal((endKwh / asset.energyCapacity) * 100, 1)} %`
  if (isBalanced(asset, off))
    return (
      <p className="verdict verdict-good" role="status">
        The plan ends at <strong>{percent}</strong>, within the tolerance.
      </p>
    )
  return (
    <div className="verdict">
      <p role="status">
        Ends at <strong>{percent}</strong>: {off < 0 ? 'charge' : 'discharge'}{' '}
        <strong>{decimal(Math.abs(off) / 1000, 2)} MWh</strong> more.
      </p>
      {helper('balance', 'Balance the rest')}
    </div>
  )
}
