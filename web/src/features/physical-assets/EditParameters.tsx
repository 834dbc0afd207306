import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { type EditField, EditForm } from '../../shared/ui/EditForm'
import type { Values } from '../../shared/ui/editing'
import type { Parameters } from './data'
import { parameterBody, parameterValues } from './editing'

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

/** A change adds a version that holds from now on; what was stays. */
export function EditParameters({ asset, onClose }: { asset: PhysicalAsset; onClose: () => void }) {
  const queries = useQueryClient()
  const path = `/physical-assets/${asset.id}/parameters`
  const read = async () => {
    const response = await ask(path)
    const found = (await response.json()) as Parameters
    return { values: parameterValues(found, FIELDS), etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, { method: 'PUT', ifMatch, body: parameterBody(values, FIELDS) })
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
