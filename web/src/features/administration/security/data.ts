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

export interface Share {
  name: string
  used: number
  limit: number | null
  unit: string
}

/** How much of each share the organisation uses, whatever shape the service lists them in. */
export function useUsage() {
  const id = useOrganisationID()
  return useQuery({
    queryKey: ['administration', 'usage', id],
    queryFn: async () => sharesOf(await askJson<unknown>(`/organisations/${id}/usage`)),
    enabled: offers('GET /organisations/{organisationID}/usage'),
    refetchInterval: 15_000,
  })
}

export function sharesOf(answer: unknown): Share[] {
  const shares = Array.isArray(answer) ? answer : ((answer as { shares?: unknown[] } | null)?.shares ?? [])
  return (shares as Record<string, unknown>[]).map((one) => ({
    name: String(one.share ?? one.name ?? ''),
    used: Number(one.used ?? one.use ?? 0),
    limit: one.limit === null || one.limit === undefined ? null : Number(one.limit),
    unit: String(one.unit ?? ''),
  }))
}

/** Keys and second factors are changed soon after signing in only. */
export function needsSignIn(error: unknown): boolean {
  return error instanceof Refused && error.kind === 'reauthentication-required'
}
