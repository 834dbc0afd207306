import { useSession } from '../../shared/api/session'
import { Card } from '../../shared/ui/Card'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'
import { ROLES } from './data'

/** What each role is for, and what the reader's own may do at this moment. */
export function Roles() {
  const { user } = useSession()
  const byResource = new Map<string, string[]>()
  for (const permission of user.permissions) {
    const [action = '', resource = ''] = permission.split(':')
    byResource.set(resource, [...(byResource.get(resource) ?? []), action.toLowerCase()])
  }
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
        <Table columns={['What', 'Do']}>
          <tbody>
            {[...byResource]
              .sort(([a], [b]) => a.localeCompare(b))
              .map(([resource, actions]) => (
                <tr key={resource}>
                  <td>
                    <strong>{resource.replaceAll('-', ' ')}</strong>
                  </td>
                  <td>{actions.join(', ')}</td>
                </tr>
              ))}
          </tbody>
        </Table>
        <p className="card-body note">
          On a battery of another organisation its owner’s grant is needed too: see Grants on each{' '}
          <Link to="/physical-assets">battery</Link>.
        </p>
      </Card>
    </>
  )
}
