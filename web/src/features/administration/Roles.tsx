import { useSession } from '../../shared/api/session'
import { inOrder, permissionInWords } from '../../shared/permissions'
import { Card } from '../../shared/ui/Card'
import { Link } from '../../shell/router'
import { ROLES } from './data'

/** What each role is for, and what the reader's own may do at this moment. */
export function Roles() {
  const { user } = useSession()
  return (
    <>
      <Card title="Roles">
        <dl className="roles">
          {ROLES.map((role) => (
            <div key={role.value} className={role.value === user.role ? 'is-own' : ''}>
              <dt>{role.label}</dt>
              <dd>{role.means}</dd>
            </div>
          ))}
        </dl>
      </Card>
      <Card title="You may" note={`${user.permissions.length} permissions`}>
        <ul className="card-body may-list">
          {inOrder(user.permissions).map((permission) => (
            <li key={permission}>{permissionInWords(permission)}</li>
          ))}
        </ul>
        <p className="card-body note">
          On a battery of another organisation its owner’s grant is needed too: see Grants on each{' '}
          <Link to="/physical-assets">battery</Link>.
        </p>
      </Card>
    </>
  )
}
