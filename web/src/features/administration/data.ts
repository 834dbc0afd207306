import { useQuery } from '@tanstack/react-query'
import { allPages, askJson, type Schemas } from '../../shared/api/client'
import { useSession } from '../../shared/api/session'

export { useMembers } from '../../shared/api/names'

export type Member = Schemas['MemberView']
export type Invitation = Schemas['InvitationView']
export type APIKey = Schemas['APIKeyView']
export type Webhook = Schemas['Webhook']
export type Delivery = Schemas['Delivery']
export type AuditEntry = Schemas['AuditEntry']
export type Role = Schemas['Role']

export const ROLES: { value: Role; label: string; means: string }[] = [
  { value: 'ADMIN', label: 'Admin', means: 'everything, and who may do what' },
  { value: 'TRADER', label: 'Trader', means: 'bids, schedules, trades' },
  { value: 'ENGINEER', label: 'Engineer', means: 'batteries, telemetry, unavailabilities' },
  { value: 'VIEWER', label: 'Viewer', means: 'reading' },
]

export function useOrganisationID(): string {
  return useSession().user.organisationID
}

export function useInvitations() {
  const organisation = useOrganisationID()
  return useQuery({
    queryKey: ['administration', 'invitations'],
    queryFn: () => allPages<Invitation>(`/organisations/${organisation}/invitations?limit=1000`),
  })
}

export function useAPIKeys() {
  return useQuery({
    queryKey: ['administration', 'api-keys'],
    queryFn: () => allPages<APIKey>('/auth/api-keys?limit=1000'),
  })
}

export function useWebhooks() {
  return useQuery({
    queryKey: ['administration', 'webhooks'],
    queryFn: () => allPages<Webhook>('/webhooks?limit=1000'),
  })
}

export function useDeliveries(webhook: string) {
  return useQuery({
    queryKey: ['administration', 'webhooks', webhook, 'deliveries'],
    queryFn: () => askJson<Delivery[]>(`/webhooks/${webhook}/deliveries?limit=50`),
    refetchInterval: 10_000,
  })
}
