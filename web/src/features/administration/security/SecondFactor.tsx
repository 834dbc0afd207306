import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ask, askJson, demandSignIn, type Schemas } from '../../../shared/api/client'
import { useRefreshSession, useSession } from '../../../shared/api/session'
import { plural } from '../../../shared/format'
import { QRCode } from '../../../shared/qr/QRCode'
import { Button } from '../../../shared/ui/Button'
import { Badge, Card } from '../../../shared/ui/Card'
import { Copy } from '../../../shared/ui/Copy'
import { Checkbox, Field } from '../../../shared/ui/Field'
import { FormProblem } from '../../../shared/ui/states'
import { useMembers } from '../data'
import { needsSignIn, useOwnOrganisation } from './data'

const DIGITS = 6

/** Scan, type, keep the codes. */
export function SecondFactor() {
  const { user } = useSession()
  const [codes, setCodes] = useState<string[] | null>(null)
  const refresh = useRefreshSession()
  const queries = useQueryClient()
  // The session is read anew once the codes are gone from the screen, also where the reader left it.
  const leave = useRef(() => {})
  leave.current = () => codes && void refresh()
  useEffect(() => () => leave.current(), [])
  return (
    <Card
      title="Your second factor"
      actions={
        user.hasSecondFactor || codes ? <Badge tone="good">set up</Badge> : <Badge tone="warning">not set up</Badge>
      }
    >
      {user.mustEnrolSecondFactor && !codes && (
        <p className="card-body verdict" role="alert">
          Your organisation asks every member for a second factor: nothing else opens before it is set up.
        </p>
      )}
      {codes ? (
        <RecoveryCodes
          codes={codes}
          onDone={() => {
            setCodes(null)
            void refresh()
          }}
        />
      ) : user.hasSecondFactor ? (
        <Remove
          onRemoved={() => {
            void refresh()
            void queries.invalidateQueries({ queryKey: ['administration', 'members'] })
          }}
        />
      ) : (
        <SetUp onCodes={setCodes} />
      )}
      <RequiredOfAll />
    </Card>
  )
}

function SetUp({ onCodes }: { onCodes: (codes: string[]) => void }) {
  const queries = useQueryClient()
  const [code, setCode] = useState('')
  const begin = useMutation({
    mutationFn: () => askJson<Schemas['NewTOTP']>('/auth/totp', { method: 'POST' }),
  })
  const confirm = useMutation({
    mutationFn: () =>
      askJson<Schemas['RecoveryCodes']>('/auth/totp', { method: 'PUT', body: { code: code.replace(/\s/g, '') } }),
    onSuccess: (answer) => {
      onCodes(answer.recoveryCodes)
      void queries.invalidateQueries({ queryKey: ['administration', 'members'] })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    confirm.mutate()
  }
  if (!begin.data)
    return (
      <div className="card-body form">
        <p className="note">
          A code of an authenticator app is asked for beside the password, so that a password alone opens nothing.
        </p>
        <SignInAgain error={begin.error} />
        <div>
          <Button kind="primary" isBusy={begin.isPending} onClick={() => begin.mutate()}>
            Set it up
          </Button>
        </div>
      </div>
    )
  const left = DIGITS - code.replace(/\D/g, '').length
  return (
    <form className="card-body totp" onSubmit={submit}>
      <QRCode text={begin.data.uri} label="QR code for an authenticator app" />
      <ol className="totp-steps">
        <li>
          Scan with an authenticator app
          <span className="note second-line">
            or type <span className="code">{begin.data.secret.replace(/(.{4})/g, '$1 ').trim()}</span>{' '}
            <Copy text={begin.data.secret} label="Copy" what="the secret" />
          </span>
        </li>
        <li>
          <Field
            label="Type the code it shows"
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={7}
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        </li>
        <li>Keep ten recovery codes, shown once</li>
      </ol>
      <div className="totp-foot">
        <SignInAgain error={confirm.error} />
        <Button kind="primary" type="submit" isBusy={confirm.isPending} disabled={left !== 0}>
          Confirm
        </Button>
        <span className="note">{left > 0 ? `${plural(left, 'digit')} to go` : ''}</span>
      </div>
    </form>
  )
}

function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <div className="card-body form">
      <p role="status">
        <strong>It is set up.</strong> Each of these works once instead of a code. They are not shown again.
      </p>
      <ul className="recovery code">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="form-row">
        <Copy text={codes.join('\n')} label="Copy all" />
        <Button kind="primary" onClick={onDone}>
          I have kept them
        </Button>
      </div>
    </div>
  )
}

function Remove({ onRemoved }: { onRemoved: () => void }) {
  const [isAsked, setIsAsked] = useState(false)
  const [code, setCode] = useState('')
  const remove = useMutation({
    mutationFn: () => ask('/auth/totp', { method: 'DELETE', body: { code: code.trim() } }),
    onSuccess: onRemoved,
  })
  if (!isAsked)
    return (
      <div className="card-body">
        <Button kind="danger" isCompact onClick={() => setIsAsked(true)}>
          Remove it…
        </Button>
      </div>
    )
  return (
    <form
      className="card-body form"
      onSubmit={(event) => {
        event.preventDefault()
        remove.mutate()
      }}
    >
      <Field
        label="A code, or a recovery code"
        value={code}
        autoComplete="one-time-code"
        onChange={(event) => setCode(event.target.value)}
      />
      <SignInAgain error={remove.error} />
      <div>
        <Button kind="danger" type="submit" isBusy={remove.isPending} disabled={code.trim() === ''}>
          Remove the second factor
        </Button>
      </div>
    </form>
  )
}

/** Whether every member is asked for one: an admin who has one may switch it on. */
function RequiredOfAll() {
  const { user } = useSession()
  const queries = useQueryClient()
  const manages = user.permissions.includes('Manage:organisation')
  const held = useOwnOrganisation()
  const members = useMembers()
  const set = useMutation({
    mutationFn: (requireSecondFactor: boolean) =>
      ask(`/organisations/${user.organisationID}`, {
        method: 'PATCH',
        body: { requireSecondFactor },
        ifMatch: held.data?.etag ?? '',
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  })
  if (!manages || !held.data) return null
  const list = members.data ?? []
  const without = list.filter((one) => !one.hasSecondFactor).map((one) => one.displayName)
  return (
    <div className="card-body totp-required">
      <Checkbox
        label={
          <>
            <strong>Ask every member for one</strong>
            <span className="note second-line">
              {members.data === undefined
                ? ''
                : `${list.length - without.length} of ${plural(list.length, 'member')} have one`}
              {without.length > 0 && without.length <= 4 ? `; ${without.join(', ')} not yet` : ''}
            </span>
          </>
        }
        checked={held.data.organisation.requireSecondFactor}
        disabled={set.isPending || (!user.hasSecondFactor && !held.data.organisation.requireSecondFactor)}
        onChange={(event) => set.mutate(event.target.checked)}
      />
      {!user.hasSecondFactor && <span className="note">set up yours first</span>}
      <SignInAgain error={set.error} />
    </div>
  )
}

/** Why it was refused; where only a fresh sign-in is missing, the way to one. */
export function SignInAgain({ error }: { error: unknown }) {
  if (!error) return null
  if (!needsSignIn(error)) return <FormProblem error={error} />
  return (
    <div className="form-problem" role="alert">
      This is changed only within ten minutes of signing in.{' '}
      <Button
        isCompact
        onClick={() => demandSignIn('Sign in again to change keys and second factors: what you typed is kept.')}
      >
        Sign in again
      </Button>
    </div>
  )
}
