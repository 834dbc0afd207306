import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../shared/api/client'
import { useMay, useSession } from '../../shared/api/session'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { type Member, ROLES, type Role, useMembers, useOrganisationID } from './data'

export function Members() {
  const zone = useZone()
  const members = useMembers()
  const mayManage = useMay('Manage:organisation')
  const { user } = useSession()
  const organisation = useOrganisationID()
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: ({ member, role }: { member: Member; role: Role }) =>
      ask(`/organisations/${organisation}/members/${member.id}`, { method: 'PATCH', body: { role } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  })
  return (
    <Card title="Members" note={members.data ? String(members.data.length) : undefined}>
      {change.isError && (
        <div className="card-body">
          <FormProblem error={change.error} />
        </div>
      )}
      <Loaded query={members} skeleton={<SkeletonRows rows={4} />}>
        {(list) => (
          <Table columns={['Name', 'User name', 'Role', 'Since', { label: 'Actions', isUnseen: true }]}>
            <tbody>
              {list.map((member) => (
                <tr key={member.id}>
                  <td>
                    <strong>{member.displayName}</strong> {member.id === user.id && <Badge>you</Badge>}
                  </td>
                  <td>{member.username}</td>
                  <td>
                    {mayManage ? (
                      <select
                        className="role-select"
                        aria-label={`Role of ${member.displayName}`}
                        value={member.role}
                        disabled={change.isPending}
                        onChange={(event) => change.mutate({ member, role: event.target.value as Role })}
                      >
                        {ROLES.map((role) => (
                          <option key={role.value} value={role.value}>
                            {role.label}
                          </option>
                        ))}
                      </select>
                    ) : (
                      ROLES.find((role) => role.value === member.role)?.label
                    )}
                  </td>
                  <td className="when">{weekdayTime(Date.parse(member.createdAt), zone)}</td>
                  <td className="number">{mayManage && <Remove member={member} />}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
    </Card>
  )
}

function Remove({ member }: { member: Member }) {
  const [isAsked, setIsAsked] = useState(false)
  const organisation = useOrganisationID()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => ask(`/organisations/${organisation}/members/${member.id}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  })
  if (!isAsked)
    return (
      <Button kind="quiet" isCompact onClick={() => setIsAsked(true)} aria-label={`Remove ${member.displayName}`}>
        Remove
      </Button>
    )
  return (
    <span className="ask-row">
      <FormProblem error={remove.error} />
      <Button isCompact onClick={() => setIsAsked(false)}>
        Keep
      </Button>
      <Button kind="danger" isCompact isBusy={remove.isPending} onClick={() => remove.mutate()}>
        Remove {member.displayName}
      </Button>
    </span>
  )
}
