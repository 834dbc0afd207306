import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useVirtualAssets } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { linear, type Scale } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, megawatts, words } from '../../shared/format'
import { addDays, dayOf, type Span, spanOf } from '../../shared/time/marketDay'
import { weekday, weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card, Legend, type LegendItem } from '../../shared/ui/Card'
import { FormProblem, Loaded, Skeleton } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import {
  type Commitment,
  isPlanned,
  runsOf,
  type Unavailability,
  useAvailability,
  useCommitments,
  useUnavailability,
} from './data'
import type { Draft } from './UnavailabilityForm'

const LEFT = 76
const RIGHT = 16
const ROWS = { unplanned: 12, planned: 38 }
const BAR = 16
const BAND = { top: 84, height: 84 }
const HEIGHT = 196
const BEFORE = 3
const DAYS = 14

/** Two weeks: when it is not all there, and who holds the rest. */
export function FortnightCard({ asset, draft, now }: { asset: PhysicalAsset; draft: Draft | null; now: number }) {
  const first = addDays(dayOf(now), -BEFORE)
  const span: Span = { start: spanOf(first).start, end: spanOf(addDays(first, DAYS)).start }
  const unavailability = useUnavailability(asset.id)
  const availability = useAvailability(asset.id, span)
  const commitments = useCommitments(asset.id, span)
  const [ref, { width }] = useSize<HTMLDivElement>()
  const legend: LegendItem[] = [
    { label: 'virtual batteries', color: 'var(--holder-1)' },
    { label: 'offered in an auction', color: 'var(--auction)' },
    { label: 'FCR, aFRR', color: 'var(--fcr)' },
    { label: 'own use', color: 'var(--tolling)' },
    { label: 'free', color: 'var(--ink-3)', kind: 'outline' },
  ]
  return (
    <Card
      title="14 days"
      note={commitments.data ? 'availability, and who holds it' : 'availability'}
      actions={commitments.data ? <Legend items={legend} /> : undefined}
    >
      <div ref={ref} className="fortnight">
        <Loaded query={availability} skeleton={<Skeleton height={HEIGHT} />}>
          {({ availability: points }) => (
            <Drawing
              asset={asset}
              span={span}
              now={now}
              width={width}
              draft={draft}
              unavailability={unavailability.data ?? []}
              available={runsOf(
                points.map((point) => ({ time: Date.parse(point.time), value: point.availableDischargePower })),
                span.end,
                (a, b) => a === b,
              )}
              commitments={commitments.data?.commitments ?? []}
            />
          )}
        </Loaded>
      </div>
      <Announced asset={asset} unavailability={unavailability.data ?? []} now={now} />
    </Card>
  )
}

interface DrawingProps {
  asset: PhysicalAsset
  span: Span
  now: number
  width: number
  draft: Draft | null
  unavailability: Unavailability[]
  available: { start: number; end: number; value: number }[]
  commitments: Commitment[]
}

function Drawing({ asset, span, now, width, draft, unavailability, available, commitments }: DrawingProps) {
  const zone = useZone()
  const x = linear(span.start, span.end, LEFT, width - RIGHT)
  const rated = asset.parameters.ratedDischargePower
  const y = linear(0, rated, BAND.top + BAND.height, BAND.top)
  const days = Array.from({ length: DAYS }, (_, index) => addDays(dayOf(span.start), index))
  const shown = unavailability.filter((one) => Date.parse(one.end) > span.start && Date.parse(one.start) < span.end)
  const free = commitments.find((one) => Date.parse(one.time) + 900_000 > now)?.discharge.free
  if (width === 0) return null
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={describe(asset, shown.length)}>
      {days.map((day) => {
        const at = spanOf(day)
        const isWeekend = [0, 6].includes(new Date(`${day}T12:00:00Z`).getUTCDay())
        const isToday = day === dayOf(now)
        return (
          <g key={day}>
            {isWeekend && <rect x={x(at.start)} width={x(at.end) - x(at.start)} y={4} height={58} className="past" />}
            <line x1={x(at.start)} x2={x(at.start)} y1={4} y2={BAND.top + BAND.height} className="grid-line" />
            <text
              x={(x(at.start) + x(at.end)) / 2}
              y={HEIGHT - 6}
              textAnchor="middle"
              className={`axis ${isToday ? 'axis-strong' : ''}`}
            >
              {width > 700 ? weekday(at.start + 12 * 3_600_000, zone).replace(/ \w+$/, '') : day.slice(8)}
            </text>
          </g>
        )
      })}
      {(['unplanned', 'planned'] as const).map((row) => (
        <text key={row} x={LEFT - 10} y={ROWS[row] + 12} textAnchor="end" className="axis">
          {words(row)}
        </text>
      ))}
      {shown.map((one) => (
        <Bar key={one.id} item={one} x={x} span={span} width={width} draft={draft} />
      ))}
      {draft && <DraftBar draft={draft} x={x} />}
      <text x={LEFT} y={BAND.top - 8} className="axis">
        <tspan className="axis-strong">{commitments.length ? 'Held' : 'Available'}</tspan> MW of {megawatts(rated)},
        each direction
      </text>
      {free !== undefined && (
        <text x={width - RIGHT} y={BAND.top - 8} textAnchor="end" className="axis">
          now free <tspan className="axis-strong">{megawatts(free)} MW</tspan>
        </text>
      )}
      {[0, rated / 2, rated].map((value) => (
        <text key={value} x={LEFT - 10} y={y(value) + 4} textAnchor="end" className="axis">
          {megawatts(value)}
        </text>
      ))}
      <line x1={LEFT} x2={width - RIGHT} y1={y(0)} y2={y(0)} className="axis-line" />
      <Held commitments={commitments} span={span} x={x} y={y} />
      <path d={outline(available, x, y)} className="available-line" />
      {draft && draft.powerKw > 0 && (
        <rect
          x={x(draft.start)}
          width={Math.max(2, x(draft.end) - x(draft.start))}
          y={y(rated)}
          height={y(rated - draft.powerKw) - y(rated)}
          className="draft-band"
        />
      )}
      <line x1={x(now)} x2={x(now)} y1={4} y2={BAND.top + BAND.height} className="now-line" />
    </svg>
  )
}

