/** What several screens read: the batteries of the reader's organisation. */
import { useQuery } from '@tanstack/react-query'
import { allPages, answered, api, askMany, type Schemas } from './client'
import { useIsOperator, useMay, useSession } from './session'

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

/** Every organisation's, for the operator, in one request. */
export function useAllVirtualAssets() {
  const isOperator = useIsOperator()
  return useQuery({
    queryKey: ['virtual-assets', 'list', 'all'],
    queryFn: async () => {
      const organisations = await allPages<Schemas['OrganisationView']>('/organisations?limit=1000')
      const lists = await askMany<VirtualAsset[]>(
        organisations.map((one) => `/organisations/${one.id}/virtual-assets?limit=1000`),
      )
      return lists.flatMap((list) => list ?? [])
    },
    enabled: useMay('Read:virtual-assets') && isOperator,
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
