import { useState } from 'react'
import { useOrganisations } from '../../shared/api/names'
import { useAllVirtualAssets, useVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { isBalanced } from '../../shared/balance'
import { useMinute } from '../../shared/clock'
import { decimal, efficiencies, plural, size } from '../../shared/format'
import type { Zone } from '../../shared/time/marketDay'
import { dayRange, weekday } from '../../shared/time/words'
import { Badge, Card } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { Portfolios } from './Portfolios'
import './virtual-assets.css'

/** Every virtual battery of the organisation, or of all of them: those that deliver first, then what is over. */
export default function VirtualBatteries() {
  const now = useMinute()
  const isOperator = useIsOperator()
  const own = useVirtualAssets()
  const everyones = useAllVirtualAssets()
  const assets = isOperator ? everyones : own
  const organisations = useOrganisations()
  const names = new Map((organisations.data ?? []).map((one) => [one.id, one.name]))
  const [search, setSearch] = useState('')
  const [holder, setHolder] = useState('')
  const all = assets.data ?? []
  const living = all.filter((one) => Date.parse(one.end) > now)
  const wanted = search.trim().toLowerCase()
  const shown = all.filter(
    (one) =>
      (holder === '' || one.organisationID === holder) &&
      `${one.name} ${one.deliveryZone} ${names.get(one.organisationID) ?? ''}`.toLowerCase().includes(wanted),
  )
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
      aside={
        all.length > 5 && (
          <>
            {isOperator && (
              <select
                className="role-select"
                aria-label="Held by"
                value={holder}
                onChange={(event) => setHolder(event.target.value)}
              >
                <option value="">All organisations</option>
                {holders.map((id) => (
                  <option key={id} value={id}>
                    {names.get(id) ?? 'an organisation'}
                  </option>
                ))}
              </select>
            )}
            <div className="input">
              <input
                type="search"
                aria-label="Search"
                placeholder="Search"
                value={search}
                onChange={(event) => setSearch(event.target.value)}
              />
            </div>
          </>
        )
      }
    >
      <Card>
        <Loaded query={assets} skeleton={<SkeletonRows rows={6} height={48} />}>
          {(list) =>
            list.length === 0 ? (
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
            ) : (
              <Table
                className="virtual-batteries"
                columns={[
                  'Battery',
                  ...(isOperator ? [{ label: 'Held by', isWide: true }] : []),
                  { label: 'Size', isWide: true },
                  { label: 'Zone', isWide: true },
                  { label: 'Efficiency', isWide: true },
                  'Delivers',
                  'End of delivery',
                ]}
              >
                <tbody>
                  {[...shown].sort(byLife(now)).map((asset) => (
                    <Row
                      key={asset.id}
                      asset={asset}
                      now={now}
                      holder={isOperator ? (names.get(asset.organisationID) ?? 'an organisation') : null}
                    />
                  ))}
                </tbody>
              </Table>
            )
          }
        </Loaded>
      </Card>
      {assets.data && !isOperator && <Portfolios assets={[...all].sort(byLife(now))} />}
    </Page>
  )
}

function lifeInWords(start: number, end: number, zone: Zone): string {
  const [first, last] = [weekday(start, zone), weekday(end - 1, zone)]
  return first === last ? first : `${first} – ${last}`
}

/** What delivers or will, by its start; then what is over, the newest first. */
const byLife = (now: number) => (a: VirtualAsset, b: VirtualAsset) => {
  const isOver = (one: VirtualAsset) => Number(Date.parse(one.end) <= now)
  const later = Date.parse(a.start) - Date.parse(b.start)
  return isOver(a) - isOver(b) || (isOver(a) ? -later : later)
}

function Row({ asset, now, holder }: { asset: VirtualAsset; now: number; holder: string | null }) {
  const zone = useZone()
  const [start, end] = [Date.parse(asset.start), Date.parse(asset.end)]
  const off = Math.max(asset.imbalanceCharge, asset.imbalanceDischarge)
  const isKept = isBalanced(asset, off)
  return (
    <tr>
      <td>
        <Link to={`/virtual-batteries/${asset.id}`}>
          <strong>{asset.name}</strong>
        </Link>
        <span className="note second-line narrow-line">
          {size(asset.ratedDischargePower, asset.energyCapacity)}, {asset.deliveryZone}
          {holder !== null && `, ${holder}`}
        </span>
      </td>
      {holder !== null && <td className="wide-cell">{holder}</td>}
      <td className="wide-cell">{size(asset.ratedDischargePower, asset.energyCapacity)}</td>
      <td className="wide-cell">{asset.deliveryZone}</td>
      <td className="wide-cell">{efficiencies(asset.chargeEfficiency, asset.dischargeEfficiency)}</td>
      <td>
        <span className="nowrap wide-only">{lifeInWords(start, end, zone)}</span>
        <span className="nowrap narrow-line">{dayRange(start, end, zone)}</span>{' '}
        {end <= now ? (
          <Badge>over</Badge>
        ) : start <= now ? (
          <Badge tone="good">delivers</Badge>
        ) : (
          <Badge tone="warning">to come</Badge>
        )}
      </td>
      <td>
        {isKept ? (
          <span className="tone-good">balanced</span>
        ) : (
          <span className="tone-warning">
            {decimal(off / 1000, 2)} MWh {asset.imbalanceCharge > 0 ? 'short' : 'too much'}
          </span>
        )}
      </td>
    </tr>
  )
}
