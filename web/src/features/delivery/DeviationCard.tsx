import { type PointerEvent, useMemo, useState } from 'react'
import { HourLines, NowMark, PaneTitle, TimeAxis, ValueAxis } from '../../shared/charts/panes'
import { linear, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal, percent, signed } from '../../shared/format'
import { QUARTER_MS, quarterAt, type Span } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import { deviationsOf, type Performance } from './data'

const EDGES = { left: 46, right: 16 }
const HEIGHT = 190
const TOP = 30
const BOTTOM = HEIGHT - 34

/** How far the batteries together were off what was dispatched, quarter-hour by quarter-hour. */
export function DeviationCard({
  performances,
  span,
  now,
}: {
  performances: (Performance | null)[]
  span: Span
  now: number
}) {
  const zone = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const [pointed, setPointed] = useState<number | null>(null)
  const points = useMemo(() => deviationsOf(performances), [performances])
  const x = linear(span.start, span.end, EDGES.left, Math.max(EDGES.left + 1, width - EDGES.right))
  const most = Math.max(0.5, ...points.map((one) => Math.abs(one.mw)))
  const y = linear(-most, most, BOTTOM, TOP)
  const read = points.find((one) => one.time === pointed) ?? points.at(-1)
  const mean = points.reduce((sum, one) => sum + Math.abs(one.mw), 0) / Math.max(1, points.length)
  const share = points.reduce((sum, one) => sum + one.measuredShare, 0) / Math.max(1, points.length)
  const point = (event: PointerEvent<SVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    const part = (event.clientX - box.left - EDGES.left) / (width - EDGES.left - EDGES.right)
    setPointed(part < 0 || part >= 1 ? null : quarterAt(span.start + part * (span.end - span.start)))
  }
  return (
    <Card
      title="Deviation"
      note={`mean ${decimal(mean, 2)} MW either way, ${percent(share, 1)} of the time measured`}
      className="deviations"
    >
      <div ref={ref}>
        {width > 0 && points.length > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role="img"
            aria-label={`Deviation of all batteries: mean ${decimal(mean, 2)} MW, largest ${decimal(most, 2)} MW`}
            onPointerMove={point}
            onPointerLeave={() => setPointed(null)}
          >
            <HourLines span={span} zone={zone} x={x} top={TOP} bottom={BOTTOM} />
            <PaneTitle
              edges={EDGES}
              width={width}
              top={TOP}
              title="All batteries"
              note="MW · measured less dispatched, without reserves"
              aside={
                read &&
                `${time(read.time, zone)}–${time(read.time + QUARTER_MS, zone)} · reserves ${signed(read.reserveMw, 1)} · measured ${percent(read.measuredShare)}`
              }
              value={read ? `${signed(read.mw, 2)} MW` : ''}
            />
            <ValueAxis
              edges={EDGES}
              width={width}
              values={ticks(-most, most, 4)}
              scale={y}
              tell={(value) => signed(value, Number.isInteger(value) ? 0 : 1)}
            />
            {points.map((one) => (
              <rect
                key={one.time}
                x={x(one.time) + 0.5}
                width={Math.max(1, (x(one.time + QUARTER_MS) - x(one.time)) * 0.82)}
                y={Math.min(y(0), y(one.mw))}
                height={Math.max(0.5, Math.abs(y(one.mw) - y(0)))}
                className={one.time === read?.time ? 'deviation-bar is-read' : 'deviation-bar'}
              />
            ))}
            <line x1={EDGES.left} x2={width - EDGES.right} y1={y(0)} y2={y(0)} className="axis-line" />
            <TimeAxis span={span} zone={zone} x={x} y={BOTTOM + 18} now={now} />
            <NowMark span={span} zone={zone} x={x} now={now} top={TOP} bottom={BOTTOM} />
          </svg>
        )}
        {points.length === 0 && <p className="card-body note">Nothing was measured against a dispatch on this day.</p>}
      </div>
    </Card>
  )
}
