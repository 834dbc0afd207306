import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { words } from '../../shared/format'
import { atMost } from '../../shared/quantity'
import { type EditField, EditForm } from '../../shared/ui/EditForm'
import type { Values } from '../../shared/ui/editing'
import { useOpeningZone, zoneName } from '../../shared/zone'
import type { Unavailability } from './data'
import { unavailabilityBody, unavailabilityValues } from './editing'
import { KINDS } from './UnavailabilityForm'

const fieldsIn = (zone: string, { parameters }: PhysicalAsset): EditField[] => [
  { key: 'type', label: 'Type', kind: 'select', options: KINDS.map((kind) => ({ value: kind, label: words(kind) })) },
  { key: 'start', label: 'From', kind: 'moment', hint: `Time in ${zone}` },
  { key: 'end', label: 'To', kind: 'moment', hint: `Time in ${zone}` },
  {
    key: 'power',
    label: 'Missing power',
    unit: 'MW',
    kind: 'number',
    pointer: '/volume/powerCapacity/discharge',
    factor: 1000,
    limits: atMost(Math.max(parameters.ratedChargePower, parameters.ratedDischargePower), 'MW'),
  },
  {
    key: 'energy',
    label: 'Missing energy',
    unit: 'MWh',
    kind: 'number',
    pointer: '/volume/energyCapacity',
    factor: 1000,
    limits: atMost(parameters.energyCapacity, 'MWh'),
  },
  { key: 'description', label: 'Reason' },
]

/** What was reported, moved or corrected. Who holds a part is told as when it was reported. */
export function EditUnavailability({
  asset,
  item,
  onClose,
}: {
  asset: PhysicalAsset
  item: Unavailability
  onClose: () => void
}) {
  const queries = useQueryClient()
  const zone = useOpeningZone()
  const path = `/physical-assets/${asset.id}/unavailability/${item.id}`
  const read = async () => {
    const response = await ask(path)
    const found = (await response.json()) as Unavailability
    return { values: unavailabilityValues(found, zone), etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, { method: 'PATCH', ifMatch, body: unavailabilityBody(values, zone) })
  return (
    <EditForm
      title={`Change: ${item.description || words(item.type)}`}
      subject={`physical-assets/${asset.id}/unavailability/${item.id}`}
      fields={fieldsIn(zoneName(zone), asset)}
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
