/** What several screens read: the batteries of the reader's organisation. */
import { useQuery } from '@tanstack/react-query'
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
    staleTime: 5 * 60_000,
  })
}

export function usePhysicalAssets() {
  return useQuery({
    queryKey: ['physical-assets', 'list'],
    queryFn: () => allPages<PhysicalAsset>('/physical-assets?limit=1000'),
    enabled: useMay('Read:physical-assets'),
    staleTime: 5 * 60_000,
  })
}

export async function readHealth(id: string): Promise<Health> {
  return answered(api.GET('/physical-assets/{physicalAssetID}/health', { params: { path: { physicalAssetID: id } } }))
}
