import { type FormEvent, useState } from 'react'
import { Refused } from '../shared/api/problem'
import { type Session, signIn, signInWithCode } from '../shared/api/session'
import { Button } from '../shared/ui/Button'
import { Field } from '../shared/ui/Field'
import { FormProblem } from '../shared/ui/states'
import { Mark } from './Mark'
import { Link } from './router'

interface Props {
  onSignedIn: (session: Session) => void
  note?: string
}

/** User name and password; where there is a second factor, its code in a second step. */
export function SignIn({ onSignedIn, note }: Props) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [challenge, setChallenge] = useState<string | null>(null)

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '')
    setIsBusy(true)
    setError(null)
    try {
      const session = challenge
        ? await signInWithCode(challenge, text('code').replace(/\s/g, ''))
        : await signIn(text('username'), text('password'))
      onSignedIn(session)
    } catch (fault) {
      const asked = challengeOf(fault)
      if (asked) setChallenge(asked)
      else {
        setError(fault)
        // A challenge lives five minutes: after it, the password is asked for again.
        if (challenge && fault instanceof Refused && fault.kind === 'challenge-expired') setChallenge(null)
      }
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
        <h2>{challenge ? 'Second factor' : 'Sign in'}</h2>
        {note && <p role="status">{note}</p>}
        {challenge ? (
          <Field
            label="Code of your authenticator app"
            name="code"
            inputMode="text"
            autoComplete="one-time-code"
            hint="Or one of your recovery codes"
            required
            autoFocus
          />
        ) : (
          <>
            <Field label="User name" name="username" autoComplete="username" required autoFocus />
            <Field label="Password" name="password" type="password" autoComplete="current-password" required />
          </>
        )}
        <FormProblem error={error} />
        {error instanceof Refused && error.retryAfterS && <p className="note">Try again in {error.retryAfterS} s.</p>}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {challenge ? 'Go on' : 'Sign in'}
        </Button>
        {challenge && (
          <Button kind="quiet" onClick={() => setChallenge(null)}>
            Back
          </Button>
        )}
      </form>
      <p className="note">
        Invited? <Link to="/join">Accept the invitation</Link>
      </p>
    </main>
  )
}

/** What the service asks a code for; null where it refused for another reason. */
function challengeOf(fault: unknown): string | null {
  if (!(fault instanceof Refused) || fault.kind !== 'second-factor-required') return null
  const { challenge } = fault.problem as { challenge?: unknown }
  return typeof challenge === 'string' ? challenge : null
}
