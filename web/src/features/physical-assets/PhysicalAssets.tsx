import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { askMany } from '../../shared/api/client'
import { useOrganisations } from '../../shared/api/names'
import { type Health, type PhysicalAsset, usePhysicalAssets } from '../../shared/api/resources'
import { useSession } from '../../shared/api/session'
import { megawatts, plural, words } from '../../shared/format'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import {
  ChoiceFilter,
  ListTable,
  ListTools,
  SearchFilter,
  useListView,
  useSearch,
  ZoneFilter,
} from '../../shared/ui/listView'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { useParameter } from '../../shell/router'
import { ASKED, columnsOf } from './columns'
import './physical-assets.css'

const NONE: ReadonlyMap<string, Health> = new Map()

/** Every battery that the reader may see; what is out of service for good is kept apart and found last. */
export default function PhysicalAssets() {
  const assets = usePhysicalAssets()
  const organisations = useOrganisations()
  const { user } = useSession()
  const names = useMemo(
    () => new Map((organisations.data ?? []).map((one) => [one.id, one.name])),
    [organisations.data],
  )
  const all = assets.data ?? []
  const power = all.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0)
  const areOwn = all.every((one) => one.organisationID === user.organisationID)
  return (
    <Page
      title="Physical assets"
      facts={all.length > 0 ? [plural(all.length, 'battery', 'batteries'), `${megawatts(power)} MW`] : []}
      aside={all.length > 1 && <Filters all={all} names={names} />}
    >
      <Loaded
        query={assets}
        skeleton={
          <Card>
            <SkeletonRows rows={6} height={48} />
          </Card>
        }
      >
        {(list) =>
          list.length === 0 ? (
            <Card>
              <Empty title="No battery is visible to you">
                An owner registers its batteries with the interface or the SDK, and grants other organisations what they
                may do with them.
              </Empty>
            </Card>
          ) : (
            <List list={list} names={names} areOwn={areOwn} />
          )
        }
      </Loaded>
    </Page>
  )
}

function Filters({ all, names }: { all: PhysicalAsset[]; names: ReadonlyMap<string, string> }) {
  const owners = [...new Set(all.map((one) => one.organisationID))]
  const statuses = [...new Set(all.map((one) => one.status))]
  return (
    <>
      <ChoiceFilter
        name="owner"
        label="Owned by"
        all="All owners"
        options={owners.map((id) => ({ value: id, label: names.get(id) ?? 'an organisation' }))}
      />
      <ChoiceFilter
        name="status"
        label="Status"
        all="Any status"
        options={statuses.map((one) => ({ value: one, label: words(one).toLowerCase() }))}
      />
      <ZoneFilter zones={all.map((one) => one.deliveryZone)} />
      <SearchFilter />
    </>
  )
}

interface ListProps {
  list: PhysicalAsset[]
  names: ReadonlyMap<string, string>
  areOwn: boolean
}

const isGone = (one: PhysicalAsset) => one.status === 'DECOMMISSIONED'
const byName = (a: PhysicalAsset, b: PhysicalAsset) => a.name.localeCompare(b.name, 'en', { numeric: true })

function List({ list, names, areOwn }: ListProps) {
  const zone = useZone()
  const { isSought, finds } = useSearch()
  const [owner] = useParameter('owner')
  const [status] = useParameter('status')
  const [inZone] = useParameter('zone')
  const [chosen] = useParameter('columns')
  const [over, setOver] = useParameter('over')
  const nameOf = (id: string) => names.get(id) ?? 'an organisation'
  const found = list.filter(
    (one) =>
      (!owner || one.organisationID === owner) &&
      (!status || one.status === status) &&
      (!inZone || one.deliveryZone === inZone) &&
      finds(one.name, one.deliveryZone, one.eicCode ?? '', names.get(one.organisationID) ?? ''),
  )
  const living = found.filter((one) => !isGone(one))
  const gone = found.filter(isGone)
  const isAsked = chosen === null || ASKED.some((id) => chosen.split(',').includes(id))
  const health = useHealth(living, isAsked)
  const columns = columnsOf({ zone, ownerOf: areOwn ? null : nameOf, health: health.data ?? NONE })
  const view = useListView(columns)
  const mayHide = gone.length > 0 && living.length > 0 && !isSought && !status
  return (
    <Card
      title={plural(living.length, 'battery', 'batteries')}
      note={gone.length > 0 ? `and ${gone.length} out of service for good` : undefined}
      actions={
        <>
          {mayHide && (
            <Button isCompact aria-pressed={over !== null} onClick={() => setOver(over === null ? '1' : null)}>
              {over === null ? 'Show them' : 'Hide them'}
            </Button>
          )}
          <ListTools name="physical-assets" columns={columns} view={view} />
        </>
      }
    >
      {found.length === 0 ? (
        <Empty title="None of these">No battery has this name, zone, owner and status.</Empty>
      ) : (
        <ListTable
          className="physical-batteries"
          view={view}
          rows={[
            ...view.sorted([...living].sort(byName)),
            ...(mayHide && over === null ? [] : view.sorted([...gone].sort(byName))),
          ]}
        />
      )}
    </Card>
  )
}

/** Of each battery; nothing is asked where no column shows it. */
function useHealth(assets: readonly PhysicalAsset[], isAsked: boolean) {
  const ids = assets.map((one) => one.id)
  return useQuery({
    queryKey: ['physical-assets', 'health', ids.join()],
    queryFn: async () => {
      const answers = await askMany<Health>(ids.map((id) => `/physical-assets/${id}/health`))
      return new Map(answers.flatMap((one, index) => (one ? [[ids[index] ?? '', one] as const] : [])))
    },
    enabled: isAsked && ids.length > 0,
    staleTime: 30_000,
    placeholderData: (old) => old,
  })
}
