/** The columns of the list of physical batteries. */
import type { Health, PhysicalAsset } from '../../shared/api/resources'
import { decimal, efficiencies, megawatts, size, words } from '../../shared/format'
import type { Zone } from '../../shared/time/marketDay'
import { weekdayTime } from '../../shared/time/words'
import { Badge } from '../../shared/ui/Card'
import type { ViewColumn } from '../../shared/ui/listView'
import { Link } from '../../shell/router'

interface Context {
  zone: Zone
  /** null: all are the reader's. */
  ownerOf: ((id: string) => string) | null
  health: ReadonlyMap<string, Health>
}

/** What the service has to be asked for battery by battery. */
export const ASKED = ['charge', 'available', 'health', 'problem']

export function columnsOf({ zone, ownerOf, health }: Context): ViewColumn<PhysicalAsset>[] {
  const chargeOf = (one: PhysicalAsset) => health.get(one.id)?.stateOfCharge ?? null
  const problemOf = (one: PhysicalAsset) => firstConflict(health.get(one.id))
  const columns: ViewColumn<PhysicalAsset>[] = [
    {
      id: 'name',
      label: 'Battery',
      isFixed: true,
      sortBy: (one) => one.name,
      cell: (one) => <Name asset={one} owner={ownerOf?.(one.organisationID) ?? null} />,
    },
    {
      id: 'size',
      label: 'Size',
      isWide: true,
      sortBy: (one) => one.parameters.ratedDischargePower,
      cell: ({ parameters }) => size(parameters.ratedDischargePower, parameters.energyCapacity),
    },
    { id: 'zone', label: 'Zone', isWide: true, sortBy: (one) => one.deliveryZone, cell: (one) => one.deliveryZone },
    {
      id: 'efficiency',
      label: 'Efficiency',
      isWide: true,
      isExtra: true,
      sortBy: ({ parameters }) => parameters.chargeEfficiency * parameters.dischargeEfficiency,
      cell: ({ parameters }) => efficiencies(parameters.chargeEfficiency, parameters.dischargeEfficiency),
    },
    {
      id: 'charge',
      label: 'State of charge, %',
      isNumber: true,
      sortBy: chargeOf,
      cell: (one) => {
        const charge = chargeOf(one)
        return charge === null ? '–' : decimal(charge * 100, 1)
      },
    },
    {
      id: 'available',
      label: 'Available, MW',
      isNumber: true,
      isWide: true,
      sortBy: (one) => health.get(one.id)?.availablePower.discharge ?? null,
      cell: (one) => {
        const available = health.get(one.id)?.availablePower.discharge
        return available === undefined ? '–' : megawatts(available)
      },
    },
    {
      id: 'problem',
      label: 'Next problem',
      isWide: true,
      sortBy: (one) => problemOf(one)?.at ?? null,
      cell: (one) => <Problem asset={one} health={health.get(one.id)} zone={zone} />,
    },
    {
      id: 'health',
      label: 'Health',
      sortBy: (one) => HEALTHS.indexOf(health.get(one.id)?.status ?? 'UNKNOWN'),
      cell: (one) => <State health={health.get(one.id)} />,
    },
    {
      id: 'commissioned',
      label: 'In service since',
      isWide: true,
      isExtra: true,
      sortBy: (one) => one.commissionedOn ?? null,
      cell: (one) => one.commissionedOn ?? '–',
    },
    {
      id: 'status',
      label: 'Status',
      isWide: true,
      sortBy: (one) => one.status,
      cell: (one) => <Badge tone={one.status === 'ACTIVE' ? 'good' : 'quiet'}>{words(one.status).toLowerCase()}</Badge>,
    },
  ]
  if (ownerOf)
    columns.splice(1, 0, {
      id: 'owner',
      label: 'Owned by',
      isWide: true,
      sortBy: (one) => ownerOf(one.organisationID),
      cell: (one) => ownerOf(one.organisationID),
    })
  return columns
}

/** The worst first. */
const HEALTHS: Health['status'][] = ['DOWN', 'DEGRADED', 'UNKNOWN', 'OK']
const TONES: Record<Health['status'], string> = {
  OK: 'tone-good',
  DEGRADED: 'tone-warning',
  DOWN: 'tone-danger',
  UNKNOWN: 'note',
}

/** What asks first for more than will be there, MW. */
export function firstConflict(health: Pick<Health, 'conflicts'> | undefined): { at: number; mw: number } | null {
  const found = (health?.conflicts ?? [])
    .map((one) => ({ at: Date.parse(one.start), mw: Math.max(0, Math.abs(one.power) - one.available) / 1000 }))
    .sort((a, b) => a.at - b.at)
  return found[0] ?? null
}

function Name({ asset, owner }: { asset: PhysicalAsset; owner: string | null }) {
  return (
    <>
      <Link to={`/physical-assets/${asset.id}`}>
        <strong>{asset.name}</strong>
      </Link>
      <span className="note second-line narrow-line">
        {size(asset.parameters.ratedDischargePower, asset.parameters.energyCapacity)}, {asset.deliveryZone}
        {owner !== null && `, ${owner}`}
      </span>
    </>
  )
}

function Problem({ asset, health, zone }: { asset: PhysicalAsset; health: Health | undefined; zone: Zone }) {
  if (!health) return <>–</>
  const first = firstConflict(health)
  if (!first) return <span className="note">none ahead</span>
  return (
    <Link to={`/physical-assets/${asset.id}/conflicts`} className="tone-warning nowrap">
      {first.mw > 0 ? `${decimal(first.mw, 1)} MW too many` : 'energy short'} {weekdayTime(first.at, zone)}
    </Link>
  )
}

function State({ health }: { health: Health | undefined }) {
  if (!health) return <>–</>
  return (
    <span className={`nowrap ${TONES[health.status]}`}>
      {health.status === 'OK' ? 'in order' : words(health.status).toLowerCase()}
    </span>
  )
}
