import type { PhysicalAsset } from '../../../shared/api/resources'
import { TITLE_PX } from '../../../shared/charts/panes'
import { linear, type Scale } from '../../../shared/charts/scale'
import { useSize } from '../../../shared/charts/size'
import { megawatts, words } from '../../../shared/format'
import { addDays, dayOf, type Span, spanOf } from '../../../shared/time/marketDay'
import { weekday } from '../../../shared/time/words'
import { Card, Legend, type LegendItem } from '../../../shared/ui/Card'
import { Loaded, Skeleton } from '../../../shared/ui/states'
import { useZone } from '../../../shared/zone'
import {
  type Commitment,
  runsOf,
  type Unavailability,
  useAvailability,
  useCommitments,
  useUnavailability,
} from '../data'
import type { Draft } from '../UnavailabilityForm'
import { Announced } from './Announced'
import { Bar, DraftBar, ROWS } from './bars'
import { Held } from './Held'

const LEFT = 76
const RIGHT = 16
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
      <line x1={x(now)} x2={x(now)} y1={4} y2={BAND.top - TITLE_PX} className="now-line" />
      <line x1={x(now)} x2={x(now)} y1={BAND.top} y2={BAND.top + BAND.height} className="now-line" />
    </svg>
  )
}

function describe(asset: PhysicalAsset, count: number): string {
  return `Availability of ${asset.name} over fourteen days, with ${count} unavailabilities.`
}

function outline(runs: { start: number; end: number; value: number }[], x: Scale, y: Scale): string {
  return runs
    .map(
      (run, index) =>
        `${index ? 'L' : 'M'}${x(run.start).toFixed(1)} ${y(run.value).toFixed(1)}L${x(run.end).toFixed(1)} ${y(run.value).toFixed(1)}`,
    )
    .join('')
}
