import { decimal, percent, plural, size } from '../../../shared/format'
import { countdown, dayRange } from '../../../shared/time/words'
import { Card } from '../../../shared/ui/Card'
import { Table } from '../../../shared/ui/Table'
import { useZone } from '../../../shared/zone'
import { Link } from '../../../shell/router'
import { type Auction, deliveryOf, endOf, groupOf, pastOfKind, perMwDay, startOf, useAuctions } from '../data'

const MOST_PAST = 8

/** Where the results will be: who is invited, how long it still is, and what came of others of its kind. */
export function Awaited({ auction, now }: { auction: Auction; now: number }) {
  const zone = useZone()
  const past = pastOfKind(useAuctions().data ?? [], auction, now)
  const sold = past.filter((one) => one.outcome === 'ALLOCATED')
  return (
    <Card
      title="Results"
      note={past.length > 0 ? `past ones in ${auction.item.deliveryZone}, ${soldInWords(past, sold)}` : ''}
    >
      <p className="card-body">{stateOf(auction, now)} Every bid is shown here once the auction is cleared.</p>
      {past.length > 0 && (
        <Table
          columns={[
            'Past auction',
            'Delivery',
            { label: 'EUR', isNumber: true },
            { label: 'EUR/MW/day', isNumber: true },
          ]}
        >
          <tbody>
            {past.slice(0, MOST_PAST).map((one) => (
              <tr key={one.id}>
                <td>
                  <Link to={`/auctions/${one.id}`}>{size(one.item.ratedDischargePower, one.item.energyCapacity)}</Link>
                </td>
                <td>{dayRange(deliveryOf(one).start, deliveryOf(one).end, zone)}</td>
                <td className="number">{one.price == null ? 'no valid bid' : decimal(one.price, 2)}</td>
                <td className="number">{one.price == null ? '–' : decimal(perMwDay(one.price, one), 2)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  )
}

function soldInWords(past: Auction[], sold: Auction[]): string {
  return sold.length === past.length ? 'all of them sold' : `${percent(sold.length / past.length)} of them sold`
}

function stateOf(auction: Auction, now: number): string {
  const group = groupOf(auction, now)
  if (group === 'Closed') return 'Being cleared, within seconds of the end.'
  const invited = plural((auction.participants ?? []).length, 'organisation')
  if (group === 'Not started') return `${invited} invited; it opens in ${countdown(startOf(auction) - now)}.`
  const bid = auction.hasBid === undefined ? '' : auction.hasBid ? ' There is a bid.' : ' There is no bid yet.'
  return `${invited} invited; it closes in ${countdown(endOf(auction) - now)}.${bid}`
}
