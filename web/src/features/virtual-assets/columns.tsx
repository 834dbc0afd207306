/** The columns of the list of virtual batteries. */
import type { VirtualAsset } from '../../shared/api/resources'
import { isBalanced } from '../../shared/balance'
import { decimal, efficiencies, signed, size } from '../../shared/format'
import type { Zone } from '../../shared/time/marketDay'
import { dayRange, weekday, weekdayTime } from '../../shared/time/words'
import { Badge } from '../../shared/ui/Card'
import type { ViewColumn } from '../../shared/ui/listView'
import { Link } from '../../shell/router'
import type { BatteryFigures } from './figures'

interface Context {
  now: number
  zone: Zone
  /** null: all are the reader's. */
  holderOf: ((id: string) => string) | null
  figures: ReadonlyMap<string, BatteryFigures>
}

/** What takes several reads a battery is left out of a list of all organisations until it is asked for. */
export function columnsOf({ now, zone, holderOf, figures }: Context): ViewColumn<VirtualAsset>[] {
  const of = (one: VirtualAsset) => figures.get(one.id)
  const isExtra = holderOf !== null
  const known = (value: number | null | undefined, tell: (value: number) => string) =>
    value == null ? '–' : tell(value)
  const columns: ViewColumn<VirtualAsset>[] = [
    {
      id: 'name',
      label: 'Battery',
      isFixed: true,
      sortBy: (one) => one.name,
      cell: (one) => <Name asset={one} holder={holderOf?.(one.organisationID) ?? null} />,
    },
    {
      id: 'size',
      label: 'Size',
      isWide: true,
      sortBy: (one) => one.ratedDischargePower,
      cell: (one) => size(one.ratedDischargePower, one.energyCapacity),
    },
    { id: 'zone', label: 'Zone', isWide: true, sortBy: (one) => one.deliveryZone, cell: (one) => one.deliveryZone },
    {
      id: 'efficiency',
      label: 'Efficiency',
      isWide: true,
      isExtra: !isExtra,
      sortBy: (one) => one.chargeEfficiency * one.dischargeEfficiency,
      cell: (one) => efficiencies(one.chargeEfficiency, one.dischargeEfficiency),
    },
    {
      id: 'charge',
      label: 'State of charge, %',
      isNumber: true,
      isExtra,
      sortBy: (one) => of(one)?.charge ?? null,
      cell: (one) => known(of(one)?.charge, (value) => decimal(value, 1)),
    },
    {
      id: 'earned',
      label: 'Earned today, EUR',
      isNumber: true,
      isWide: true,
      isExtra,
      sortBy: (one) => of(one)?.earned ?? null,
      cell: (one) => known(of(one)?.earned, (value) => decimal(value, 2)),
    },
    {
      id: 'open',
      label: 'Open today, MWh',
      isNumber: true,
      isWide: true,
      isExtra,
      sortBy: (one) => (of(one)?.open == null ? null : Math.abs(of(one)?.open ?? 0)),
      cell: (one) => known(of(one)?.open, (value) => signed(value, 2)),
    },
    {
      id: 'problem',
      label: 'Next problem',
      isWide: true,
      isExtra,
      sortBy: (one) => of(one)?.problem?.at ?? null,
      cell: (one) => <Problem figures={of(one)} zone={zone} />,
    },
    {
      id: 'delivers',
      label: 'Delivers',
      sortBy: (one) => Date.parse(one.start),
      cell: (one) => <Life asset={one} now={now} zone={zone} />,
    },
    {
      id: 'end',
      label: 'End of delivery',
      sortBy: (one) => Math.max(one.imbalanceCharge, one.imbalanceDischarge),
      cell: (one) => <End asset={one} />,
    },
  ]
  if (holderOf)
    columns.splice(1, 0, {
      id: 'holder',
      label: 'Held by',
      isWide: true,
      sortBy: (one) => holderOf(one.organisationID),
      cell: (one) => <Link to={`/organisations/${one.organisationID}`}>{holderOf(one.organisationID)}</Link>,
    })
  return columns
}

function Name({ asset, holder }: { asset: VirtualAsset; holder: string | null }) {
  return (
    <>
      <Link to={`/virtual-batteries/${asset.id}`}>
        <strong>{asset.name}</strong>
      </Link>
      <span className="note second-line narrow-line">
        {size(asset.ratedDischargePower, asset.energyCapacity)}, {asset.deliveryZone}
        {holder !== null && `, ${holder}`}
      </span>
    </>
  )
}

function Problem({ figures, zone }: { figures: BatteryFigures | undefined; zone: Zone }) {
  if (!figures) return <>–</>
  if (!figures.problem) return <span className="note">none in three days</span>
  return (
    <span className="tone-warning nowrap">
      {decimal(figures.problem.mw, 1)} MW cut {weekdayTime(figures.problem.at, zone)}
    </span>
  )
}

function lifeInWords(start: number, end: number, zone: Zone): string {
  const [first, last] = [weekday(start, zone), weekday(end - 1, zone)]
  return first === last ? first : `${first} – ${last}`
}

function Life({ asset, now, zone }: { asset: VirtualAsset; now: number; zone: Zone }) {
  const [start, end] = [Date.parse(asset.start), Date.parse(asset.end)]
  return (
    <>
      <span className="nowrap wide-only">{lifeInWords(start, end, zone)}</span>
      <span className="nowrap narrow-line">{dayRange(start, end, zone)}</span>{' '}
      {end <= now ? (
        <Badge>over</Badge>
      ) : start <= now ? (
        <Badge tone="good">delivers</Badge>
      ) : (
        <Badge tone="warning">to come</Badge>
      )}
    </>
  )
}

function End({ asset }: { asset: VirtualAsset }) {
  const off = Math.max(asset.imbalanceCharge, asset.imbalanceDischarge)
  if (isBalanced(asset, off)) return <span className="tone-good">balanced</span>
  return (
    <span className="tone-warning">
      {decimal(off / 1000, 2)} MWh {asset.imbalanceCharge > 0 ? 'short' : 'too much'}
    </span>
  )
}
