import { useEffect, useMemo } from 'react'
import { useVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { HourLines, PaneTitle, TimeAxis, ValueAxis } from '../../shared/charts/panes'
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { useMinute } from '../../shared/clock'
import { decimal, euro, plural, signed } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf, QUARTER_MS, spanOf } from '../../shared/time/marketDay'
import { dayInWords, quarter } from '../../shared/time/words'
import { Button, IconButton } from '../../shared/ui/Button'
import { Card, type Figure, Figures } from '../../shared/ui/Card'
import { hand } from '../../shared/ui/hand'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { isTyping } from '../../shared/ui/typing'
import { useZone } from '../../shared/zone'
import { go, Link, useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import {
  type BatteryPosition,
  byMarket,
  csvOf,
  isPast,
  isPriced,
  marketInWords,
  type Quarter,
  quartersOfAll,
  type Sums,
  sumOf,
  usePositions,
} from './data'
import './open-position.css'

/** What did I trade, what did I plan and deliver, what of it is open, and what does that cost? */
export default function OpenPosition({ values }: ScreenProps) {
  const now = useMinute()
  const assets = useVirtualAssets()
  const day = dayFrom(values.day) ?? dayOf(now)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.key === '[') go(`/open-position/${addDays(day, -1)}${location.search}`)
      if (event.key === ']') go(`/open-position/${addDays(day, 1)}${location.search}`)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [day])
  return (
    <Loaded query={assets} skeleton={<SkeletonCard height={700} />}>
      {(all) => <Shown all={all} day={day} />}
    </Loaded>
  )
}

