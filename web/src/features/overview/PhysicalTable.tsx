import type { Health, PhysicalAsset } from '../../shared/api/resources'
import { usePlaying } from '../../shared/api/simulator'
import { useNow } from '../../shared/clock'
import { decimal, megawatts, size, words } from '../../shared/format'
import { age } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { TableScroll } from '../../shared/ui/TableScroll'
import { Link } from '../../shell/router'
import type { FleetStatus, Latest } from './data'
import { ChargeBar, Power, PowerBar } from './VirtualTable'

const MOST = 24
const STALE_MS = 5 * 60_000

/** The owner's batteries: what is in them, what they do, and whether they can. */
export function PhysicalTable({ assets, status }: { assets: PhysicalAsset[]; status: FleetStatus }) {
  const shown = assets.slice(0, MOST)
  return (
    <Card title="Physical batteries" note={`${assets.length} · power bars: share of rated`}>
      <TableScroll>
        <table className="table batteries">
          <thead>
            <tr>
              <th scope="col">Battery</th>
              <th scope="col" colSpan={2}>
                State of charge, %
              </th>
              <th scope="col" colSpan={2}>
                Power now, MW
              </th>
              <th scope="col" className="number wide-only-cell">
                Available, MW
              </th>
              <th scope="col">Health</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((asset) => (
              <Row
                key={asset.id}
                asset={asset}
                health={status.health.get(asset.id)}
                latest={status.latest.get(asset.id)}
              />
            ))}
          </tbody>
        </table>
      </TableScroll>
    </Card>
  )
}

interface RowProps {
  asset: PhysicalAsset
  health: Health | undefined
  latest: Latest | undefined
}

function Row({ asset, health, latest }: RowProps) {
  const now = useNow()
  const charge = latest?.state_of_charge?.value ?? null
  const power = latest?.active_power?.value ?? null
  const told = latest?.active_power ?? latest?.state_of_charge
  const isPlaying = usePlaying() !== null
  const isStale = !isPlaying && told !== undefined && now - Date.parse(told.time) > STALE_MS
  const { parameters } = asset
  return (
    <tr>
      <th scope="row">
        <Link to={`/physical-assets/${asset.id}`} className="battery-name">
          {asset.name}
        </Link>
        <span className="note">
          {size(parameters.ratedDischargePower, parameters.energyCapacity)} · {asset.deliveryZone}
        </span>
      </th>
      <td className="bar-cell">
        <ChargeBar value={charge} isProjected={isStale} />
      </td>
      <td className="number">
        <strong>{charge === null ? '–' : decimal(charge, 1)}</strong>
      </td>
      <td className="bar-cell power-cell">
        <PowerBar power={power ?? 0} charge={parameters.ratedChargePower} discharge={parameters.ratedDischargePower} />
      </td>
      <td className="number">
        <Power power={power} />
      </td>
      <td className="number wide-only-cell">
        {health ? `${megawatts(health.availablePower.discharge)} of ${megawatts(parameters.ratedDischargePower)}` : '–'}
      </td>
      <td>
        <State health={health} isStale={isStale} age={told ? age(now - Date.parse(told.time)) : null} />
      </td>
    </tr>
  )
}

function State({ health, isStale, age: told }: { health: Health | undefined; isStale: boolean; age: string | null }) {
  if (!health) return <span className="note">–</span>
  if (isStale && told && health.status === 'OK')
    return (
      <span className="end-state note">
        <span className="dot" /> {told} old
      </span>
    )
  const tone =
    { OK: 'tone-good', DEGRADED: 'tone-warning', DOWN: 'tone-danger', UNKNOWN: 'note' }[health.status] ?? 'note'
  return (
    <span className={`end-state ${tone}`}>
      <span className="dot" /> {words(health.status === 'OK' ? 'in order' : health.status).toLowerCase()}
    </span>
  )
}
