/** The markets of a day under each other on one axis of time, those that take orders to be chosen. */
import { type PointerEvent, useMemo, useState } from 'react'
import { TimeAxis } from '../../shared/charts/panes'
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { signed } from '../../shared/format'
import { type Day, QUARTER_MS, type Span, spanOf, type Zone } from '../../shared/time/marketDay'
import { quarter } from '../../shared/time/words'
import { Card, Legend, type LegendItem } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import { type Arc, type Order, type Room, type StageSums, takesOrders } from './data'
import type { Proposed } from './drawing'
import { GateRow, hasAny } from './GateRow'
import { HeadroomRow, PositionRow } from './PositionRow'
import { stageInWords } from './words'

const LEGEND: LegendItem[] = [
  { label: 'sold', color: 'var(--discharge)' },
  { label: 'bought', color: 'var(--charge)' },
  { label: 'proposed', color: 'var(--discharge)', kind: 'hatch' },
  { label: 'held for reserve', color: 'var(--fcr)', kind: 'outline' },
]

interface Props {
  stages: StageSums[]
  day: Day
  chosen: string
  onChoose: (stage: string) => void
  proposed: Proposed | null
  arcs: readonly Arc[]
  headroom: Room | undefined
  /** Of batteries. */
  batteries: number
  orders: readonly Order[]
}

export function Gates({ stages, day, chosen, onChoose, proposed, arcs, headroom, batteries, orders }: Props) {
  const zone = useZone()
  const span = useMemo(() => spanOf(day), [day])
  const [frame, { width }] = useSize<HTMLDivElement>()
  const [read, setRead] = useState<number | null>(null)
  const x = useMemo(() => linear(span.start, span.end, 0, Math.max(1, width)), [span, width])
  const count = stages[0]?.position.length ?? 0
  const point = (event: PointerEvent<HTMLElement>) => {
    const box = frame.current?.getBoundingClientRect()
    if (!box || width === 0) return
    const index = Math.floor(((event.clientX - box.left) / width) * count)
    setRead(index >= 0 && index < count ? index : null)
  }
  const shown = stages.filter((one) => takesOrders(one.stage) || one.stage === 'CONTINUOUS' || hasAny(one))
  const stands = stages.at(-1)?.position ?? []
  const cross = read === null ? null : span.start + (read + 0.5) * QUARTER_MS
  const axis = { span, zone, x, width, cross }
  return (
    <Card
      title="Gate by gate"
      note="MW traded at each, one axis of time; sold up"
      actions={<Legend items={LEGEND} />}
      className="gates"
    >
      <div className="gates-body" onPointerMove={point} onPointerLeave={() => setRead(null)}>
        <p className="gates-read tabular" aria-live="off">
          {read === null ? (
            <span className="note">Point at a quarter-hour to read it; ↑ and ↓ choose a gate.</span>
          ) : (
            <ReadOut {...{ read, stages, proposed, headroom, span, zone, chosen }} />
          )}
        </p>
        <div role="radiogroup" aria-label="Gate">
          {shown.map((one, index) => (
            <GateRow
              key={one.stage}
              one={one}
              axis={axis}
              frame={index === 0 ? frame : undefined}
              isChosen={one.stage === chosen}
              proposed={one.stage === chosen ? proposed : null}
              orders={orders.filter((order) => order.stage === one.stage)}
              onChoose={takesOrders(one.stage) ? () => onChoose(one.stage) : null}
            />
          ))}
        </div>
        <PositionRow {...{ stages, axis, proposed, arcs, stands }} />
        {headroom && <HeadroomRow room={headroom} axis={axis} count={batteries} />}
        <div className="gate-row gate-axis">
          <span />
          <svg width={width} height={20} aria-hidden="true">
            <TimeAxis span={span} zone={zone} x={x} y={14} now={0} pointed={cross} />
            {cross !== null && read !== null && (
              <text
                x={Math.min(Math.max(x(cross), 40), width - 40)}
                y={14}
                textAnchor="middle"
                className="axis axis-strong"
              >
                {quarter(span.start + read * QUARTER_MS, zone)}
              </text>
            )}
          </svg>
          <span />
        </div>
      </div>
    </Card>
  )
}

interface ReadProps {
  read: number
  stages: readonly StageSums[]
  proposed: Proposed | null
  headroom: Room | undefined
  span: Span
  zone: Zone
  chosen: string
}

function ReadOut({ read, stages, proposed, headroom, span, zone, chosen }: ReadProps) {
  const mw = (kw: number) => signed(kw / 1000, 1)
  const parts = stages
    .filter((one) => Math.abs(one.change[read] ?? 0) >= 50)
    .map((one) => `${stageInWords(one.stage)} ${mw(one.change[read] ?? 0)}`)
  const stands = stages.at(-1)?.position[read] ?? 0
  return (
    <>
      <strong>{quarter(span.start + read * QUARTER_MS, zone)}</strong> {parts.map((part) => `${part} · `).join('')}
      position {mw(stands)}
      {proposed && Math.abs(proposed.change[read] ?? 0) >= 50 && (
        <>
          {' '}
          · {stageInWords(chosen)} proposes {mw(proposed.change[read] ?? 0)}
        </>
      )}
      {headroom && headroom.refused.length === 0 && (
        <>
          {' '}
          · headroom {mw(headroom.up[read] ?? 0)} / {mw(-(headroom.down[read] ?? 0))}
        </>
      )}{' '}
      MW
    </>
  )
}
