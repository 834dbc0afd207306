import { useMemo } from 'react'
import { useOrganisations } from '../../shared/api/names'
import { plural, size } from '../../shared/format'
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
import { Empty } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { Link, useParameter } from '../../shell/router'
import { columnsOf } from './columns'
import { type Auction, grouped, groupOf } from './data'

const SHOWN = [
  { value: 'open', label: 'Open' },
  { value: 'ahead', label: 'Not started' },
  { value: 'closed', label: 'Closed' },
]
const OWN = [
  { value: 'won', label: 'Won' },
  { value: 'lost', label: 'Lost' },
]

export function TableFilters({ auctions, isOperator }: { auctions: Auction[]; isOperator: boolean }) {
  return (
    <>
      <ChoiceFilter name="show" label="Which auctions" all="All" options={isOperator ? SHOWN : [...SHOWN, ...OWN]} />
      <ZoneFilter zones={auctions.map((one) => one.item.deliveryZone)} />
      <SearchFilter />
    </>
  )
}

interface Props {
  auctions: Auction[]
  now: number
  isOperator: boolean
}

/** All auctions side by side: by what closes next, or as the reader sorts them. */
export function AuctionTable({ auctions, now, isOperator }: Props) {
  const zone = useZone()
  const [show] = useParameter('show')
  const [inZone] = useParameter('zone')
  const { finds } = useSearch()
  const organisations = useOrganisations()
  const names = useMemo(
    () => new Map((organisations.data ?? []).map((one) => [one.id, one.name])),
    [organisations.data],
  )
  const nameOf = (id: string) => names.get(id) ?? 'an organisation'
  const found = auctions.filter(
    (one) =>
      isShown(one, show, now) &&
      (!inZone || one.item.deliveryZone === inZone) &&
      finds(
        size(one.item.ratedDischargePower, one.item.energyCapacity),
        one.item.deliveryZone,
        one.winnerID ? nameOf(one.winnerID) : '',
        one.id,
      ),
  )
  const columns = columnsOf({ now, zone, isOperator, nameOf })
  const view = useListView(columns)
  return (
    <Card
      title={plural(found.length, 'auction')}
      actions={
        <>
          <Link to="/auctions" className="button button-compact">
            One by one
          </Link>
          <ListTools name="auctions" columns={columns} view={view} />
        </>
      }
    >
      {found.length === 0 ? (
        <Empty title="None of these">No auction is like this.</Empty>
      ) : (
        <ListTable
          className="auction-table"
          view={view}
          rows={view.sorted(grouped(found, now).flatMap(([, members]) => members))}
        />
      )}
    </Card>
  )
}

function isShown(auction: Auction, show: string | null, now: number): boolean {
  const group = groupOf(auction, now)
  if (show === 'open') return group === 'Open'
  if (show === 'ahead') return group === 'Not started'
  if (show === 'closed') return group === 'Closed'
  if (show === 'won' || show === 'lost') return auction.status === show.toUpperCase()
  return true
}
