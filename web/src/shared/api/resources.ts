/** What several screens read: the batteries of the reader's organisation. */
import { useQuery } from '@tanstack/react-query'
import { instant } from '../time/marketDay'
import { allPages, answered, api, type Schemas } from './client'
import { useMay, useSession } from './session'

export type VirtualAsset = Schemas['VirtualAssetView']
export type PhysicalAsset = Schemas['PhysicalAsset']
export type Health = Schemas['Health']

export function useVirtualAssets() {
  const organisation = useSession().user.organisationID
  return useQuery({
    queryKey: ['virtual-assets', 'list', organisation],
    queryFn: () => allPages<VirtualAsset>(`/organisations/${organisation}/virtual-assets?limit=1000`),
    enabled: useMay('Read:virtual-assets'),
    refetchInterval: 60_000,
  })
}

export function usePhysicalAssets() {
  return useQuery({
    queryKey: ['physical-assets', 'list'],
    queryFn: () => allPages<PhysicalAsset>('/physical-assets?limit=1000'),
    enabled: useMay('Read:physical-assets'),
  })
}

export async function readHealth(id: string): Promise<Health> {
  return answered(api.GET('/physical-assets/{physicalAssetID}/health', { params: { path: { physicalAssetID: id } } }))
}

/** A series of a virtual battery's state of charge: what was, and what will be. */
export async function readStateOfCharge(asset: VirtualAsset, start: number, end: number) {
  const from = Math.max(start, Date.parse(asset.start))
  const until = Math.min(end, Date.parse(asset.end))
  if (from >= until) return []
  return answered(
    api.GET('/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-charge', {
      params: {
        path: { organisationID: asset.organisationID, virtualAssetID: asset.id },
        query: { start: instant(from), end: instant(until) },
      },
    }),
  )
}
