import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useId, useState } from 'react'
import { answered, api, askJson, offers } from '../../shared/api/client'
import { faultAt, type Scale, sentenceOf } from '../../shared/api/problem'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { clock } from '../../shared/clock'
import { decimal, megawatts, signed, words } from '../../shared/format'
import { atMost, plainNumber, type Quantity, readQuantity } from '../../shared/quantity'
import { addDays, dayOf, instant, momentOf } from '../../shared/time/marketDay'
import { localInput, momentFrom } from '../../shared/time/words'
import { Button, IconButton } from '../../shared/ui/Button'
import { unreadable } from '../../shared/ui/editing'
import { Checkbox, Field, SelectField } from '../../shared/ui/Field'
import { say } from '../../shared/ui/Said'
import { FormProblem, Skeleton } from '../../shared/ui/states'
import { useOpeningZone, zoneName } from '../../shared/zone'
import { isPlanned, type Preview, type UnavailabilityKind } from './data'

export interface Draft {
  type: UnavailabilityKind
  start: number
  end: number
  powerKw: number
  energyKwh: number
  description: string
}

export const KINDS: UnavailabilityKind[] = [
  'MAINTENANCE',
  'OUTAGE',
  'REDISPATCH',
  'GRID_CONSTRAINT',
  'CURTAILMENT',
  'TESTING',
  'COMMISSIONING',
  'OTHER',
]

const MW: Scale = { factor: 1000, unit: 'MW' }

interface Props {
  asset: PhysicalAsset
  onDraft: (draft: Draft | null) => void
  onClose: () => void
}

function bodyOf(draft: Draft) {
  return {
    description: draft.description,
    type: draft.type,
    start: instant(draft.start),
    end: instant(draft.end),
    volume: { energyCapacity: draft.energyKwh, powerCapacity: { charge: draft.powerKw, discharge: draft.powerKw } },
  }
}

