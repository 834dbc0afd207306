import { type FormEvent, useState } from 'react'
import { Refused } from '../shared/api/problem'
import { findSingleSignOn, type Session, signIn, signInWithCode } from '../shared/api/session'
import { Button } from '../shared/ui/Button'
import { Field } from '../shared/ui/Field'
import { FormProblem } from '../shared/ui/states'
import { Mark } from './Mark'
import { BASE, Link } from './router'

interface Props {
  onSignedIn: (session: Session) => void
  note?: string
  /** Of the session that ended. */
  username?: string
  /** Over a screen whose edits are kept: the identity provider opens in another tab. */
  isOver?: boolean
}

const ORGANISATION = 'gridloom.single-sign-on'

/** User name and password, then the code of a second factor where there is one; or the organisation's own provider. */
export function SignIn(props: Props) {
  const [isSingle, setIsSingle] = useState(false)
  return (
    <main className="alone">
      <div className="alone-head">
        <Mark size={32} />
        <h1>Gridloom</h1>
      </div>
      {isSingle ? (
        <SingleSignOnForm {...props} onBack={() => setIsSingle(false)} />
      ) : (
        <PasswordForm {...props} onSingle={() => setIsSingle(true)} />
      )}
      <p className="note">
        Invited? <Link to="/join">Accept the invitation</Link>
      </p>
    </main>
  )
}

function SingleSignOnForm({ note, isOver = false, onBack }: Props & { onBack: () => void }) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const organisation = String(new FormData(event.currentTarget).get('organisation') ?? '').trim()
    setIsBusy(true)
    setError(null)
    try {
      const start = await findSingleSignOn(organisation, isOver ? `${BASE}/` : location.pathname + location.search)
      localStorage.setItem(ORGANISATION, organisation)
      if (isOver) open(start, '_blank', 'noopener')
      else location.assign(start)
    } catch (fault) {
      setError(fault)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <form className="card alone-card" onSubmit={(event) => void submit(event)}>
      <h2>Single sign-on</h2>
      {note && <p role="status">{note}</p>}
      <Field
        label="Organisation"
        name="organisation"
        defaultValue={localStorage.getItem(ORGANISATION) ?? ''}
        hint={isOver ? 'Its provider opens in another tab; come back here afterwards' : 'By its name, as in Gridloom'}
        required
        autoFocus
      />
      <FormProblem error={error} />
      <Button kind="primary" type="submit" isBusy={isBusy}>
        Go to its sign-in
      </Button>
      <Button kind="quiet" onClick={onBack}>
        With a password
      </Button>
    </form>
  )
}

function PasswordForm({ onSignedIn, note, username, onSingle }: Props & { onSingle: () => void }) {
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
          <Field
            label="User name"
            name="username"
            autoComplete="username"
            defaultValue={username}
            required
            autoFocus={!username}
          />
          <Field
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            required
            autoFocus={Boolean(username)}
          />
        </>
      )}
      <FormProblem error={error} />
      {error instanceof Refused && error.retryAfterS && <p className="note">Try again in {error.retryAfterS} s.</p>}
      <Button kind="primary" type="submit" isBusy={isBusy}>
        {challenge ? 'Go on' : 'Sign in'}
      </Button>
      {challenge ? (
        <Button kind="quiet" onClick={() => setChallenge(null)}>
          Back
        </Button>
      ) : (
        <Button kind="quiet" onClick={onSingle}>
          Single sign-on
        </Button>
      )}
    </form>
  )
}

/** What the service asks a code for; null where it refused for another reason. */
function challengeOf(fault: unknown): string | null {
  if (!(fault instanceof Refused) || fault.kind !== 'second-factor-required') return null
  const { challenge } = fault.problem as { challenge?: unknown }
  return typeof challenge === 'string' ? challenge : null
}
