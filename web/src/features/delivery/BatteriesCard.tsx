import type { PhysicalAsset } from '../../shared/api/resources'
import { decimal, megawatts, signed } from '../../shared/format'
import { QUARTER_MS, quarterAt, type Span } from '../../shared/time/marketDay'
import { age, time } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Skeleton } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { countAcknowledged, type Delivered, lastAcknowledged } from './data'

interface Props {
  batteries: PhysicalAsset[]
  delivered: Map<string, Delivered>
  /** Until it is known, figures are skeletons: a dash says that there is none. */
  isLoading: boolean
  span: Span
  now: number
}

interface Line {
  asset: PhysicalAsset
  charge: number | null
  /** kW of a quarter-hour, or kWh of a day. */
  dispatch: number | null
  measured: number | null
  reserve: number | null
  deviation: number | null
  parts: string
  /** What its site said of the dispatch, in words. */
  site: string
}

/** Every battery: the last quarter-hour that is over, measured against what was dispatched for it; of a past day, all. */
export function BatteriesCard({ batteries, delivered, isLoading, span, now }: Props) {
  const zone = useZone()
  const isToday = span.start <= now && now < span.end
  const isPast = span.end <= now
  const quarter = isToday ? Math.max(span.start, quarterAt(now) - QUARTER_MS) : span.start
  const lines = batteries.map((asset) => {
    const found = delivered.get(asset.id)
    if (isPast) return lineOfDay(asset, found)
    const last = lastAcknowledged(found?.dispatch ?? [], now)
    return { ...lineOfQuarter(asset, found, quarter), site: last ? `${last.words} ${time(last.time, zone)}` : '' }
  })
  const zones = [...new Set(batteries.map((one) => one.deliveryZone))].sort()
  const ended = quarter + QUARTER_MS
  const note = isPast
    ? 'the whole day, MWh'
    : `${time(quarter, zone)}–${time(ended, zone)}, MW${isToday && ended <= now ? `, ended ${age(now - ended)} ago` : ''}`
  return (
    <Card
      title="Batteries"
      note={note}
      actions={
        <Button isCompact icon="download" disabled={isLoading} onClick={() => download(lines, isPast)}>
          CSV
        </Button>
      }
    >
      <Table
        className="delivery-table"
        columns={[
          'Battery',
          { label: 'SoC, %', isNumber: true },
          { label: 'Dispatch', isNumber: true },
          { label: 'Measured', isNumber: true },
          { label: 'Reserve', isNumber: true },
          { label: 'Deviation', isNumber: true },
        ]}
      >
        {zones.map((name) => (
          <tbody key={name}>
            <Sum name={name} lines={lines.filter((line) => line.asset.deliveryZone === name)} isLoading={isLoading} />
            {lines
              .filter((line) => line.asset.deliveryZone === name)
              .map((line) => (
                <Row key={line.asset.id} line={line} hours={isPast ? 24 : 1} isLoading={isLoading} />
              ))}
          </tbody>
        ))}
        <tfoot>
          <Sum name="All zones" lines={lines} isLoading={isLoading} />
        </tfoot>
      </Table>
      <p className="card-body note">
        Measured is without the response to FCR and aFRR, which stands by itself; deviation is measured less dispatched.
      </p>
    </Card>
  )
}

const PARTS: Record<string, string> = { OWN: 'own use', DRIFT: 'drift' }

function lineOfQuarter(asset: PhysicalAsset, found: Delivered | undefined, quarter: number): Omit<Line, 'site'> {
  const due = found?.dispatch.find((point) => Date.parse(point.time) === quarter)
  const done = found?.performance?.performance.find((point) => Date.parse(point.time) === quarter)
  const reserve = done?.reserveResponse ?? null
  const measured = done?.measuredPower === undefined ? null : done.measuredPower - (reserve ?? 0)
  return {
    asset,
    charge: done?.measuredStateOfChargePercentage ?? due?.stateOfChargePercentage ?? null,
    dispatch: due?.power ?? done?.dispatchedPower ?? null,
    measured,
    reserve,
    deviation: done?.powerDeviation ?? null,
    parts: (due?.parts ?? [])
      .filter((part) => part.kind in PARTS && Math.abs(part.power) >= 1)
      .map((part) => `${PARTS[part.kind]} ${signed(part.power / 1000, 1)}`)
      .join(', '),
  }
}

