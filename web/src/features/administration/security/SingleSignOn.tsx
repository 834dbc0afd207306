import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask, askAll } from '../../../shared/api/client'
import { faultAt, isConflict } from '../../../shared/api/problem'
import { Button } from '../../../shared/ui/Button'
import { Badge, Card } from '../../../shared/ui/Card'
import { Copy } from '../../../shared/ui/Copy'
import { Checkbox, Field, SelectField } from '../../../shared/ui/Field'
import { Loaded, SkeletonRows } from '../../../shared/ui/states'
import { ROLES, useOrganisationID } from '../data'
import { SignInAgain } from './SecondFactor'

/** Where the provider sends the browser back to. */
const CALLBACK = `${location.origin}/auth/public/sso/callback`

interface Provider {
  issuer: string
  clientID: string
  domains: string[]
  required: boolean
  roleClaim?: string | null
  defaultRole?: string | null
}

interface Held {
  provider: Provider | null
  etag: string
}

/** The organisation's own identity provider (OpenID Connect). */
export function SingleSignOn() {
  const path = `/organisations/${useOrganisationID()}/identity-provider`
  const [isEditing, setIsEditing] = useState(false)
  const held = useQuery({
    queryKey: ['administration', 'identity-provider'],
    queryFn: async (): Promise<Held> => {
      // As one of a batch: a browser reports a 404 as a fault of the page, and here it only means "none".
      const [found] = await askAll([path])
      if (!found || (found.status >= 300 && found.status !== 404))
        throw new Error('The identity provider could not be read.')
      if (found.status === 404) return { provider: null, etag: '' }
      return { provider: found.body as Provider, etag: found.etag ?? '' }
    },
  })
  const provider = held.data?.provider
  return (
    <Card
      title="Single sign-on"
      actions={
        <>
          {held.data && (provider ? <Badge tone="good">on</Badge> : <Badge>off</Badge>)}
          {held.data && !isEditing && (
            <Button isCompact onClick={() => setIsEditing(true)}>
              {provider ? 'Change' : 'Set up'}
            </Button>
          )}
        </>
      }
    >
      <Loaded query={held} skeleton={<SkeletonRows rows={2} />}>
        {(found) =>
          isEditing ? (
            <Form path={path} held={found} onClose={() => setIsEditing(false)} />
          ) : (
            <p className="card-body">
              {found.provider ? (
                <>
                  <strong>{found.provider.issuer}</strong>
                  <span className="note second-line">
                    e-mails of {found.provider.domains.join(', ')};{' '}
                    {found.provider.required ? 'passwords work for admins only' : 'passwords still work'}
                  </span>
                </>
              ) : (
                <span className="note">
                  Members sign in with their password. Your identity provider can do it instead.
                </span>
              )}
            </p>
          )
        }
      </Loaded>
    </Card>
  )
}

function Form({ path, held: latest, onClose }: { path: string; held: Held; onClose: () => void }) {
  // What the fields began with: saving names that version, also where a newer one has been read meanwhile.
  const [held] = useState(latest)
  const queries = useQueryClient()
  const settle = {
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'identity-provider'] }),
    onSuccess: onClose,
  }
  const save = useMutation({
    mutationFn: (body: unknown) => ask(path, { method: 'PUT', body, ...(held.etag ? { ifMatch: held.etag } : {}) }),
    ...settle,
  })
  const remove = useMutation({
    mutationFn: () => ask(path, { method: 'DELETE', ...(held.etag ? { ifMatch: held.etag } : {}) }),
    ...settle,
  })
  const { provider } = held
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    save.mutate({
      issuer: text('issuer'),
      clientID: text('clientID'),
      clientSecret: text('clientSecret'),
      domains: text('domains')
        .split(/[\s,;]+/)
        .filter(Boolean),
      required: form.get('required') !== null,
      roleClaim: text('roleClaim') || null,
      defaultRole: text('defaultRole') || null,
    })
  }
  const fault = (pointer: string) => faultAt(save.error, pointer)
  return (
    <form className="card-body form" onSubmit={submit}>
      <div className="redirect-address">
        <p>
          <span className="note">At the provider, register a client with this redirect address:</span>
          <code>{CALLBACK}</code>
        </p>
        <Copy text={CALLBACK} label="Copy" what="the redirect address" />
      </div>
      <Field
        label="Issuer"
        name="issuer"
        type="url"
        required
        hint="Its address, under which /.well-known/openid-configuration answers"
        defaultValue={provider?.issuer}
        fault={fault('/issuer')}
      />
      <Field label="Client ID" name="clientID" required defaultValue={provider?.clientID} fault={fault('/clientID')} />
      <Field
        label="Client secret"
        name="clientSecret"
        type="password"
        required
        autoComplete="off"
        hint="Never shown again"
        fault={fault('/clientSecret')}
      />
      <Field
        label="E-mail domains"
        name="domains"
        required
        defaultValue={provider?.domains.join(', ')}
        fault={fault('/domains')}
        hint="Separated by commas"
      />
      <Field
        label="Claim with the role"
        name="roleClaim"
        defaultValue={provider?.roleClaim ?? ''}
        fault={fault('/roleClaim')}
        hint="Empty for none"
      />
      <SelectField
        label="Role of members without an invitation"
        name="defaultRole"
        defaultValue={provider?.defaultRole ?? ''}
        options={[
          { value: '', label: 'none: an invitation is needed' },
          ...ROLES.map(({ value, label }) => ({ value, label })),
        ]}
      />
      <Checkbox label="Passwords for admins only" name="required" defaultChecked={provider?.required ?? false} />
      {isConflict(save.error ?? remove.error) ? (
        <p className="form-problem" role="alert">
          Another admin changed it meanwhile, and nothing was overwritten. Go back to see what is stored now.
        </p>
      ) : (
        <SignInAgain error={save.error ?? remove.error} />
      )}
      <div className="form-actions">
        {provider && (
          <Button kind="danger" isBusy={remove.isPending} onClick={() => remove.mutate()}>
            Switch it off
          </Button>
        )}
        <Button onClick={onClose}>Back</Button>
        <Button kind="primary" type="submit" isBusy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  )
}
