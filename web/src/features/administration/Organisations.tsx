import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { askJson, type Schemas } from '../../shared/api/client'
import { type Organisation, useOrganisations } from '../../shared/api/names'
import { faultAt } from '../../shared/api/problem'
import { words } from '../../shared/format'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Copy } from '../../shared/ui/Copy'
import { Field } from '../../shared/ui/Field'
import { FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { Shown } from './Shown'

/** The operator's: who takes part in the platform, and the first invitation into each. */
export function Organisations() {
  const zone = useZone()
  const queries = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const organisations = useOrganisations()
  const make = useMutation({
    mutationFn: (name: string) =>
      askJson<Organisation>('/organisations', { method: 'POST', body: { name, kind: 'PARTICIPANT' } }),
    onSuccess: () => form.current?.reset(),
    onSettled: () => queries.invalidateQueries({ queryKey: ['organisations'] }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    make.mutate(String(new FormData(event.currentTarget).get('name')))
  }
  return (
    <>
      <Card title="New organisation">
        <form ref={form} className="card-body inline-form" onSubmit={submit}>
          <Field label="Name" name="name" required fault={faultAt(make.error, '/name')} />
          <Button kind="primary" type="submit" isBusy={make.isPending}>
            Add organisation
          </Button>
        </form>
        {make.isError && (
          <div className="card-body">
            <FormProblem error={make.error} />
          </div>
        )}
      </Card>
      <Card title="Organisations">
        <Loaded query={organisations} skeleton={<SkeletonRows rows={4} />}>
          {(list) => (
            <Table columns={['Name', 'Kind', 'Since', 'ID', { label: 'Actions', isUnseen: true }]}>
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <Link to={`/organisations/${one.id}`}>
                        <strong>{one.name}</strong>
                      </Link>
                    </td>
                    <td>{words(one.kind)}</td>
                    <td className="when">{weekdayTime(Date.parse(one.createdAt), zone)}</td>
                    <td>
                      <Copy text={one.id} what={one.name} />
                    </td>
                    <td className="number">
                      <InviteAdmin organisation={one} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )}
        </Loaded>
      </Card>
    </>
  )
}

function InviteAdmin({ organisation }: { organisation: Organisation }) {
  const [isAsked, setIsAsked] = useState(false)
  const invite = useMutation({
    mutationFn: (email: string) =>
      askJson<Schemas['IssuedInvitation']>(`/organisations/${organisation.id}/invitations`, {
        method: 'POST',
        body: { email, role: 'ADMIN' },
      }),
  })
  if (invite.data)
    return (
      <Shown
        title={`The link for ${invite.data.email}`}
        secret={`${location.origin}/console/join#${invite.data.token}`}
        note="Shown once, for seven days."
      />
    )
  if (!isAsked)
    return (
      <Button isCompact onClick={() => setIsAsked(true)} aria-label={`Invite an admin of ${organisation.name}`}>
        Invite an admin
      </Button>
    )
  return (
    <form
      className="ask-row"
      onSubmit={(event) => {
        event.preventDefault()
        invite.mutate(String(new FormData(event.currentTarget).get('email')))
      }}
    >
      <FormProblem error={invite.error} />
      <span className="input">
        <input
          name="email"
          type="email"
          required
          aria-label={`E-mail of the admin of ${organisation.name}`}
          placeholder="e-mail"
        />
      </span>
      <Button kind="primary" isCompact type="submit" isBusy={invite.isPending}>
        Invite
      </Button>
    </form>
  )
}
