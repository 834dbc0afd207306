import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { type EditField, EditForm } from '../../shared/ui/EditForm'
import type { Values } from '../../shared/ui/editing'
import type { Parameters } from './data'

const FIELDS: EditField[] = [
  { key: 'ratedChargePower', label: 'Charging power', unit: 'MW', kind: 'number', factor: 1000 },
  { key: 'ratedDischargePower', label: 'Discharging power', unit: 'MW', kind: 'number', factor: 1000 },
  { key: 'energyCapacity', label: 'Energy capacity', unit: 'MWh', kind: 'number', factor: 1000 },
  { key: 'chargeEfficiency', label: 'Efficiency, charging', unit: '%', kind: 'number', factor: 0.01 },
  { key: 'dischargeEfficiency', label: 'Efficiency, discharging', unit: '%', kind: 'number', factor: 0.01 },
  { key: 'minStateOfCharge', label: 'Lowest state of charge', unit: '%', kind: 'number', factor: 0.01 },
  { key: 'maxStateOfCharge', label: 'Highest state of charge', unit: '%', kind: 'number', factor: 0.01 },
  { key: 'dailyCycleLimit', label: 'Cycles a day', hint: 'Empty for no limit', kind: 'number' },
  { key: 'annualCycleLimit', label: 'Cycles a year', hint: 'Empty for no limit', kind: 'number' },
  { key: 'fcrLimitRatio', label: 'FCR limit', unit: '% of rated power', kind: 'number', factor: 0.01 },
]
const tidy = (value: number): string => String(Number(value.toPrecision(12)))

/** A change adds a version that holds from now on; what was stays. */
export function EditParameters({ asset, onClose }: { asset: PhysicalAsset; onClose: () => void }) {
  const queries = useQueryClient()
  const path = `/physical-assets/${asset.id}/parameters`
  const read = async () => {
    const response = await ask(path)
    const found = (await response.json()) as Parameters
    return { values: valuesOf(found), etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, { method: 'PUT', ifMatch, body: { rampRate: asset.parameters.rampRate, ...bodyOf(values) } })
  return (
    <EditForm
      title={`Parameters of ${asset.name}`}
      action="Save as a new version"
      subject={`physical-assets/${asset.id}/parameters`}
      fields={FIELDS}
      read={read}
      save={save}
      onClose={onClose}
      onSaved={() => {
        void queries.invalidateQueries({ queryKey: ['physical-assets'] })
        onClose()
      }}
    />
  )
}

function valuesOf(parameters: Parameters): Values {
  const found = parameters as unknown as Record<string, number | null | undefined>
  return Object.fromEntries(
    FIELDS.map(({ key, factor = 1 }) => {
      const value = found[key]
      return [key, value === null || value === undefined ? '' : tidy(value / factor)]
    }),
  )
}

function bodyOf(values: Values): Record<string, number | null> {
  return Object.fromEntries(
    FIELDS.map(({ key, factor = 1 }) => {
      const text = (values[key] ?? '').replace(',', '.').trim()
      return [key, text === '' ? null : Number(tidy(Number(text) * factor))]
    }),
  )
}