function Shown({ all, day }: { all: VirtualAsset[]; day: Day }) {
  const span = useMemo(() => spanOf(day), [day])
  const assets = useMemo(
    () => all.filter((one) => Date.parse(one.start) < span.end && Date.parse(one.end) > span.start),
    [all, span],
  )
  const positions = usePositions(assets, day)
  const [of, setOf] = useParameter('of')
  const zones = [...new Set(assets.map((one) => one.deliveryZone))].sort()
  const walk = (days: number) => go(`/open-position/${addDays(day, days)}${location.search}`)
  return (
    <Page
      title="Open position"
      facts={[plural(assets.length, 'virtual battery', 'virtual batteries'), plural(zones.length, 'zone')]}
      aside={
        <>
          <select
            className="role-select"
            aria-label="Position of"
            value={of ?? ''}
            onChange={(event) => setOf(event.target.value || null)}
          >
            <option value="">All batteries</option>
            <optgroup label="zones">
              {zones.map((zone) => (
                <option key={zone}>{zone}</option>
              ))}
            </optgroup>
            <optgroup label="batteries">
              {assets.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </optgroup>
          </select>
          <IconButton name="left" label="The day before" className="icon-button bordered" onClick={() => walk(-1)} />
          <strong className="day-name">{dayInWords(day)}</strong>
          <IconButton name="right" label="The day after" className="icon-button bordered" onClick={() => walk(1)} />
        </>
      }
    >
      {assets.length === 0 ? (
        <Card>
          <Empty title="No battery delivers on this day">Choose another day with [ and ].</Empty>
        </Card>
      ) : (
        <Loaded query={positions} skeleton={<SkeletonCard height={640} />}>
          {({ positions: found, unread }) => (
            <>
              {unread.length > 0 && (
                <ProblemNote error={new Error(`Could not be read just now: ${unread.join(', ')}.`)} />
              )}
              <Position
                found={of ? found.filter(({ asset }) => asset.id === of || asset.deliveryZone === of) : found}
                day={day}
              />
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}

function Position({ found, day }: { found: BatteryPosition[]; day: Day }) {
  const now = useMinute()
  const quarters = useMemo(() => quartersOfAll(found, day), [found, day])
  const markets = useMemo(() => byMarket(found), [found])
  const known = quarters.filter((one) => one.price !== null)
  const sums = sumOf(found.flatMap(({ points }) => points))
  const isOver = quarters.every((one) => isPast(one, now))
  const figures: Figure[] = [
    { label: 'Bought', value: decimal(sums.bought, 1), unit: 'MWh' },
    { label: 'Sold', value: decimal(sums.sold, 1), unit: 'MWh' },
    { label: 'Scheduled', value: signed(sums.scheduled, 1), unit: 'MWh' },
    { label: isOver ? 'Delivered' : 'Delivered or planned', value: signed(sums.delivered, 1), unit: 'MWh' },
    {
      label: 'Open',
      value: signed(sums.open, 1),
      unit: 'MWh',
      below: `${decimal(
        quarters.reduce((sum, one) => sum + Math.abs(one.open), 0),
        1,
      )} MWh over all quarter-hours, each netted over the batteries`,
    },
    {
      label: 'Imbalance cost',
      value:
        known.length === 0
          ? '–'
          : euro(
              known.reduce((sum, one) => sum + (one.cost ?? 0), 0),
              2,
            ),
      below: isPriced(quarters) ? 'all prices are published' : `${known.length} of ${quarters.length} prices published`,
    },
  ]
  return (
    <>
      <Figures figures={figures} />
      <OpenChart quarters={quarters} day={day} />
      <div className="open-position">
        <Card title="By battery" note="MWh; open: sold, not delivered">
          <SumsTable rows={found.map(({ asset, points }) => ({ asset, sums: sumOf(points) }))} total={sums} />
        </Card>
        <Card title="By market" note="MWh">
          <Table
            columns={[
              'Market',
              { label: 'Bought', isNumber: true },
              { label: 'Sold', isNumber: true },
              { label: 'Earned, EUR', isNumber: true },
            ]}
          >
            <tbody>
              {markets.map((one) => (
                <tr key={one.stage}>
                  <td>{marketInWords(one.stage)}</td>
                  <Amount value={one.bought} />
                  <Amount value={one.sold} />
                  <Amount value={one.earned} digits={2} />
                </tr>
              ))}
            </tbody>
          </Table>
        </Card>
      </div>
      <QuarterTable quarters={quarters} day={day} />
    </>
  )
}

function Amount({ value, digits = 1 }: { value: number; digits?: number }) {
  const text = decimal(value, digits)
  return <td className={/[1-9]/.test(text) ? 'number' : 'number note'}>{text}</td>
}

const COLUMNS = [
  { label: 'Bought', isNumber: true, isWide: true },
  { label: 'Sold', isNumber: true, isWide: true },
  { label: 'Scheduled', isNumber: true },
  { label: 'Delivered', isNumber: true },
  { label: 'Open', isNumber: true },
  { label: 'Cost, EUR', isNumber: true },
]

function Cells({ sums }: { sums: Sums }) {
  return (
    <>
      <td className="number wide-cell">{decimal(sums.bought, 2)}</td>
      <td className="number wide-cell">{decimal(sums.sold, 2)}</td>
      <td className="number">{signed(sums.scheduled, 2)}</td>
      <td className="number">{signed(sums.delivered, 2)}</td>
      <td className="number">
        <strong>{signed(sums.open, 2)}</strong>
      </td>
      <td className="number">{sums.cost === null ? '–' : decimal(sums.cost, 2)}</td>
    </>
  )
}

function SumsTable({ rows, total }: { rows: { asset: VirtualAsset; sums: Sums }[]; total: Sums }) {
  const sorted = [...rows].sort((a, b) => Math.abs(b.sums.open) - Math.abs(a.sums.open))
  return (
    <Table columns={['Battery', { label: 'Zone', isWide: true }, ...COLUMNS]}>
      <tbody>
        {sorted.map(({ asset, sums }) => (
          <tr key={asset.id}>
            <td>
              <Link to={`/virtual-batteries/${asset.id}`}>
                <strong>{asset.name}</strong>
              </Link>
            </td>
            <td className="wide-cell">{asset.deliveryZone}</td>
            <Cells sums={sums} />
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr className="matrix-total">
          <th scope="row">Together</th>
          <td className="wide-cell" />
          <Cells sums={total} />
        </tr>
      </tfoot>
    </Table>
  )
}

function QuarterTable({ quarters, day }: { quarters: Quarter[]; day: Day }) {
  const zone = useZone()
  const shown = quarters.filter((one) => one.open !== 0 || one.scheduled !== 0 || one.bought !== 0 || one.sold !== 0)
  return (
    <Card
      title="By quarter-hour"
      note={`MWh; ${plural(quarters.length - shown.length, 'quarter-hour')} with nothing left out`}
      actions={
        <Button
          isCompact
          icon="download"
          onClick={() => hand(new Blob([csvOf(quarters)], { type: 'text/csv' }), `position-${day}.csv`)}
        >
          CSV
        </Button>
      }
    >
      {shown.length === 0 ? (
        <Empty title="Nothing was traded or planned">Plans and trades of this day appear here.</Empty>
      ) : (
        <Table columns={['Quarter-hour', ...COLUMNS, { label: 'EUR/MWh', isNumber: true, isWide: true }]}>
          <tbody>
            {shown.map((one) => (
              <tr key={one.time}>
                <th scope="row" className="nowrap">
                  {quarter(one.time, zone)}
                </th>
                <Cells sums={one} />
                <td className="number wide-cell">{one.price === null ? '–' : decimal(one.price, 2)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  )
}

const EDGES = { left: 46, right: 12 }
const PANE = { top: 30, height: 120 }

/** What is open in each quarter-hour, sold and not delivered up. */
function OpenChart({ quarters, day }: { quarters: Quarter[]; day: Day }) {
  const zone = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const span = useMemo(() => spanOf(day), [day])
  const x = useMemo(
    () => linear(span.start, span.end, EDGES.left, Math.max(EDGES.left + 1, width - EDGES.right)),
    [span, width],
  )
  const reach = Math.max(0.1, ...quarters.map((one) => Math.abs(one.open)))
  const y = linear(-reach, reach, PANE.top + PANE.height, PANE.top)
  const bottom = PANE.top + PANE.height
  const worst = quarters.reduce((a, b) => (Math.abs(b.open) > Math.abs(a.open) ? b : a), quarters[0] as Quarter)
  const most = worst && Math.abs(worst.open) >= 0.005
  return (
    <Card label="Open by quarter-hour" className="open-chart">
      <div ref={ref}>
        <svg width={width} height={bottom + 26} role="img" aria-label="Open volume by quarter-hour">
          <PaneTitle
            edges={EDGES}
            width={width}
            top={PANE.top}
            title="Open"
            note="MWh · sold and not delivered up"
            aside={most ? `most in ${quarter(worst.time, zone)}` : 'nothing is open'}
            value={most ? `${signed(worst.open, 2)} MWh` : ''}
          />
          <HourLines span={span} zone={zone} x={x} top={PANE.top} bottom={bottom} />
          <ValueAxis
            edges={EDGES}
            width={width}
            values={[-reach, 0, reach]}
            scale={y}
            tell={(value) => signed(value, 1)}
          />
          {quarters.map((one) =>
            Math.abs(one.open) < 0.005 ? null : (
              <rect
                key={one.time}
                x={x(one.time) + 0.5}
                width={Math.max(1, x(one.time + QUARTER_MS) - x(one.time) - 1)}
                y={Math.min(y(0), y(one.open))}
                height={Math.abs(y(one.open) - y(0))}
                className={one.open > 0 ? 'bar-out' : 'bar-in'}
              />
            ),
          )}
          <TimeAxis span={span} zone={zone} x={x} y={bottom + 18} now={0} />
        </svg>
      </div>
    </Card>
  )
}
