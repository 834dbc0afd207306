import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../../shared/api/client'
import { plural } from '../../../shared/format'
import { permissionInWords } from '../../../shared/permissions'
import { nearTime } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { Card } from '../../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../../shared/ui/states'
import { Table } from '../../../shared/ui/Table'
import { useZone } from '../../../shared/zone'
import { Link } from '../../../shell/router'
import { useMembers, useOrganisationID } from '../data'
import { type MemberKey, useMemberKeys } from './data'
import { SignInAgain } from './SecondFactor'

const SOON_MS = 14 * 86_400_000

/** Every member's keys without their secrets, and revoking one. */
export function MemberKeys() {
  const zone = useZone()
  const keys = useMemberKeys(true)
  const names = new Map((useMembers().data ?? []).map((one) => [one.username, one.displayName]))
  return (
    <Card
      title="API keys of all members"
      note={keys.data ? `${keys.data.length}, secrets are never shown again` : undefined}
      actions={
        <Link to="/administration/api-keys" className="button button-compact">
          Own keys
        </Link>
      }
    >
      <Loaded query={keys} skeleton={<SkeletonRows rows={4} />}>
        {(list) =>
          list.length === 0 ? (
            <p className="card-body note">No member has a key.</p>
          ) : (
            <Table columns={['Key, owner', 'May', 'Expires', { label: 'Actions', isUnseen: true }]}>
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <strong>{one.name}</strong>
                      <span className="note second-line">{names.get(one.username) ?? one.username}</span>
                    </td>
                    <td className="note" title={one.permissions.map(permissionInWords).join('; ')}>
                      {mayInWords(one)}
                      {one.allowedNetworks.length > 0 && (
                        <span className="second-line">from {one.allowedNetworks.join(', ')}</span>
                      )}
                    </td>
                    <td className={Date.parse(one.expiresAt) - Date.now() < SOON_MS ? 'tone-warning' : ''}>
                      {nearTime(Date.parse(one.expiresAt), Date.now(), zone)}
                    </td>
                    <td className="number">
                      <Revoke item={one} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}

function mayInWords({ permissions, physicalAssetIDs }: MemberKey): string {
  const first = permissions[0]
  const what = permissions.length === 1 && first ? permissionInWords(first) : `${permissions.length} permissions`
  return physicalAssetIDs ? `${what}, ${plural(physicalAssetIDs.length, 'battery', 'batteries')}` : what
}

function Revoke({ item }: { item: MemberKey }) {
  const organisation = useOrganisationID()
  const queries = useQueryClient()
  const [isAsked, setIsAsked] = useState(false)
  const revoke = useMutation({
    mutationFn: () => ask(`/organisations/${organisation}/api-keys/${item.id}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  })
  if (!isAsked)
    return (
      <Button kind="danger" isCompact aria-label={`Revoke ${item.name}`} onClick={() => setIsAsked(true)}>
        Revoke
      </Button>
    )
  return (
    <>
      <SignInAgain error={revoke.error} />
      <span className="note">What uses {item.name} stops at once.</span>{' '}
      <Button kind="danger" isCompact isBusy={revoke.isPending} onClick={() => revoke.mutate()}>
        Revoke it
      </Button>
    </>
  )
}