/** A column, not an overlay: what it does is drawn beside it while it is filled in. */
export function UnavailabilityForm({ asset, onDraft, onClose }: Props) {
  const zone = useOpeningZone()
  const queries = useQueryClient()
  const mayNotify = useMay('Create:exchange-notifications')
  const [doesNotify, setDoesNotify] = useState(false)
  const titleID = useId()
  const [text, setText] = useState(() => {
    const start = momentOf(addDays(dayOf(clock.now()), 1), 8 * 60)
    return {
      type: 'MAINTENANCE' as UnavailabilityKind,
      from: localInput(start, zone),
      until: localInput(start + 8 * 3_600_000, zone),
      power: '',
      energy: '',
      description: '',
    }
  })
  const { ratedChargePower, ratedDischargePower, energyCapacity } = asset.parameters
  const mostKw = Math.max(ratedChargePower, ratedDischargePower)
  const power = readMissing(text.power, 'MW', mostKw)
  const energy = readMissing(text.energy, 'MWh', energyCapacity)
  const draft: Draft = {
    type: text.type,
    start: momentFrom(text.from, zone),
    end: momentFrom(text.until, zone),
    powerKw: power.value === null ? 0 : Math.round(power.value * 1e6) / 1000,
    energyKwh: energy.value === null ? 0 : Math.round(energy.value * 1e6) / 1000,
    description: text.description,
  }
  /** Once it is reported only its notification can be missing: then that alone is sent again. */
  const [madeID, setMadeID] = useState<string | null>(null)
  const isReversed = draft.start > 0 && draft.end > 0 && draft.end <= draft.start
  const isSpan = draft.start > 0 && draft.end > draft.start
  const isReadable = power.fault === null && energy.fault === null
  const isWhole = isSpan && isReadable && (draft.powerKw > 0 || draft.energyKwh > 0)
  const key = JSON.stringify(draft)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the draft, which is new at every drawing
  useEffect(() => onDraft(isSpan && madeID === null ? draft : null), [key, madeID, onDraft])

  const make = async () => {
    const path = { physicalAssetID: asset.id }
    const body = bodyOf(draft)
    return (await answered(api.POST('/physical-assets/{physicalAssetID}/unavailability', { params: { path }, body })))
      .id
  }
  const report = useMutation({
    mutationFn: async () => {
      const id = madeID ?? (await make())
      setMadeID(id)
      if (doesNotify)
        await answered(
          api.POST('/physical-assets/{physicalAssetID}/exchange-notifications', {
            params: { path: { physicalAssetID: asset.id } },
            body: {
              unavailabilityType: isPlanned(draft.type) ? 'PLANNED' : 'UNPLANNED',
              eventStart: instant(draft.start),
              eventEnd: instant(draft.end),
              unavailableCapacity: draft.powerKw,
              cause: draft.description || words(draft.type),
              unavailabilityIDs: [id],
            },
          }),
        )
    },
    onSuccess: () => {
      say('Reported.')
      onClose()
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['physical-assets'] }),
  })
  const change = (name: keyof typeof text) => (event: { target: { value: string } }) =>
    setText((old) => ({ ...old, [name]: event.target.value }))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isWhole) report.mutate()
  }
  if (madeID !== null && doesNotify)
    return (
      <Unpublished isBusy={report.isPending} error={report.error} onAgain={() => report.mutate()} onClose={onClose} />
    )
  const fault = (pointer: string, scale?: Scale) => faultAt(report.error, pointer, scale)
  const { parameters } = asset
  return (
    <form className="card unavailability" onSubmit={submit} aria-labelledby={titleID}>
      <header className="card-head">
        <h2 id={titleID}>Report unavailability</h2>
        <div className="card-actions">
          <IconButton name="close" label="Close without reporting" onClick={onClose} />
        </div>
      </header>
      <div className="card-body form">
        <SelectField
          label="Type"
          value={text.type}
          onChange={change('type')}
          options={KINDS.map((kind) => ({ value: kind, label: words(kind) }))}
        />
        <Field
          label="From"
          hint={`Year, month, day and time, 24 h, in ${zoneName(zone)}`}
          placeholder="2026-11-17 08:00"
          value={text.from.replace('T', ' ')}
          onChange={change('from')}
          required
          fault={unreadable('moment', text.from, undefined, zone) ?? fault('/start')}
        />
        <Field
          label="To"
          placeholder="2026-11-17 16:00"
          value={text.until.replace('T', ' ')}
          onChange={change('until')}
          required
          fault={
            unreadable('moment', text.until, undefined, zone) ??
            (isReversed ? 'It ends before it begins.' : undefined) ??
            fault('/end')
          }
        />
        <div className="form-row">
          <Field
            label="Missing power"
            inputMode="decimal"
            value={text.power}
            onChange={change('power')}
            suffix={`of ${megawatts(parameters.ratedDischargePower)} MW`}
            fault={
              power.fault ?? fault('/volume/powerCapacity/discharge', MW) ?? fault('/volume/powerCapacity/charge', MW)
            }
          />
          <Field
            label="Missing energy"
            inputMode="decimal"
            value={text.energy}
            onChange={change('energy')}
            suffix={`of ${megawatts(parameters.energyCapacity)} MWh`}
            fault={energy.fault ?? fault('/volume/energyCapacity', { factor: 1000, unit: 'MWh' })}
          />
        </div>
        <Field
          label="Reason"
          value={text.description}
          onChange={change('description')}
          required
          fault={fault('/description')}
        />
        {isWhole && <Effect asset={asset} draft={draft} />}
        <p className="note">A logbook entry is written, and the holders are notified at once.</p>
        {mayNotify && (
          <Checkbox
            label="Publish an exchange notification"
            checked={doesNotify}
            onChange={(event) => setDoesNotify(event.target.checked)}
          />
        )}
        <FormProblem error={report.error} />
      </div>
      <footer className="unavailability-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" isBusy={report.isPending} disabled={!isWhole || text.description === ''}>
          {draft.powerKw > 0
            ? `Report ${plainNumber(draft.powerKw / 1000)} MW missing`
            : draft.energyKwh > 0
              ? `Report ${plainNumber(draft.energyKwh / 1000)} MWh missing`
              : 'Report what is missing'}
        </Button>
      </footer>
    </form>
  )
}

interface UnpublishedProps {
  isBusy: boolean
  error: unknown
  onAgain: () => void
  onClose: () => void
}

/** It is reported: what is left is to tell the market, or not to. */
function Unpublished({ isBusy, error, onAgain, onClose }: UnpublishedProps) {
  return (
    <section className="card unavailability" aria-label="Reported">
      <header className="card-head">
        <h2>Reported</h2>
      </header>
      <div className="card-body form">
        <p role="status">
          The unavailability is reported. Its exchange notification{' '}
          {isBusy ? 'is being published.' : 'is not published.'}
        </p>
        <FormProblem error={error} />
      </div>
      <footer className="unavailability-foot">
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" isBusy={isBusy} onClick={onAgain}>
          Publish it again
        </Button>
      </footer>
    </section>
  )
}

