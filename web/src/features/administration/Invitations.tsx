import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import { ask, askJson, type Schemas } from '../../shared/api/client'
import { faultAt } from '../../shared/api/problem'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Field, SelectField } from '../../shared/ui/Field'
import { Empty, FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { ROLES, useInvitations, useOrganisationID } from './data'
import { Shown } from './Shown'

export function Invitations() {
  const zone = useZone()
  const organisation = useOrganisationID()
  const invitations = useInvitations()
  const queries = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const refresh = () => queries.invalidateQueries({ queryKey: ['administration', 'invitations'] })
  const invite = useMutation({
    mutationFn: (body: { email: string; role: string }) =>
      askJson<Schemas['IssuedInvitation']>(`/organisations/${organisation}/invitations`, { method: 'POST', body }),
    onSuccess: () => form.current?.reset(),
    onSettled: refresh,
  })
  const revoke = useMutation({
    mutationFn: (id: string) => ask(`/organisations/${organisation}/invitations/${id}`, { method: 'DELETE' }),
    onSettled: refresh,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const entered = new FormData(event.currentTarget)
    invite.mutate({ email: String(entered.get('email')), role: String(entered.get('role')) })
  }
  const link = invite.data ? `${location.origin}/console/join#${invite.data.token}` : ''
  return (
    <>
      <Card title="Invite a member">
        <form ref={form} className="card-body inline-form" onSubmit={submit}>
          <Field label="E-mail" name="email" type="email" required fault={faultAt(invite.error, '/email')} />
          <SelectField
            label="Role"
            name="role"
            defaultValue="TRADER"
            options={ROLES.map((role) => ({ value: role.value, label: `${role.label}: ${role.means}` }))}
          />
          <Button kind="primary" type="submit" isBusy={invite.isPending}>
            Invite
          </Button>
        </form>
        {invite.isError && (
          <div className="card-body">
            <FormProblem error={invite.error} />
          </div>
        )}
        {invite.data && (
          <Shown
            title={`The link for ${invite.data.email}`}
            secret={link}
            note="Shown once. It works once, for seven days. Where mail is set up, it was sent as well."
          />
        )}
      </Card>
      <Card title="Invitations">
        <Loaded query={invitations} skeleton={<SkeletonRows rows={3} />}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No invitations yet" />
            ) : (
              <Table columns={['E-mail', 'Role', 'Invited', 'Until', 'State', { label: 'Actions', isUnseen: true }]}>
                <tbody>
                  {list.map((one) => (
                    <tr key={one.id}>
                      <td>
                        <strong>{one.email}</strong>
                      </td>
                      <td>{ROLES.find((role) => role.value === one.role)?.label}</td>
                      <td className="when">{weekdayTime(Date.parse(one.createdAt), zone)}</td>
                      <td className="when">{weekdayTime(Date.parse(one.expiresAt), zone)}</td>
                      <td>
                        <Badge
                          tone={one.status === 'PENDING' ? 'warning' : one.status === 'ACCEPTED' ? 'good' : 'quiet'}
                        >
                          {one.status.toLowerCase()}
                        </Badge>
                      </td>
                      <td className="number">
                        {one.status === 'PENDING' && (
                          <Button
                            kind="danger"
                            isCompact
                            isBusy={revoke.isPending}
                            onClick={() => revoke.mutate(one.id)}
                            aria-label={`Revoke the invitation of ${one.email}`}
                          >
                            Revoke
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
    </>
  )
}