function lineOfDay(asset: PhysicalAsset, found: Delivered | undefined): Line {
  const points = found?.performance?.performance ?? []
  const sum = (pick: (point: (typeof points)[number]) => number | undefined): number | null => {
    const known = points.map(pick).filter((value): value is number => value !== undefined)
    return known.length === 0 ? null : known.reduce((all, value) => all + value / 4, 0)
  }
  const own = { OWN: 0, DRIFT: 0 }
  for (const point of found?.dispatch ?? [])
    for (const part of point.parts) {
      const kind: string = part.kind
      if (kind === 'OWN' || kind === 'DRIFT') own[kind] += part.power / 4
    }
  const reserve = sum((point) => point.reserveResponse)
  const measured = sum((point) => point.measuredPower)
  return {
    asset,
    charge: points.at(-1)?.measuredStateOfChargePercentage ?? null,
    dispatch: sum((point) => point.dispatchedPower),
    measured: measured === null ? null : measured - (reserve ?? 0),
    reserve,
    deviation: sum((point) => point.powerDeviation),
    parts: (['OWN', 'DRIFT'] as const)
      .filter((kind) => Math.abs(own[kind]) >= 50)
      .map((kind) => `${PARTS[kind]} ${signed(own[kind] / 1000, 1)}`)
      .join(', '),
    site: countAcknowledged(found?.dispatch ?? []),
  }
}

const shown = (kw: number | null) => (kw === null ? '–' : signed(kw / 1000, 1))
const toneOf = (text: string) =>
  text.startsWith('+') ? 'tone-discharge' : text.startsWith('−') ? 'tone-charge' : 'note'

const FIGURES = ['charge', 'dispatch', 'measured', 'reserve', 'deviation']

function Awaited() {
  return FIGURES.map((figure) => (
    <td key={figure} className="number">
      <Skeleton width={34} height={12} style={{ marginLeft: 'auto' }} />
    </td>
  ))
}

function Row({ line, hours, isLoading }: { line: Line; hours: number; isLoading: boolean }) {
  const { asset, charge, dispatch, measured, reserve, deviation, parts, site } = line
  const rated = asset.parameters.ratedDischargePower * hours
  const isLarge = deviation !== null && Math.abs(deviation) > 0.02 * rated
  return (
    <tr>
      <td>
        <Link to={`/physical-assets/${asset.id}`} className="battery-link">
          {asset.name}
        </Link>
        <span className="note second-line">
          {megawatts(asset.parameters.ratedDischargePower)} MW{parts && ` · ${parts}`}
          {site && ` · site: ${site}`}
        </span>
      </td>
      {isLoading ? (
        <Awaited />
      ) : (
        <>
          <td className="number">{charge === null ? '–' : decimal(charge, 1)}</td>
          <td className={`number ${toneOf(shown(dispatch))}`}>{shown(dispatch)}</td>
          <td className="number">{shown(measured)}</td>
          <td className="number note">{shown(reserve)}</td>
          <td className={`number ${isLarge ? 'tone-warning' : ''}`}>
            {isLarge && <span className="visually-hidden">large: </span>}
            {shown(deviation)}
          </td>
        </>
      )}
    </tr>
  )
}

function Sum({ name, lines, isLoading }: { name: string; lines: Line[]; isLoading: boolean }) {
  const total = (pick: (line: Line) => number | null) => {
    const values = lines.map(pick).filter((value): value is number => value !== null)
    return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0)
  }
  const known = lines.filter((line) => line.charge !== null)
  const capacity = known.reduce((sum, line) => sum + line.asset.parameters.energyCapacity, 0)
  const stored = known.reduce((sum, line) => sum + ((line.charge ?? 0) / 100) * line.asset.parameters.energyCapacity, 0)
  return (
    <tr className="zone-sum">
      <th scope="row">{name}</th>
      {isLoading ? (
        <Awaited />
      ) : (
        <>
          <td className="number">{capacity > 0 ? decimal((stored / capacity) * 100, 1) : '–'}</td>
          <td className="number">{shown(total((line) => line.dispatch))}</td>
          <td className="number">{shown(total((line) => line.measured))}</td>
          <td className="number">{shown(total((line) => line.reserve))}</td>
          <td className="number">{shown(total((line) => line.deviation))}</td>
        </>
      )}
    </tr>
  )
}

function download(lines: Line[], isDay: boolean): void {
  const unit = isDay ? 'Kwh' : 'Kw'
  const rows = lines.map((line) =>
    [
      line.asset.name,
      line.asset.deliveryZone,
      line.charge,
      line.dispatch,
      line.measured,
      line.reserve,
      line.deviation,
    ].join(','),
  )
  const head = `name,deliveryZone,stateOfChargePercentage,dispatch${unit},measured${unit},reserveResponse${unit},deviation${unit}`
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([[head, ...rows].join('\n')], { type: 'text/csv' }))
  link.download = 'batteries.csv'
  link.click()
  URL.revokeObjectURL(link.href)
}
