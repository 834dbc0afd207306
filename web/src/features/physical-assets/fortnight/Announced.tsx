import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../../shared/api/client'
import type { PhysicalAsset } from '../../../shared/api/resources'
import { useMay } from '../../../shared/api/session'
import { decimal, words } from '../../../shared/format'
import { weekdayTime } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { FormProblem } from '../../../shared/ui/states'
import { Table } from '../../../shared/ui/Table'
import { useZone } from '../../../shared/zone'
import type { Unavailability } from '../data'
import { EditUnavailability } from '../EditUnavailability'

/** The same in words, with what can be done about each. */
export function Announced({
  asset,
  unavailability,
  now,
}: {
  asset: PhysicalAsset
  unavailability: Unavailability[]
  now: number
}) {
  const zone = useZone()
  const coming = unavailability
    .filter((one) => Date.parse(one.end) > now)
    .sort((a, b) => Date.parse(a.start) - Date.parse(b.start))
  if (coming.length === 0) return null
  return (
    <Table
      columns={[
        'Unavailable',
        'From',
        'Until',
        { label: 'MW missing', isNumber: true },
        { label: 'MWh missing', isNumber: true },
        { label: 'Actions', isUnseen: true },
      ]}
    >
      <tbody>
        {coming.slice(0, 6).map((one) => (
          <tr key={one.id}>
            <td>
              <strong>{words(one.type)}</strong> <span className="note">{one.description}</span>
            </td>
            <td>{weekdayTime(Date.parse(one.start), zone)}</td>
            <td>{weekdayTime(Date.parse(one.end), zone)}</td>
            <td className="number">{decimal(one.volume.powerCapacity.discharge / 1000, 1)}</td>
            <td className="number">{decimal(one.volume.energyCapacity / 1000, 1)}</td>
            <td className="number">
              <Change asset={asset} item={one} />
              <Withdraw asset={asset} item={one} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function Change({ asset, item }: { asset: PhysicalAsset; item: Unavailability }) {
  const may = useMay('Create:unavailabilities')
  const [isEditing, setIsEditing] = useState(false)
  if (!may) return null
  return (
    <>
      <Button kind="quiet" isCompact onClick={() => setIsEditing(true)} aria-label={`Change: ${item.description}`}>
        Change
      </Button>
      {isEditing && <EditUnavailability asset={asset} item={item} onClose={() => setIsEditing(false)} />}
    </>
  )
}

function Withdraw({ asset, item }: { asset: PhysicalAsset; item: Unavailability }) {
  const may = useMay('Create:unavailabilities')
  const [isAsked, setIsAsked] = useState(false)
  const queries = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => ask(`/physical-assets/${asset.id}/unavailability/${item.id}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['physical-assets'] }),
  })
  if (!may) return null
  if (!isAsked)
    return (
      <Button kind="quiet" isCompact onClick={() => setIsAsked(true)} aria-label={`Cancel: ${item.description}`}>
        Cancel
      </Button>
    )
  return (
    <>
      <FormProblem error={cancel.error} />
      <Button kind="danger" isCompact isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
        It is available after all
      </Button>
    </>
  )
}
