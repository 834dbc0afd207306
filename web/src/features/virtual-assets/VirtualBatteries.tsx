import { useMemo } from 'react'
import { useOrganisations } from '../../shared/api/names'
import { useAllVirtualAssets, useVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { plural } from '../../shared/format'
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
import { Link, useParameter } from '../../shell/router'
import { columnsOf } from './columns'
import { type BatteryFigures, useFigures, type Wanted } from './figures'
import { Portfolios } from './Portfolios'
import './virtual-assets.css'

const NONE: ReadonlyMap<string, BatteryFigures> = new Map()

/** Every virtual battery of the organisation, or of all of them; what is over is kept apart and found last. */
export default function VirtualBatteries() {
  const now = useMinute()
  const isOperator = useIsOperator()
  const own = useVirtualAssets()
  const everyones = useAllVirtualAssets()
  const assets = isOperator ? everyones : own
  const organisations = useOrganisations()
  const names = useMemo(
    () => new Map((organisations.data ?? []).map((one) => [one.id, one.name])),
    [organisations.data],
  )
  const all = assets.data ?? []
  const living = all.filter((one) => Date.parse(one.end) > now)
  const holders = [...new Set(all.map((one) => one.organisationID))]
  return (
    <Page
      title="Virtual batteries"
      facts={
        all.length > 0
          ? [
              `${living.length} deliver or will`,
              plural(all.length, 'in all', 'in all'),
              isOperator && plural(holders.length, 'organisation'),
            ]
          : []
      }
      aside={all.length > 1 && <Filters all={all} holders={isOperator ? holders : []} names={names} />}
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
              <Empty
                title="No virtual battery yet"
                action={
                  <Link to="/auctions" className="button">
                    To the auctions
                  </Link>
                }
              >
                Win an auction, or have the operator allocate one, and it appears here with its first block.
              </Empty>
            </Card>
          ) : (
            <List list={list} now={now} names={names} isOperator={isOperator} />
          )
        }
      </Loaded>
      {assets.data && !isOperator && <Portfolios assets={[...all].sort(byLife(now))} />}
    </Page>
  )
}

interface FilterProps {
  all: VirtualAsset[]
  /** Of whom one is chosen; none where all are the reader's. */
  holders: string[]
  names: ReadonlyMap<string, string>
}

function Filters({ all, holders, names }: FilterProps) {
  const options = holders.map((id) => ({ value: id, label: names.get(id) ?? 'an organisation' }))
  return (
    <>
      <ChoiceFilter name="holder" label="Held by" all="All organisations" options={options} />
      <ZoneFilter zones={all.map((one) => one.deliveryZone)} />
      <SearchFilter />
    </>
  )
}

interface ListProps {
  list: VirtualAsset[]
  now: number
  names: ReadonlyMap<string, string>
  isOperator: boolean
}

function List({ list, now, names, isOperator }: ListProps) {
  const zone = useZone()
  const { isSought, finds } = useSearch()
  const [holder] = useParameter('holder')
  const [inZone] = useParameter('zone')
  const [chosen] = useParameter('columns')
  const [over, setOver] = useParameter('over')
  const holderOf = isOperator ? (id: string) => names.get(id) ?? 'an organisation' : null
  const found = list.filter(
    (one) =>
      (!holder || one.organisationID === holder) &&
      (!inZone || one.deliveryZone === inZone) &&
      finds(one.name, one.deliveryZone, names.get(one.organisationID) ?? ''),
  )
  const isOver = (one: VirtualAsset) => Date.parse(one.end) <= now
  const living = found.filter((one) => !isOver(one))
  const gone = found.filter(isOver)
  const figures = useFigures(living, now, wantedOf(chosen, isOperator))
  const columns = columnsOf({ now, zone, holderOf, figures: figures.data ?? NONE })
  const view = useListView(columns)
  const areGoneShown = over !== null || isSought || living.length === 0
  return (
    <Card
      title={plural(living.length, 'battery', 'batteries')}
      note={gone.length > 0 ? `and ${gone.length} that ${gone.length === 1 ? 'is' : 'are'} over` : undefined}
      actions={
        <>
          {gone.length > 0 && !isSought && living.length > 0 && (
            <Button isCompact aria-pressed={over !== null} onClick={() => setOver(over === null ? '1' : null)}>
              {over === null ? 'Show what is over' : 'Hide what is over'}
            </Button>
          )}
          <ListTools name="virtual-batteries" columns={columns} view={view} />
        </>
      }
    >
      {found.length === 0 ? (
        <Empty title="None of these">No battery has this name, zone and holder.</Empty>
      ) : (
        <ListTable
          className="virtual-batteries"
          view={view}
          rows={[
            ...view.sorted([...living].sort(byLife(now))),
            ...(areGoneShown ? view.sorted([...gone].sort(byLife(now))) : []),
          ]}
        />
      )}
    </Card>
  )
}

/** Only what a column shows is asked for. */
function wantedOf(chosen: string | null, isOperator: boolean): Wanted {
  const has = (id: string) => (chosen === null ? !isOperator : chosen.split(',').includes(id))
  return { course: has('charge') || has('problem'), earned: has('earned'), open: has('open') }
}

/** What delivers or will, by its start; then what is over, the newest first. */
const byLife = (now: number) => (a: VirtualAsset, b: VirtualAsset) => {
  const isOver = (one: VirtualAsset) => Number(Date.parse(one.end) <= now)
  const later = Date.parse(a.start) - Date.parse(b.start)
  return isOver(a) - isOver(b) || (isOver(a) ? -later : later)
}
