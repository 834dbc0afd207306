import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask, askJson, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Checkbox, Field } from '../../shared/ui/Field'
import { Empty, FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'

export const GRANTABLE = [
  'Read:physical-assets',
  'Read:schedules',
  'Read:monitoring',
  'Read:revenue',
  'Update:physical-assets',
  'Update:schedules',
  'Create:ancillary-bids',
  'Create:ancillary-results',
  'Create:unavailabilities',
  'Create:logbook',
  'Create:exchange-notifications',
  'Create:monitoring',
]

/** What other organisations may do with this battery. */
export function Grants({ asset }: { asset: PhysicalAsset }) {
  const zone = useZone()
  const mayManage = useMay('Manage:organisation')
  const queries = useQueryClient()
  const grants = useQuery({
    queryKey: ['physical-assets', asset.id, 'grants'],
    queryFn: () => askJson<Schemas['Grant'][]>(`/physical-assets/${asset.id}/grants`),
  })
  const end = useMutation({
    mutationFn: (organisation: string) =>
      ask(`/physical-assets/${asset.id}/grants/${organisation}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['physical-assets', asset.id, 'grants'] }),
  })
  return (
    <>
      <Card title="Grants" note="what other organisations may do with this battery">
        <FormProblem error={end.error} />
        <Loaded query={grants} skeleton={<SkeletonRows rows={3} />}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="Nobody else may anything here">
                Give an organisation, such as the operator, what it needs below.
              </Empty>
            ) : (
              <Table columns={['Organisation', 'May', 'Since', { label: 'Actions', isUnseen: true }]}>
                <tbody>
                  {list.map((grant) => (
                    <tr key={grant.organisationID}>
                      <td>
                        <strong>{grant.organisationName}</strong>
                        <span className="note second-line code">{grant.organisationID}</span>
                      </td>
                      <td className="grant-permissions">{grant.permissions.join(', ')}</td>
                      <td className="when">{weekdayTime(Date.parse(grant.updatedAt), zone)}</td>
                      <td className="number">
                        {mayManage && (
                          <Button
                            kind="danger"
                            isCompact
                            isBusy={end.isPending}
                            onClick={() => end.mutate(grant.organisationID)}
                          >
                            Take back
                          </Button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </Table>
            )
          }
        </Loaded>
      </Card>
      {mayManage && <NewGrant asset={asset} />}
    </>
  )
}

function NewGrant({ asset }: { asset: PhysicalAsset }) {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(['Read:physical-assets']))
  const give = useMutation({
    mutationFn: (organisation: string) =>
      ask(`/physical-assets/${asset.id}/grants/${encodeURIComponent(organisation)}`, {
        method: 'PUT',
        body: { permissions: [...chosen] },
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['physical-assets', asset.id, 'grants'] }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    give.mutate(String(new FormData(event.currentTarget).get('organisation')).trim())
  }
  const toggle = (permission: string) => {
    const next = new Set(chosen)
    if (!next.delete(permission)) next.add(permission)
    setChosen(next)
  }
  return (
    <Card title="Give or change a grant">
      <form className="card-body form" onSubmit={submit}>
        <Field
          label="Organisation"
          name="organisation"
          required
          placeholder="its ID"
          hint="An organisation finds its ID under Administration."
        />
        <fieldset className="plain-fieldset permission-grid">
          <legend className="note">May</legend>
          {GRANTABLE.map((permission) => (
            <Checkbox
              key={permission}
              label={permission}
              checked={chosen.has(permission)}
              onChange={() => toggle(permission)}
            />
          ))}
        </fieldset>
        <FormProblem error={give.error} />
        <div className="form-foot">
          <Button kind="primary" type="submit" isBusy={give.isPending} disabled={chosen.size === 0}>
            Give
          </Button>
        </div>
      </form>
    </Card>
  )
}
