import { useQuery } from '@tanstack/react-query'
import { allPages, ask, askJson, offers, type Schemas } from '../../../shared/api/client'
import { Refused } from '../../../shared/api/problem'
import { useOrganisationID } from '../data'

export type SignedIn = Schemas['SessionView']
export type MemberKey = Schemas['MemberAPIKeyView']
export type Organisation = Schemas['OrganisationView']

const FRESH_MS = 10 * 60_000

export function useSessions() {
  return useQuery({
    queryKey: ['administration', 'sessions'],
    queryFn: () => allPages<SignedIn>('/auth/sessions?limit=1000'),
    enabled: offers('GET /auth/sessions'),
  })
}

/** Milliseconds in which keys and second factors may still be changed without signing in again. */
export function freshFor(sessions: SignedIn[] | undefined, now: number): number | null {
  const current = sessions?.find((one) => one.current)
  return current ? Math.max(0, Date.parse(current.createdAt) + FRESH_MS - now) : null
}

export function useMemberKeys(isAsked: boolean) {
  const organisation = useOrganisationID()
  return useQuery({
    queryKey: ['administration', 'member-keys'],
    queryFn: () => allPages<MemberKey>(`/organisations/${organisation}/api-keys?limit=1000`),
    enabled: isAsked && offers('GET /organisations/{organisationID}/api-keys'),
  })
}

export interface Held {
  organisation: Organisation
  etag: string
}

/** The organisation with the ETag that a change of it names. */
export function useOwnOrganisation() {
  const id = useOrganisationID()
  return useQuery({
    queryKey: ['administration', 'organisation', id],
    queryFn: async (): Promise<Held> => {
      const response = await ask(`/organisations/${id}`)
      return { organisation: (await response.json()) as Organisation, etag: response.headers.get('ETag') ?? '' }
    },
  })
}

export type Share = Schemas['ShareUsage']

/** How much of each share of the platform the organisation uses now. */
export function useUsage(of?: string) {
  const own = useOrganisationID()
  const id = of ?? own
  return useQuery({
    queryKey: ['administration', 'usage', id],
    queryFn: async () => (await askJson<Schemas['Usage']>(`/organisations/${id}/usage`)).shares,
    enabled: offers('GET /organisations/{organisationID}/usage'),
    refetchInterval: 15_000,
  })
}

/** Keys and second factors are changed soon after signing in only. */
export function needsSignIn(error: unknown): boolean {
  return error instanceof Refused && error.kind === 'reauthentication-required'
}
