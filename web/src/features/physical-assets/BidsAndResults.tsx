import { useQuery } from '@tanstack/react-query'
import { allPages, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { decimal, megawatts, productInWords } from '../../shared/format'
import { dayInWords } from '../../shared/time/words'
import { Badge, Card } from '../../shared/ui/Card'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'

type Entry = Schemas['ProductBids']
const TONES: Record<string, 'good' | 'quiet' | 'danger'> = { ACCEPTED: 'good', REJECTED: 'danger' }
const MOST = 400

/** What was offered to the balancing market, and what became of it. */
export function BidsAndResults({ asset }: { asset: PhysicalAsset }) {
  const bids = useQuery({
    queryKey: ['physical-assets', asset.id, 'bids'],
    queryFn: () => allPages<Entry>(`/physical-assets/${asset.id}/ancillary/bids?limit=${MOST}`, MOST),
  })
  return (
    <Card title="Bids and results" note="newest delivery first; FCR priced for the block, aFRR by the hour">
      <Loaded query={bids} skeleton={<SkeletonRows rows={8} />}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title="No bid yet">
              Bids are placed with the interface or the SDK; each appears here with its result.
            </Empty>
          ) : (
            <Table
              columns={[
                'Delivery',
                'Product',
                { label: 'Offered, MW', isNumber: true },
                { label: 'Accepted, MW', isNumber: true },
                { label: 'Capacity price, EUR/MW', isNumber: true },
                { label: 'Energy price, EUR/MWh', isNumber: true },
                { label: 'State', isNumber: true },
              ]}
            >
              <tbody>
                {entries.flatMap((entry) =>
                  (entry.bids ?? []).map((bid) => <Row key={bid.id} entry={entry} bid={bid} />),
                )}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}

function Row({ entry, bid }: { entry: Entry; bid: Schemas['Bid'] }) {
  const accepted = (bid as { acceptedCapacity?: number }).acceptedCapacity
  const energyPrice = (bid as { energyPrice?: number }).energyPrice
  const status = String(bid.status)
  return (
    <tr>
      <td className="when">{dayInWords(entry.deliveryDay)}</td>
      <td className="when">{productInWords(entry.product)}</td>
      <td className="number">{megawatts(bid.offeredCapacity)}</td>
      <td className="number">{accepted === undefined ? '–' : megawatts(accepted)}</td>
      <td className="number">{decimal(Number(bid.capacityPrice), 2)}</td>
      <td className="number">
        {energyPrice === undefined || energyPrice === null ? '–' : decimal(Number(energyPrice), 2)}
      </td>
      <td className="number">
        <Badge tone={TONES[status] ?? 'quiet'}>{status.toLowerCase()}</Badge>
      </td>
    </tr>
  )
}
