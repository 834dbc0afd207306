import { type FormEvent, useState } from 'react'
import { Refused } from '../shared/api/problem'
import { type Session, signIn } from '../shared/api/session'
import { Button } from '../shared/ui/Button'
import { Field } from '../shared/ui/Field'
import { FormProblem } from '../shared/ui/states'
import { Mark } from './Mark'
import { Link } from './router'

export function SignIn({ onSignedIn, note }: { onSignedIn: (session: Session) => void; note?: string }) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setIsBusy(true)
    setError(null)
    try {
      onSignedIn(await signIn(String(form.get('username')), String(form.get('password'))))
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
      <form className="card alone-card" onSubmit={(event) => void submit(event)}>
        <h2>Sign in</h2>
        {note && <p role="status">{note}</p>}
        <Field label="User name" name="username" autoComplete="username" required autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" required />
        <FormProblem error={error} />
        {error instanceof Refused && error.retryAfterS && <p className="note">Try again in {error.retryAfterS} s.</p>}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Sign in
        </Button>
      </form>
      <p className="note">
        Invited? <Link to="/join">Accept the invitation</Link>
      </p>
    </main>
  )
}
