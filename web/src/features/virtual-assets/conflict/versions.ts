/** Who changed a schedule since a version, and what of it. */
import { useQuery } from '@tanstack/react-query'
import { askJson, type Schemas } from '../../../shared/api/client'
import type { VirtualAsset } from '../../../shared/api/resources'
import { type Session, useSession } from '../../../shared/api/session'
import { pathOf } from '../data'

export type Version = Schemas['VersionView']

export function authorOf(version: Version, { user }: Session): string {
  if (version.authorID === user.id) return 'You'
  if (version.authorKind === 'PLATFORM') return 'The platform'
  return version.authorName ?? 'The operator'
}

export interface Change {
  /** `Jonas Petersen`, `You`, `The platform`; several are joined. */
  author: string
  version: number
  savedAt: number
}

/** The versions after `since` that set quarter-hours from `start` to `end`, told as one change. */
export function useChangeSince(asset: VirtualAsset, since: number, latest: number, [start, end]: [number, number]) {
  const session = useSession()
  return useQuery({
    queryKey: ['virtual-assets', asset.id, 'change', since, latest, start],
    queryFn: async (): Promise<Change | null> => {
      const found = await askJson<Version[]>(`${pathOf(asset)}/schedule-history?limit=20`)
      const touching = found.filter(
        (one) =>
          one.version > since &&
          one.changes.some((change) => Date.parse(change.start) < end && Date.parse(change.end) > start),
      )
      const newest = touching[0] ?? found[0]
      if (!newest) return null
      const authors = [...new Set((touching.length > 0 ? touching : [newest]).map((one) => authorOf(one, session)))]
      return { author: authors.join(' and '), version: newest.version, savedAt: Date.parse(newest.acceptedAt) }
    },
    enabled: latest > since,
    staleTime: Number.POSITIVE_INFINITY,
  })
}
