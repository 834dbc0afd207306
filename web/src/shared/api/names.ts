/** What ids are called, as far as the reader may know: their own organisation and batteries; the operator knows all. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { allPages, type Schemas } from './client'
import { usePhysicalAssets, useVirtualAssets } from './resources'
import { useSession } from './session'

export type Organisation = Schemas['OrganisationView']

export function useOrganisations() {
  return useQuery({
    queryKey: ['organisations'],
    queryFn: () => allPages<Organisation>('/organisations?limit=1000'),
    staleTime: 5 * 60_000,
  })
}

/** Of the reader's organisation. */
export function useMembers() {
  const organisation = useSession().user.organisationID
  return useQuery({
    queryKey: ['administration', 'members'],
    queryFn: () => allPages<Schemas['MemberView']>(`/organisations/${organisation}/members?limit=1000`),
  })
}

/** Who changed something: a member by name, the reader, or a colleague whose name is not known here. */
export function useAuthor(id: string | null): string {
  const { user } = useSession()
  const members = useMembers()
  if (id === user.id) return 'You, in another window,'
  return members.data?.find((one) => one.id === id)?.displayName ?? 'A colleague'
}

export type NameOf = (id: string) => string | undefined

export function useNames(): NameOf {
  const organisations = useOrganisations()
  const physical = usePhysicalAssets()
  const virtual = useVirtualAssets()
  const known = useMemo(
    () =>
      new Map(
        [...(organisations.data ?? []), ...(physical.data ?? []), ...(virtual.data ?? [])].map((one) => [
          one.id,
          one.name,
        ]),
      ),
    [organisations.data, physical.data, virtual.data],
  )
  return (id) => known.get(id)
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The end of an id, where nothing better is known: those made at the same time begin alike. */
export const shortID = (id: string): string => `…${id.slice(-8)}`

/** `physical-assets/0193…/grants` → `physical-assets/Stade/grants` */
export function namedPath(path: string, nameOf: NameOf): string {
  return path
    .split('/')
    .map((part) => (ID.test(part) ? (nameOf(part) ?? shortID(part)) : part))
    .join('/')
}
