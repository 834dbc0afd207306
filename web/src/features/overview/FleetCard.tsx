import type { PhysicalAsset } from '../../shared/api/resources'
import { usePlaying } from '../../shared/api/simulator'
import { useNow } from '../../shared/clock'
import { decimal, megawatts } from '../../shared/format'
import { Card } from '../../shared/ui/Card'
import { Link } from '../../shell/router'
import type { FleetStatus } from './data'
import { ChargeBar } from './VirtualTable'

const STALE_MS = 5 * 60_000
const LOW_PERCENT = 20

/** Every battery on a line: its power, what is in it, and what of it is missing. */
export function FleetCard({ assets, status }: { assets: PhysicalAsset[]; status: FleetStatus }) {
  const now = useNow()
  const isPlaying = usePlaying() !== null
  return (
    <Card title="Fleet" note="MW, state of charge %" actions={<Link to="/physical-assets">Open</Link>}>
      <ul className="fleet">
        {assets.map((asset) => {
          const told = status.latest.get(asset.id)?.state_of_charge
          const rated = asset.parameters.ratedDischargePower
          const available = status.health.get(asset.id)?.availablePower.discharge
          const isStale = !isPlaying && told !== undefined && now - Date.parse(told.time) > STALE_MS
          const state =
            available !== undefined && available < rated
              ? { text: `${megawatts(available)} of ${megawatts(rated)} MW`, tone: 'tone-danger' }
              : isStale
                ? { text: 'projected', tone: 'note' }
                : told && told.value < LOW_PERCENT
                  ? { text: 'low', tone: 'tone-warning' }
                  : null
          return (
            <li key={asset.id}>
              <Link to={`/physical-assets/${asset.id}`}>{asset.name}</Link>
              <span className="number">{megawatts(rated)}</span>
              <ChargeBar value={told?.value ?? null} isProjected={isStale} />
              <strong className="number">{told ? decimal(told.value, 1) : '–'}</strong>
              <span className={state?.tone ?? ''}>{state?.text}</span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