/** What reporting it would do, asked of the service without doing it. */
function Effect({ asset, draft }: { asset: PhysicalAsset; draft: Draft }) {
  const isOffered = offers('POST /physical-assets/{physicalAssetID}/unavailability-previews')
  const typed = JSON.stringify(bodyOf({ ...draft, description: draft.description || 'draft' }))
  const asked = useSettled(typed, 300)
  const preview = useQuery({
    queryKey: ['physical-assets', asset.id, 'preview', asked],
    queryFn: () =>
      askJson<Preview>(`/physical-assets/${asset.id}/unavailability-previews`, {
        method: 'POST',
        body: JSON.parse(asked),
      }),
    enabled: isOffered,
    retry: false,
    placeholderData: (old) => old,
  })
  if (!isOffered) return null
  if (preview.isError) return <p className="field-fault">{sentenceOf(preview.error)}</p>
  if (!preview.data) return <Skeleton height={120} />
  const { free, cut, holders } = preview.data
  // Until the answer to what is typed now is there, the one before stays, but is not said of this.
  const isOfThis = typed === asked && !preview.isPlaceholderData
  const lost = holders.filter((one) => one.after < one.before || one.energyAfter < one.energyBefore)
  const total = Math.max(1, free + cut)
  const sum = (pick: (one: Preview['holders'][number]) => number) =>
    lost.reduce((all, one) => all + pick(one), 0) / 1000
  return (
    <section
      className={`effect ${cut > 0 || !isOfThis ? '' : 'is-harmless'}`}
      aria-busy={!isOfThis}
      aria-label="Its effect"
    >
      <h3>
        {!isOfThis
          ? 'Being worked out for what is typed now'
          : cut > 0
            ? `${decimal(cut / 1000, 1)} of ${decimal(draft.powerKw / 1000, 1)} MW are promised`
            : 'Nothing that is promised is touched'}
      </h3>
      {cut > 0 && (
        <div className="effect-bar" aria-hidden="true">
          <span style={{ flexGrow: free / total }}>{megawatts(free)} MW free</span>
          <span className="effect-cut" style={{ flexGrow: cut / total }}>
            {megawatts(cut)} MW cut
          </span>
        </div>
      )}
      {lost.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Loses</th>
              <th scope="col">MW</th>
              <th scope="col">MWh</th>
            </tr>
          </thead>
          <tbody>
            {lost.map((one) => (
              <tr key={`${one.kind}-${one.virtualAssetID ?? one.auctionID ?? one.before}`}>
                <td>
                  <strong>{holderInWords(one)}</strong>
                  <span className="note">
                    {decimal(one.before / 1000, 1)} → {decimal(one.after / 1000, 1)} MW
                  </span>
                </td>
                <td>{signed((one.after - one.before) / 1000, 2)}</td>
                <td>{signed((one.energyAfter - one.energyBefore) / 1000, 2)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <td>
                <strong>Together</strong>
              </td>
              <td>
                {signed(
                  sum((one) => one.after - one.before),
                  2,
                )}
              </td>
              <td>
                {signed(
                  sum((one) => one.energyAfter - one.energyBefore),
                  2,
                )}
              </td>
            </tr>
          </tfoot>
        </table>
      )}
    </section>
  )
}

const HOLDERS: Record<string, string> = {
  AUCTION: 'An open auction',
  FCR: 'Your FCR bid',
  AFRR_CAPACITY: 'Your aFRR capacity',
  AFRR_ENERGY: 'Your aFRR energy',
  OWN_SCHEDULE: 'Your own schedule',
}

function holderInWords(holder: Preview['holders'][number]): string {
  if (holder.organisationName) return holder.organisationName
  return HOLDERS[holder.kind] ?? words(holder.kind)
}

/** A value once it has stood still for a while. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/** What is missing, at most what the battery has; nothing where the field is empty. */
function readMissing(text: string, unit: 'MW' | 'MWh', mostKw: number): Quantity {
  if (text.trim() === '') return { value: 0, fault: null }
  return readQuantity(text, unit, atMost(mostKw, unit))
}
