/** The columns of the table of auctions. */
import { decimal, percent, size } from '../../shared/format'
import type { Zone } from '../../shared/time/marketDay'
import { dayRange, weekdayTime } from '../../shared/time/words'
import { Badge } from '../../shared/ui/Card'
import type { ViewColumn } from '../../shared/ui/listView'
import { Link } from '../../shell/router'
import { Ended } from './AuctionList'
import { type Auction, deliveryOf, endOf, groupOf, perMwDay, startOf } from './data'

interface Context {
  now: number
  zone: Zone
  isOperator: boolean
  nameOf: (organisation: string) => string
}

/** What it went for; to a participant the own bid that stands. */
const priceOf = (one: Auction, isOperator: boolean): number | null =>
  (isOperator ? one.price : one.currentBid?.price) ?? null

export function columnsOf({ now, zone, isOperator, nameOf }: Context): ViewColumn<Auction>[] {
  const columns: ViewColumn<Auction>[] = [
    {
      id: 'size',
      label: 'Auction',
      isFixed: true,
      sortBy: (one) => one.item.ratedDischargePower,
      cell: (one) => <Name auction={one} zone={zone} />,
    },
    {
      id: 'zone',
      label: 'Zone',
      isWide: true,
      sortBy: (one) => one.item.deliveryZone,
      cell: (one) => one.item.deliveryZone,
    },
    {
      id: 'delivers',
      label: 'Delivers',
      isWide: true,
      sortBy: (one) => deliveryOf(one).start,
      cell: (one) => {
        const { start, end } = deliveryOf(one)
        return <span className="nowrap">{dayRange(start, end, zone)}</span>
      },
    },
    {
      id: 'opens',
      label: 'Opens',
      isWide: true,
      isExtra: true,
      sortBy: startOf,
      cell: (one) => <span className="nowrap">{weekdayTime(startOf(one), zone)}</span>,
    },
    {
      id: 'closes',
      label: 'Closes',
      isWide: true,
      sortBy: endOf,
      cell: (one) => <span className="nowrap">{weekdayTime(endOf(one), zone)}</span>,
    },
    {
      id: 'availability',
      label: 'Least availability',
      isNumber: true,
      isWide: true,
      isExtra: true,
      sortBy: (one) => one.minimumAvailability,
      cell: (one) => percent(one.minimumAvailability),
    },
    {
      id: 'price',
      label: isOperator ? 'Price, EUR' : 'Your bid, EUR',
      isNumber: true,
      sortBy: (one) => priceOf(one, isOperator),
      cell: (one) => {
        const price = priceOf(one, isOperator)
        return price === null ? '–' : decimal(price, 2)
      },
    },
    {
      id: 'perMw',
      label: 'EUR/MW/day',
      isNumber: true,
      isWide: true,
      sortBy: (one) => (priceOf(one, isOperator) === null ? null : perMwDay(priceOf(one, isOperator) ?? 0, one)),
      cell: (one) => {
        const price = priceOf(one, isOperator)
        return price === null ? '–' : decimal(perMwDay(price, one), 2)
      },
    },
    {
      id: 'status',
      label: 'Status',
      sortBy: (one) => ['Open', 'Not started', 'Closed'].indexOf(groupOf(one, now)),
      cell: (one) => <Status auction={one} now={now} isOperator={isOperator} />,
    },
  ]
  if (isOperator)
    columns.splice(
      -1,
      0,
      {
        id: 'hurdle',
        label: 'Hurdle, EUR',
        isNumber: true,
        isWide: true,
        isExtra: true,
        sortBy: (one) => one.hurdlePrice ?? null,
        cell: (one) => (one.hurdlePrice == null ? '–' : decimal(one.hurdlePrice, 2)),
      },
      {
        id: 'winner',
        label: 'Won by',
        isWide: true,
        sortBy: (one) => (one.winnerID == null ? null : nameOf(one.winnerID)),
        cell: (one) =>
          one.winnerID == null ? '–' : <Link to={`/organisations/${one.winnerID}`}>{nameOf(one.winnerID)}</Link>,
      },
    )
  return columns
}

function Name({ auction, zone }: { auction: Auction; zone: Zone }) {
  const { item } = auction
  return (
    <>
      <Link to={`/auctions/${auction.id}`}>
        <strong className="nowrap">{size(item.ratedDischargePower, item.energyCapacity)}</strong>
      </Link>
      <span className="note second-line narrow-line">
        {item.deliveryZone}, closes {weekdayTime(endOf(auction), zone)}
      </span>
    </>
  )
}

function Status({ auction, now, isOperator }: { auction: Auction; now: number; isOperator: boolean }) {
  const group = groupOf(auction, now)
  // What it went for has a column of its own.
  if (auction.outcome === 'ALLOCATED') return <Badge tone="good">allocated</Badge>
  if (group === 'Closed') return <Ended auction={auction} isOperator={isOperator} />
  return <span className={group === 'Open' ? 'tone-good' : 'note'}>{group.toLowerCase()}</span>
}
