import type { Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { megawatts, plural, words } from '../../shared/format'
import { time, weekdayTime } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { useAssetHealth } from './data'

export type Conflict = Schemas['CapacityConflict']

/** What was promised, offered or scheduled ahead and will not fit, by its figures; the same shortfall is one row. */
export function Conflicts({ asset }: { asset: PhysicalAsset }) {
  const zone = useZone()
  const health = useAssetHealth(asset.id)
  return (
    <Card title="Conflicts" note="what asks for more than will be available">
      <Loaded query={health} skeleton={<SkeletonRows rows={3} />}>
        {({ conflicts = [] }) =>
          conflicts.length === 0 ? (
            <Empty title="Everything ahead fits">No promise, offer or schedule asks for more than will be there.</Empty>
          ) : (
            <Table
              columns={[
                'What',
                'When',
                { label: 'Asked, MW', isNumber: true },
                { label: 'There, MW', isNumber: true },
                { label: 'Missing, MWh', isNumber: true, isWide: true },
              ]}
            >
              <tbody>
                {joinConflicts(conflicts).map(({ conflict, spans }) => (
                  <tr key={`${conflict.id ?? conflict.kind} ${conflict.start}`}>
                    <td>
                      <What conflict={conflict} />
                    </td>
                    <td className="when">
                      {spans.length > 1 && <strong>{plural(spans.length, 'time')}: </strong>}
                      {spans
                        .slice(0, SHOWN_SPANS)
                        .map((one) => `${weekdayTime(one.start, zone)}–${time(one.end, zone)}`)
                        .join(', ')}
                      {spans.length > SHOWN_SPANS && ' …'}
                    </td>
                    <td className="number">{megawatts(Math.abs(conflict.power))}</td>
                    <td className="number">{megawatts(conflict.available)}</td>
                    <td className="number wide-cell">{conflict.missing ? megawatts(conflict.missing.energy) : '–'}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}

const SHOWN_SPANS = 3

function What({ conflict }: { conflict: Conflict }) {
  const name = KINDS[conflict.kind] ?? words(conflict.kind)
  if (conflict.virtualAssetID) return <Link to={`/virtual-batteries/${conflict.virtualAssetID}`}>{name}</Link>
  if (conflict.auctionID) return <Link to={`/auctions/${conflict.auctionID}`}>{name}</Link>
  return <>{conflict.productDateCode ? `${name}, ${conflict.productDateCode.slice(11)}` : name}</>
}

const KINDS: Record<string, string> = {
  SCHEDULE: 'Own schedule',
  ANCILLARY_BID: 'Bid for reserve',
  VIRTUAL_ASSET: 'Promise to a virtual battery',
  AUCTION: 'Open auction',
  VIRTUAL_ASSET_BLOCK: 'Schedule of a virtual battery',
}

/** Conflicts of one holder with the same figures, with all their times. */
export function joinConflicts(conflicts: readonly Conflict[]) {
  const found = new Map<string, { conflict: Conflict; spans: { start: number; end: number }[] }>()
  for (const one of conflicts) {
    const holder = [one.kind, one.virtualAssetID, one.auctionID, one.id, one.productDateCode]
    const key = [...holder, one.power, one.available, one.missing?.energy].join(' ')
    const row = found.get(key) ?? { conflict: one, spans: [] }
    row.spans.push({ start: Date.parse(one.start), end: Date.parse(one.end) })
    found.set(key, row)
  }
  return [...found.values()]
}
