import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { words } from '../../shared/format'
import { instant } from '../../shared/time/marketDay'
import { localInput, momentFrom } from '../../shared/time/words'
import { type EditField, EditForm } from '../../shared/ui/EditForm'
import type { Values } from '../../shared/ui/editing'
import { useZone } from '../../shared/zone'
import type { Unavailability } from './data'
import { KINDS } from './UnavailabilityForm'

const FIELDS: EditField[] = [
  { key: 'type', label: 'Type', kind: 'select', options: KINDS.map((kind) => ({ value: kind, label: words(kind) })) },
  { key: 'start', label: 'From', kind: 'moment' },
  { key: 'end', label: 'To', kind: 'moment' },
  {
    key: 'power',
    label: 'Missing power',
    unit: 'MW',
    kind: 'number',
    pointer: '/volume/powerCapacity/discharge',
    factor: 1000,
  },
  {
    key: 'energy',
    label: 'Missing energy',
    unit: 'MWh',
    kind: 'number',
    pointer: '/volume/energyCapacity',
    factor: 1000,
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
  const zone = useZone()
  const path = `/physical-assets/${asset.id}/unavailability/${item.id}`
  const read = async () => {
    const response = await ask(path)
    const found = (await response.json()) as Unavailability
    const values = {
      type: found.type,
      start: localInput(Date.parse(found.start), zone),
      end: localInput(Date.parse(found.end), zone),
      power: String(found.volume.powerCapacity.discharge / 1000),
      energy: String(found.volume.energyCapacity / 1000),
      description: found.description,
    }
    return { values, etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, { method: 'PATCH', ifMatch, body: bodyOf(values, zone, item) })
  return (
    <EditForm
      title={`Change: ${item.description || words(item.type)}`}
      subject={`physical-assets/${asset.id}/unavailability/${item.id}`}
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

function bodyOf(values: Values, zone: string, item: Unavailability) {
  const number = (key: string) => Number((values[key] ?? '0').replace(',', '.')) * 1000
  const power = number('power')
  const { powerCapacity } = item.volume
  // One field stands for both directions; where they were told apart and it was not touched, they stay so.
  const isSame = power === powerCapacity.discharge
  return {
    type: values.type,
    start: instant(momentFrom(values.start ?? '', zone)),
    end: instant(momentFrom(values.end ?? '', zone)),
    description: values.description,
    volume: {
      energyCapacity: number('energy'),
      powerCapacity: isSame ? powerCapacity : { charge: power, discharge: power },
    },
  }
}
