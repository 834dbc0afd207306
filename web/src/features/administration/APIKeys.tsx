import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask, askJson, type Schemas } from '../../shared/api/client'
import { faultAt } from '../../shared/api/problem'
import { useSession } from '../../shared/api/session'
import { plural } from '../../shared/format'
import { permissionInWords } from '../../shared/permissions'
import { nearTime, weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Confirmation } from '../../shared/ui/Confirmation'
import { Checkbox, Field } from '../../shared/ui/Field'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { useAPIKeys } from './data'
import { Shown } from './Shown'
import { SignInAgain } from './security/SecondFactor'

/** Credentials of machines: never more than their maker may, and shown once. */
export function APIKeys() {
  const zone = useZone()
  const keys = useAPIKeys()
  const queries = useQueryClient()
  const [asked, setAsked] = useState<{ id: string; name: string } | null>(null)
  const revoke = useMutation({
    mutationFn: (id: string) => ask(`/auth/api-keys/${id}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'api-keys'] }),
  })
  return (
    <>
      <NewKey />
      <Card title="Your API keys">
        <SignInAgain error={revoke.error} />
        {asked && (
          <Confirmation
            key={asked.id}
            title={`Revoke ${asked.name}?`}
            action="Revoke it"
            onCancel={() => setAsked(null)}
            onConfirm={() => {
              setAsked(null)
              revoke.mutate(asked.id)
            }}
          >
            What uses {asked.name} stops at once.
          </Confirmation>
        )}
        <Loaded query={keys} skeleton={<SkeletonRows rows={3} />}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No key yet">A key signs a program in as you, with as much as you give it.</Empty>
            ) : (
              <Table columns={['Name', 'May', 'Made', 'Until', { label: 'Actions', isUnseen: true }]}>
                <tbody>
                  {list.map((key) => (
                    <tr key={key.id}>
                      <td>
                        <strong>{key.name}</strong>
                      </td>
                      <td title={key.permissions.map(permissionInWords).join(', ')}>
                        {plural(key.permissions.length, 'permission')}
                      </td>
                      <td className="when">{weekdayTime(Date.parse(key.createdAt), zone)}</td>
                      <td>{key.expiresAt ? nearTime(Date.parse(key.expiresAt), Date.now(), zone) : 'revoked'}</td>
                      <td className="number">
                        <Button
                          kind="danger"
                          isCompact
                          isBusy={revoke.isPending}
                          onClick={() => setAsked(key)}
                          aria-label={`Revoke ${key.name}`}
                        >
                          Revoke
                        </Button>
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

function NewKey() {
  const { user } = useSession()
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const make = useMutation({
    mutationFn: (body: { name: string; permissions: string[] }) =>
      askJson<Schemas['IssuedAPIKey']>('/auth/api-keys', { method: 'POST', body }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'api-keys'] }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    make.mutate({ name: String(new FormData(event.currentTarget).get('name')), permissions: [...chosen] })
  }
  const toggle = (permission: string) => {
    const next = new Set(chosen)
    if (!next.delete(permission)) next.add(permission)
    setChosen(next)
  }
  return (
    <Card title="New API key">
      <form className="card-body form" onSubmit={submit}>
        <div className="inline-form">
          <Field label="Name" name="name" required placeholder="Forecast job" fault={faultAt(make.error, '/name')} />
          <Button onClick={() => setChosen(new Set(user.permissions.filter((one) => one.startsWith('Read:'))))}>
            Reading only
          </Button>
        </div>
        <fieldset className="plain-fieldset permission-grid">
          <legend className="note">May</legend>
          {user.permissions.map((permission) => (
            <Checkbox
              key={permission}
              label={permissionInWords(permission)}
              checked={chosen.has(permission)}
              onChange={() => toggle(permission)}
            />
          ))}
        </fieldset>
        <SignInAgain error={make.error} />
        <div className="form-foot">
          <Button kind="primary" type="submit" isBusy={make.isPending} disabled={chosen.size === 0}>
            Make the key
          </Button>
        </div>
      </form>
      {make.data && (
        <Shown
          title={`The secret of ${make.data.name}`}
          secret={make.data.secret}
          note="Shown once, and kept nowhere. Send it as Authorization: Bearer."
        />
      )}
    </Card>
  )
}