function describe(asset: PhysicalAsset, count: number): string {
  return `Availability of ${asset.name} over fourteen days, with ${count} unavailabilities.`
}

interface BarProps {
  item: Unavailability
  x: Scale
  span: Span
  width: number
  draft: Draft | null
}

function Bar({ item, x, span, width, draft }: BarProps) {
  const row = isPlanned(item.type) ? 'planned' : 'unplanned'
  const start = x(Math.max(span.start, Date.parse(item.start)))
  const end = x(Math.min(span.end, Date.parse(item.end)))
  const power = Math.max(item.volume.powerCapacity.charge, item.volume.powerCapacity.discharge)
  const isLate = end > width - 150
  // The draft says what it is; a label under it would not be read.
  const isCovered =
    draft !== null && isPlanned(draft.type) === isPlanned(item.type) && Math.abs(x(draft.start) - start) < 150
  return (
    <g>
      <rect x={start} width={Math.max(5, end - start)} y={ROWS[row]} height={BAR} rx={3} className={`gantt-${row}`} />
      {!isCovered && (
        <text
          x={isLate ? start - 6 : Math.max(start + 5, end) + 6}
          y={ROWS[row] + 12}
          textAnchor={isLate ? 'end' : 'start'}
          className="axis"
        >
          <tspan className="axis-strong">{words(item.type)}</tspan> {megawatts(power)} MW
        </text>
      )}
    </g>
  )
}

function DraftBar({ draft, x }: { draft: Draft; x: Scale }) {
  const row = isPlanned(draft.type) ? 'planned' : 'unplanned'
  const end = Math.max(x(draft.start) + 6, x(draft.end))
  return (
    <g>
      <rect x={x(draft.start)} width={end - x(draft.start)} y={ROWS[row]} height={BAR} rx={3} className="gantt-draft" />
      <text x={end + 6} y={ROWS[row] + 12} className="axis draft-text">
        <tspan className="axis-strong draft-text">this draft</tspan> {megawatts(draft.powerKw)} MW
      </text>
    </g>
  )
}

interface Layer {
  key: string
  label: string
  colour: string
}

const FIXED: Record<string, Layer> = {
  OWN: { key: 'own', label: 'own', colour: 'var(--tolling)' },
  OWN_SCHEDULE: { key: 'own', label: 'own', colour: 'var(--tolling)' },
  AUCTION: { key: 'auction', label: 'Auction', colour: 'var(--auction)' },
}

/** The stack of who holds export power, the steadiest at the bottom; where holders are not told, by kind. */
function Held({ commitments, span, x, y }: { commitments: Commitment[]; span: Span; x: Scale; y: Scale }) {
  const virtual = useVirtualAssets()
  if (commitments.length === 0) return null
  const names = new Map((virtual.data ?? []).map((one) => [one.id, one.name]))
  const layers = layersOf(commitments, names)
  const floors = new Array<number>(commitments.length).fill(0)
  return layers.map((layer) => {
    const runs = runsOf(
      commitments.map((one, index) => {
        const height = amountOf(one, layer.key)
        const floor = floors[index] ?? 0
        floors[index] = floor + height
        return { time: Date.parse(one.time), value: { floor, height } }
      }),
      span.end,
      (a, b) => a.floor === b.floor && a.height === b.height,
    ).filter((run) => run.value.height > 0)
    const widest = [...runs].sort((a, b) => b.end - b.start - (a.end - a.start))[0]
    return (
      <g key={layer.key}>
        {runs.map((run) => (
          <rect
            key={run.start}
            x={x(run.start)}
            width={x(run.end) - x(run.start)}
            y={y(run.value.floor + run.value.height)}
            height={Math.max(0.5, y(run.value.floor) - y(run.value.floor + run.value.height) - 0.5)}
            style={{ fill: layer.colour }}
          />
        ))}
        {widest &&
          x(widest.end) - x(widest.start) > 70 &&
          y(widest.value.floor) - y(widest.value.floor + widest.value.height) > 11 && (
            <text
              x={(x(widest.start) + x(widest.end)) / 2}
              y={y(widest.value.floor + widest.value.height / 2) + 4}
              textAnchor="middle"
              className="held-text"
            >
              {layer.label} {megawatts(widest.value.height)}
            </text>
          )}
      </g>
    )
  })
}

