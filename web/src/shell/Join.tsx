/** Accepting an invitation: the one thing that works without a session besides signing in. */
import { type FormEvent, useState } from 'react'
import { faultAt, refusalOf } from '../shared/api/problem'
import { Button } from '../shared/ui/Button'
import { Field } from '../shared/ui/Field'
import { FormProblem } from '../shared/ui/states'
import { Mark } from './Mark'
import { Link } from './router'

export default function Join() {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [joined, setJoined] = useState<string | null>(null)
  // After the `#`, so that it is not sent to the server.
  const token = location.hash.replace(/^#/, '')

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = Object.fromEntries(new FormData(event.currentTarget))
    setIsBusy(true)
    setError(null)
    try {
      const response = await fetch('/auth/public/invitations/accept', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(form),
      })
      if (!response.ok) throw await refusalOf(response)
      setJoined(String(form.username))
    } catch (fault) {
      setError(fault)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <main className="alone">
      <div className="alone-head">
        <Mark size={32} />
        <h1>Gridloom</h1>
      </div>
      {joined ? (
        <div className="card alone-card">
          <h2>Welcome, {joined}</h2>
          <p>Your account is ready. Sign in with the password you chose.</p>
          <Link to="/" className="button button-primary">
            Sign in
          </Link>
        </div>
      ) : (
        <form className="card alone-card" onSubmit={(event) => void submit(event)}>
          <h2>Accept an invitation</h2>
          <Field
            label="Invitation"
            name="token"
            defaultValue={token}
            required
            autoComplete="off"
            fault={faultAt(error, '/token')}
          />
          <Field
            label="Your name"
            name="displayName"
            required
            autoComplete="name"
            fault={faultAt(error, '/displayName')}
          />
          <Field
            label="User name"
            name="username"
            required
            autoComplete="username"
            fault={faultAt(error, '/username')}
          />
          <Field
            label="Password"
            name="password"
            type="password"
            required
            minLength={12}
            autoComplete="new-password"
            hint="At least 12 characters"
            fault={faultAt(error, '/password')}
          />
          <FormProblem error={error} />
          <Button kind="primary" type="submit" isBusy={isBusy}>
            Join
          </Button>
        </form>
      )}
      {!joined && (
        <p className="note">
          Have an account? <Link to="/">Sign in</Link>
        </p>
      )}
    </main>
  )
}
