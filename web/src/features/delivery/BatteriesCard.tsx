import type { PhysicalAsset } from '../../shared/api/resources'
import { decimal, megawatts, signed } from '../../shared/format'
import { QUARTER_MS, quarterAt } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { useLatest } from '../overview/data'
import type { DispatchPoint } from './data'

interface Props {
  batteries: PhysicalAsset[]
  dispatches: Map<string, DispatchPoint[]>
  /** The moment whose quarter-hour is shown. */
  at: number
  /** Whether that is now: of no other moment is it known here what was measured. */
  isNow: boolean
}

interface Line {
  asset: PhysicalAsset
  charge: number | null
  dispatch: number | null
  measured: number | null
}

/** Every battery: what it must do in this quarter-hour, and what it does. */
export function BatteriesCard({ batteries, dispatches, at, isNow }: Props) {
  const zone = useZone()
  const latest = useLatest(batteries)
  const quarter = quarterAt(at)
  const lines: Line[] = batteries.map((asset) => {
    const told = isNow ? latest.get(asset.id) : undefined
    const due = dispatches.get(asset.id)?.find((point) => Date.parse(point.time) === quarter)
    return {
      asset,
      charge: told?.state_of_charge?.value ?? due?.stateOfChargePercentage ?? null,
      dispatch: due?.power ?? null,
      measured: told?.active_power?.value ?? null,
    }
  })
  const zones = [...new Set(batteries.map((one) => one.deliveryZone))]
  return (
    <Card
      title="Batteries"
      note={`${time(quarter, zone)}–${time(quarter + QUARTER_MS, zone)}, MW`}
      actions={
        <Button isCompact icon="download" onClick={() => download(lines)}>
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
          { label: 'Deviation', isNumber: true },
        ]}
      >
        {zones.map((name) => (
          <tbody key={name}>
            <Sum name={name} lines={lines.filter((line) => line.asset.deliveryZone === name)} />
            {lines
              .filter((line) => line.asset.deliveryZone === name)
              .map((line) => (
                <Row key={line.asset.id} line={line} />
              ))}
          </tbody>
        ))}
        <tfoot>
          <Sum name="All zones" lines={lines} />
        </tfoot>
      </Table>
    </Card>
  )
}

const shown = (kw: number | null) => (kw === null ? '–' : signed(kw / 1000, 2))

function Row({ line }: { line: Line }) {
  const { asset, charge, dispatch, measured } = line
  const deviation = dispatch === null || measured === null ? null : measured - dispatch
  const isLarge = deviation !== null && Math.abs(deviation) > 0.02 * asset.parameters.ratedDischargePower
  return (
    <tr>
      <td>
        <Link to={`/physical-assets/${asset.id}`} className="battery-link">
          {asset.name}
        </Link>{' '}
        <span className="note">{megawatts(asset.parameters.ratedDischargePower)} MW</span>
      </td>
      <td className="number">{charge === null ? '–' : decimal(charge, 1)}</td>
      <td
        className={`number ${dispatch && dispatch > 0 ? 'tone-discharge' : dispatch && dispatch < 0 ? 'tone-charge' : ''}`}
      >
        {shown(dispatch)}
      </td>
      <td className="number">{shown(measured)}</td>
      <td className={`number ${isLarge ? 'tone-warning' : ''}`}>
        {isLarge && <span className="visually-hidden">large: </span>}
        <Deviation
          share={deviation === null ? 0 : deviation / asset.parameters.ratedDischargePower}
          isLarge={isLarge}
        />
        {shown(deviation)}
      </td>
    </tr>
  )
}

/** A hair's breadth around nothing: half the strip is five percent of the rated power. */
function Deviation({ share, isLarge }: { share: number; isLarge: boolean }) {
  const part = Math.min(50, (Math.abs(share) / 0.05) * 50)
  return (
    <span className={`deviation ${isLarge ? 'is-large' : ''}`} aria-hidden="true">
      <span style={{ left: `${share < 0 ? 50 - part : 50}%`, width: `${part}%` }} />
    </span>
  )
}

function Sum({ name, lines }: { name: string; lines: Line[] }) {
  const total = (pick: (line: Line) => number | null) => {
    const values = lines.map(pick).filter((value): value is number => value !== null)
    return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0)
  }
  const capacity = lines.reduce(
    (sum, line) => sum + (line.charge === null ? 0 : line.asset.parameters.energyCapacity),
    0,
  )
  const stored = lines.reduce((sum, line) => sum + ((line.charge ?? 0) / 100) * line.asset.parameters.energyCapacity, 0)
  const deviation = total((line) =>
    line.dispatch === null || line.measured === null ? null : line.measured - line.dispatch,
  )
  return (
    <tr className="zone-sum">
      <th scope="row">{name}</th>
      <td className="number">{capacity > 0 ? decimal((stored / capacity) * 100, 1) : '–'}</td>
      <td className="number">{shown(total((line) => line.dispatch))}</td>
      <td className="number">{shown(total((line) => line.measured))}</td>
      <td className="number">{shown(deviation)}</td>
    </tr>
  )
}

function download(lines: Line[]): void {
  const rows = lines.map((line) =>
    [line.asset.name, line.asset.deliveryZone, line.charge, line.dispatch, line.measured].join(','),
  )
  const text = ['name,deliveryZone,stateOfChargePercentage,dispatchKw,measuredKw', ...rows].join('\n')
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = 'batteries.csv'
  link.click()
  URL.revokeObjectURL(link.href)
}
