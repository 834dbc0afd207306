import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { allPages, answered, api, type Schemas } from '../../../shared/api/client'
import { useOrganisations } from '../../../shared/api/names'
import { faultAt } from '../../../shared/api/problem'
import { clock } from '../../../shared/clock'
import { megawatts } from '../../../shared/format'
import { atMost, readQuantity } from '../../../shared/quantity'
import { addDays, dayOf, instant, momentOf } from '../../../shared/time/marketDay'
import { localInput, momentFrom } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { unreadable } from '../../../shared/ui/editing'
import { Checkbox, Field, SelectField } from '../../../shared/ui/Field'
import { Sheet } from '../../../shared/ui/Sheet'
import { FormProblem } from '../../../shared/ui/states'
import { useOpeningZone, zoneName } from '../../../shared/zone'
import { go } from '../../../shell/router'
import { readPrice } from '../data'

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
  const [assetID, setAssetID] = useState('')
  /** Times that could not be read when it was to be created. */
  const [unread, setUnread] = useState<Record<string, string | undefined>>({})
  const [faults, setFaults] = useState<Record<string, string | null>>({})
  const [invited, setInvited] = useState<ReadonlySet<string>>(new Set())
  const asset = assets.data?.find((one) => one.id === assetID) ?? assets.data?.[0]
  const now = clock.now()
  const opens = Math.ceil(now / 300_000) * 300_000
  const day = dayOf(now)

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
    const { ratedChargePower, ratedDischargePower, energyCapacity } = asset.parameters
    const power = readQuantity(text('power'), 'MW', atMost(Math.min(ratedChargePower, ratedDischargePower), 'MW'))
    const energy = readQuantity(text('energy'), 'MWh', atMost(energyCapacity, 'MWh'))
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
        chargeEfficiency: asset.parameters.chargeEfficiency,
        dischargeEfficiency: asset.parameters.dischargeEfficiency,
        dailyCycleLimit: cycles.value,
        initialSoC: 0.5,
        lastSoCTarget: 0.5,
        finalSoCTolerance: 0.01,
      },
      hurdlePrice: hurdle.price === null ? null : hurdle.price.toFixed(2),
      backing: [{ physicalAssetID: asset.id, share: 1 }],
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

  return (
    <Sheet title="New auction" isOpen onClose={onClose} width={520}>
      <form className="form" onSubmit={submit}>
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
        <SelectField
          label="Backed by"
          value={asset?.id ?? ''}
          onChange={(event) => setAssetID(event.target.value)}
          options={(assets.data ?? []).map((one) => ({
            value: one.id,
            label: `${one.name}, ${megawatts(one.parameters.ratedDischargePower)} MW, ${one.deliveryZone}`,
          }))}
          fault={fault('/backing/0/physicalAssetID')}
        />
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
          <Button kind="primary" type="submit" isBusy={create.isPending} disabled={!asset || invited.size === 0}>
            Create, inviting {invited.size}
          </Button>
        </div>
      </form>
    </Sheet>
  )
}
