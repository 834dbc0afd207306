import { useEffect, useState } from 'react'
import { offers } from '../../../shared/api/client'
import { useMay } from '../../../shared/api/session'
import { Icon } from '../../../shared/ui/Icon'
import { freshFor, useSessions } from './data'
import { MemberKeys } from './Keys'
import { Networks } from './Networks'
import './security.css'
import { SecondFactor } from './SecondFactor'
import { Sessions } from './Sessions'
import { SingleSignOn } from './SingleSignOn'
import { Usage } from './Usage'

/** What keeps the account and the organisation safe, and what of the platform is used. */
export function Security() {
  const manages = useMay('Manage:organisation')
  return (
    <>
      <Fresh />
      <div className="security">
        <div className="security-column">
          {offers('POST /auth/totp') && <SecondFactor />}
          {offers('GET /auth/sessions') && <Sessions />}
          {manages && offers('GET /organisations/{organisationID}/identity-provider') && <SingleSignOn />}
        </div>
        <div className="security-column">
          {manages && offers('GET /organisations/{organisationID}/api-keys') && <MemberKeys />}
          {manages && <Networks />}
          {offers('GET /organisations/{organisationID}/usage') && <Usage />}
        </div>
      </div>
    </>
  )
}

/** How long keys and second factors may still be changed. */
function Fresh() {
  const sessions = useSessions()
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 15_000)
    return () => clearInterval(timer)
  }, [])
  const left = freshFor(sessions.data, now)
  if (left === null) return null
  const minutes = Math.ceil(left / 60_000)
  return (
    <p className={left > 0 ? 'fresh tone-good' : 'fresh note'} role="status">
      <Icon name="key" />
      {left > 0
        ? `Signed in a moment ago: keys and second factors can be changed for ${minutes} more ${minutes === 1 ? 'minute' : 'minutes'}`
        : 'Keys and second factors are changed within ten minutes of signing in: you are asked to sign in again'}
    </p>
  )
}