function layersOf(commitments: Commitment[], names: Map<string, string>): Layer[] {
  if (!commitments.some((one) => one.holders))
    return [
      { key: 'promised', label: 'Promised', colour: 'var(--holder-1)' },
      { key: 'offered', label: 'Auction', colour: 'var(--auction)' },
      { key: 'ancillary', label: 'FCR, aFRR', colour: 'var(--fcr)' },
      { key: 'own', label: 'own', colour: 'var(--tolling)' },
    ]
  const found = new Map<string, Layer>()
  for (const one of commitments)
    for (const holder of one.holders ?? []) {
      if (holder.power <= 0) continue
      const key = holderKey(holder)
      if (found.has(key)) continue
      if (holder.virtualAssetID) {
        const index = [...found.values()].filter((layer) => layer.key.startsWith('virtual')).length
        const colour = ['var(--holder-1)', 'var(--holder-2)', 'var(--holder-3)'][index % 3] ?? 'var(--holder-1)'
        found.set(key, { key, label: names.get(holder.virtualAssetID) ?? 'Virtual', colour })
      } else found.set(key, { ...(FIXED[holder.kind] ?? { label: words(holder.kind), colour: 'var(--fcr)' }), key })
    }
  const order = (layer: Layer) => (layer.key.startsWith('virtual') ? 0 : layer.key.startsWith('AUCTION') ? 1 : 2)
  return [...found.values()].sort((a, b) => order(a) - order(b))
}

type Holder = NonNullable<Commitment['holders']>[number]

function holderKey(holder: Holder): string {
  return holder.virtualAssetID ? `virtual-${holder.virtualAssetID}` : holder.kind
}

function amountOf(one: Commitment, key: string): number {
  if (one.holders)
    return one.holders
      .filter((holder) => holder.power > 0 && holderKey(holder) === key)
      .reduce((sum, holder) => sum + holder.power, 0)
  const { promised, offered, ancillary, ownSchedule } = one.discharge
  if (key === 'promised') return promised
  if (key === 'offered') return offered
  if (key === 'ancillary') return Object.values(ancillary).reduce((sum, value) => sum + value, 0)
  return ownSchedule
}

function outline(runs: { start: number; end: number; value: number }[], x: Scale, y: Scale): string {
  return runs
    .map(
      (run, index) =>
        `${index ? 'L' : 'M'}${x(run.start).toFixed(1)} ${y(run.value).toFixed(1)}L${x(run.end).toFixed(1)} ${y(run.value).toFixed(1)}`,
    )
    .join('')
}

/** The same in words, with what can be done about each. */
function Announced({
  asset,
  unavailability,
  now,
}: {
  asset: PhysicalAsset
  unavailability: Unavailability[]
  now: number
}) {
  const zone = useZone()
  const coming = unavailability
    .filter((one) => Date.parse(one.end) > now)
    .sort((a, b) => Date.parse(a.start) - Date.parse(b.start))
  if (coming.length === 0) return null
  return (
    <Table
      columns={[
        'Unavailable',
        'From',
        'Until',
        { label: 'MW missing', isNumber: true },
        { label: 'MWh missing', isNumber: true },
        { label: 'Actions', isUnseen: true },
      ]}
    >
      <tbody>
        {coming.slice(0, 6).map((one) => (
          <tr key={one.id}>
            <td>
              <strong>{words(one.type)}</strong> <span className="note">{one.description}</span>
            </td>
            <td>{weekdayTime(Date.parse(one.start), zone)}</td>
            <td>{weekdayTime(Date.parse(one.end), zone)}</td>
            <td className="number">{decimal(one.volume.powerCapacity.discharge / 1000, 1)}</td>
            <td className="number">{decimal(one.volume.energyCapacity / 1000, 1)}</td>
            <td className="number">
              <Withdraw asset={asset} item={one} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function Withdraw({ asset, item }: { asset: PhysicalAsset; item: Unavailability }) {
  const may = useMay('Create:unavailabilities')
  const [isAsked, setIsAsked] = useState(false)
  const queries = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => ask(`/physical-assets/${asset.id}/unavailability/${item.id}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['physical-assets'] }),
  })
  if (!may) return null
  if (!isAsked)
    return (
      <Button kind="quiet" isCompact onClick={() => setIsAsked(true)} aria-label={`Cancel: ${item.description}`}>
        Cancel
      </Button>
    )
  return (
    <>
      <FormProblem error={cancel.error} />
      <Button kind="danger" isCompact isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
        It is available after all
      </Button>
    </>
  )
}
