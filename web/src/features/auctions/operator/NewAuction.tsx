import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { allPages, answered, api, type Schemas } from '../../../shared/api/client'
import { useOrganisations } from '../../../shared/api/names'
import { faultAt } from '../../../shared/api/problem'
import { clock } from '../../../shared/clock'
import { atMost, readQuantity } from '../../../shared/quantity'
import { addDays, dayOf, instant, momentOf, type Span } from '../../../shared/time/marketDay'
import { localInput, momentFrom } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { unreadable } from '../../../shared/ui/editing'
import { Checkbox, Field } from '../../../shared/ui/Field'
import { Sheet } from '../../../shared/ui/Sheet'
import { FormProblem } from '../../../shared/ui/states'
import { useOpeningZone, zoneName } from '../../../shared/zone'
import { go } from '../../../shell/router'
import { readPrice } from '../data'
import { Backing } from './Backing'

const MOMENTS = ['opens', 'closes', 'from', 'until']

/** Offer a slice of a battery: when, what, backed by what, to whom. */
export function NewAuction({ onClose }: { onClose: () => void }) {
  const zone = useOpeningZone()
  const queries = useQueryClient()
  const organisations = useOrganisations()
  const assets = useQuery({
    queryKey: ['physical-assets', 'list'],
    queryFn: () => allPages<Schemas['PhysicalAsset']>('/physical-assets'),
  })
  const [chosenIDs, setChosenIDs] = useState<readonly string[]>([])
  const [shares, setShares] = useState<{ id: string; share: number }[]>([])
  const [item, setItem] = useState<{ span: Span; power: number | null } | null>(null)
  /** Times that could not be read when it was to be created. */
  const [unread, setUnread] = useState<Record<string, string | undefined>>({})
  const [faults, setFaults] = useState<Record<string, string | null>>({})
  const [invited, setInvited] = useState<ReadonlySet<string>>(new Set())
  const chosen = chosenIDs.flatMap((id) => assets.data?.find((one) => one.id === id) ?? [])
  const asset = chosen[0]
  const [now] = useState(() => clock.now())
  const opens = Math.ceil(now / 300_000) * 300_000
  const day = dayOf(now)
  const ahead = { start: momentOf(addDays(day, 2)), end: momentOf(addDays(day, 9)) }
  const read = (form: HTMLFormElement) => {
    const text = (name: string) => String(new FormData(form).get(name) ?? '')
    const [start, end] = [momentFrom(text('from'), zone), momentFrom(text('until'), zone)]
    if (start > 0 && end > start)
      setItem({ span: { start, end }, power: readQuantity(text('power'), 'MW', { least: 0 }).value })
  }

  const create = useMutation({
    mutationFn: (body: Schemas['NewAuction']) => answered(api.POST('/auctions', { body })),
    onSuccess: async (auction) => {
      await queries.invalidateQueries({ queryKey: ['auctions'] })
      onClose()
      go(`/auctions/${auction.id}`)
    },
  })

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (!asset) return
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '')
    const unread = Object.fromEntries(
      MOMENTS.map((name) => [name, unreadable('moment', text(name), undefined, zone)] as const),
    )
    setUnread(unread)
    const rated = (of: 'ratedChargePower' | 'ratedDischargePower' | 'energyCapacity') =>
      chosen.reduce((sum, one) => sum + one.parameters[of], 0)
    const mostPower = Math.min(rated('ratedChargePower'), rated('ratedDischargePower'))
    const power = readQuantity(text('power'), 'MW', atMost(mostPower, 'MW'))
    const energy = readQuantity(text('energy'), 'MWh', atMost(rated('energyCapacity'), 'MWh'))
    const cycles = text('cycles').trim() ? readQuantity(text('cycles'), '', { least: 0 }) : { value: null, fault: null }
    const hurdle = text('hurdle').trim() ? readPrice(text('hurdle')) : { price: null, fault: null }
    const faults = { power: power.fault, energy: energy.fault, cycles: cycles.fault, hurdle: hurdle.fault }
    setFaults(faults)
    if (
      Object.values(unread).some(Boolean) ||
      power.value === null ||
      energy.value === null ||
      cycles.fault ||
      hurdle.fault
    )
      return
    const powerKw = Math.round(power.value * 1e6) / 1000
    create.mutate({
      start: instant(momentFrom(text('opens'), zone)),
      end: instant(momentFrom(text('closes'), zone)),
      item: {
        start: instant(momentFrom(text('from'), zone)),
        end: instant(momentFrom(text('until'), zone)),
        deliveryZone: asset.deliveryZone,
        ratedChargePower: powerKw,
        ratedDischargePower: powerKw,
        energyCapacity: Math.round(energy.value * 1e6) / 1000,
        chargeEfficiency: Math.min(...chosen.map((one) => one.parameters.chargeEfficiency)),
        dischargeEfficiency: Math.min(...chosen.map((one) => one.parameters.dischargeEfficiency)),
        dailyCycleLimit: cycles.value,
        initialSoC: 0.5,
        lastSoCTarget: 0.5,
        finalSoCTolerance: 0.01,
      },
      hurdlePrice: hurdle.price === null ? null : hurdle.price.toFixed(2),
      backing: shares.map(({ id, share }) => ({ physicalAssetID: id, share })),
      participants: [...invited],
    })
  }

  const toggle = (id: string) => {
    const next = new Set(invited)
    if (!next.delete(id)) next.add(id)
    setInvited(next)
  }
  const faultOfTime = (name: string, pointer: string) => unread[name] ?? fault(pointer)
  const fault = (pointer: string, unit?: 'MW' | 'MWh') => faultAt(create.error, pointer, unit && { factor: 1000, unit })

  const backingFault =
    chosen.map((_, index) => fault(`/backing/${index}/physicalAssetID`)).find(Boolean) ?? fault('/backing')

  return (
    <Sheet title="New auction" isOpen onClose={onClose} width={520}>
      <form className="form" onSubmit={submit} onChange={(event) => read(event.currentTarget)}>
        <p className="note">Times in {zoneName(zone)}: year-month-day and 24 h.</p>
        <div className="form-row">
          <Field
            label="Opens"
            name="opens"
            required
            defaultValue={localInput(opens, zone)}
            fault={faultOfTime('opens', '/start')}
          />
          <Field
            label="Closes"
            name="closes"
            required
            defaultValue={localInput(opens + 3_600_000, zone)}
            fault={faultOfTime('closes', '/end')}
          />
          <Field
            label="Delivers from"
            name="from"
            required
            defaultValue={localInput(momentOf(addDays(day, 2)), zone)}
            fault={faultOfTime('from', '/item/start')}
          />
          <Field
            label="Until"
            name="until"
            required
            defaultValue={localInput(momentOf(addDays(day, 9)), zone)}
            fault={faultOfTime('until', '/item/end')}
          />
        </div>
        <Backing
          assets={assets.data ?? []}
          chosen={chosen}
          span={item?.span ?? ahead}
          power={item?.power ?? null}
          onToggle={(id) => setChosenIDs((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old, id]))}
          onShares={setShares}
        />
        {backingFault && <p className="field-fault">{backingFault}</p>}
        <div className="form-row">
          <Field
            label="Power"
            name="power"
            inputMode="decimal"
            required
            suffix="MW"
            fault={faults.power ?? fault('/item/ratedDischargePower', 'MW')}
          />
          <Field
            label="Energy"
            name="energy"
            inputMode="decimal"
            required
            suffix="MWh"
            fault={faults.energy ?? fault('/item/energyCapacity', 'MWh')}
          />
          <Field
            label="Cycles a day"
            name="cycles"
            inputMode="decimal"
            defaultValue={2}
            fault={faults.cycles ?? fault('/item/dailyCycleLimit')}
          />
          <Field
            label="Hurdle price"
            name="hurdle"
            inputMode="decimal"
            suffix="EUR"
            hint="Bids below it are not valid"
            fault={faults.hurdle ?? fault('/hurdlePrice')}
          />
        </div>
        <fieldset className="field plain-fieldset permission-grid">
          <legend className="note">Invited</legend>
          {(organisations.data ?? [])
            .filter((one) => one.kind === 'PARTICIPANT')
            .map((one) => (
              <Checkbox key={one.id} label={one.name} checked={invited.has(one.id)} onChange={() => toggle(one.id)} />
            ))}
        </fieldset>
        <FormProblem error={create.error} />
        <div className="form-foot">
          <Button onClick={onClose}>Back</Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={create.isPending}
            disabled={shares.length === 0 || invited.size === 0}
          >
            Create, inviting {invited.size}
          </Button>
        </div>
      </form>
    </Sheet>
  )
}
