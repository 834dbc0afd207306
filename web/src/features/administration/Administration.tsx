import type { ComponentType } from 'react'
import { type Session, useSession } from '../../shared/api/session'
import { words } from '../../shared/format'
import { Copy } from '../../shared/ui/Copy'
import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'
import { Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { APIKeys } from './APIKeys'
import './administration.css'
import { AuditLog } from './AuditLog'
import { Feeds } from './Feeds'
import { Invitations } from './Invitations'
import { Members } from './Members'
import { Organisations } from './Organisations'
import { Password } from './Password'
import { Roles } from './Roles'
import { Security } from './security/Security'
import { Webhooks } from './Webhooks'

interface Part {
  path: string
  label: string
  component: ComponentType
  isShown: (session: Session) => boolean
}

const manages = (session: Session) => session.user.permissions.includes('Manage:organisation')

const PARTS: Part[] = [
  { path: 'members', label: 'Members', component: Members, isShown: () => true },
  { path: 'invitations', label: 'Invitations', component: Invitations, isShown: manages },
  { path: 'roles', label: 'Roles', component: Roles, isShown: () => true },
  { path: 'security', label: 'Security', component: Security, isShown: () => true },
  { path: 'api-keys', label: 'API keys', component: APIKeys, isShown: () => true },
  { path: 'webhooks', label: 'Webhooks', component: Webhooks, isShown: manages },
  { path: 'audit-log', label: 'Audit log', component: AuditLog, isShown: manages },
  {
    path: 'organisations',
    label: 'Organisations',
    component: Organisations,
    isShown: (session) => manages(session) && session.organisationKind === 'OPERATOR',
  },
  {
    path: 'feeds',
    label: 'Feeds',
    component: Feeds,
    isShown: (session) =>
      session.organisationKind === 'OPERATOR' && session.user.permissions.includes('Create:settlements'),
  },
  { path: 'password', label: 'Password', component: Password, isShown: () => true },
]

/** Who may do what? */
export default function Administration({ values }: ScreenProps) {
  const session = useSession()
  const parts = PARTS.filter((part) => part.isShown(session))
  const chosen = parts.find((part) => part.path === (values.section ?? 'members'))
  return (
    <Page
      title="Administration"
      facts={[
        session.organisationName,
        words(session.organisationKind).toLowerCase(),
        `you are ${words(session.user.role).toLowerCase()}`,
      ]}
      aside={<Copy text={session.user.organisationID} label="Copy the organisation’s ID" />}
    >
      <nav className="sections" aria-label="Of the administration">
        {parts.map((part) => (
          <Link
            key={part.path}
            to={`/administration/${part.path}`}
            aria-current={part.path === chosen?.path ? 'page' : undefined}
          >
            {part.label}
          </Link>
        ))}
      </nav>
      {chosen ? (
        <chosen.component />
      ) : (
        <Empty title="This part is for who manages the organisation">
          An ADMIN of {session.organisationName} can open it.
        </Empty>
      )}
    </Page>
  )
}
