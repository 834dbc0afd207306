/**
 * Panes over one axis of time: titles with what is read in them, axes, hours and the moment that is now. Those that do
 * not follow a hand are drawn anew only for another scale: give them the same one.
 */
import { memo, type ReactNode } from 'react'
import { HOUR_MS, type Span, wallAt, type Zone } from '../time/marketDay'
import { time } from '../time/words'
import type { Scale } from './scale'
import { linePath } from './scale'

/** Below this there is no room for more than a title and a value. */
export const NARROW = 480

/** Above a pane's top edge, with its title in it. */
export const TITLE_PX = 22

/** Where a chart leaves room for its axes. */
export interface Edges {
  left: number
  right: number
}

/** Every third hour of the reader's clock, and both ends: a day of 23 or 25 hours has no other names. */
export function hourMarks({ start, end }: Span, zone: Zone): number[] {
  const marks = [start]
  for (let at = start + HOUR_MS; at < end; at += HOUR_MS) {
    const isNear = at - start < 2 * HOUR_MS || end - at < 2 * HOUR_MS
    const isRepeated = wallAt(at - HOUR_MS, zone).hour === wallAt(at, zone).hour
    if (!isNear && !isRepeated && wallAt(at, zone).hour % 3 === 0) marks.push(at)
  }
  return [...marks, end]
}

export const HourLines = memo(function HourLines({
  span,
  zone,
  x,
  top,
  bottom,
}: AxisProps & { top: number; bottom: number }) {
  return hourMarks(span, zone).map((at) => (
    <line key={at} x1={x(at)} x2={x(at)} y1={top} y2={bottom} className="grid-line" />
  ))
})

interface AxisProps {
  span: Span
  zone: Zone
  x: Scale
}

/** Room that an hour needs beside the next, and beside a tag that would cover it. */
const HOUR_PX = 40
const TAG_PX = 56

/** The hours under a chart, as many as there is room for; none under a tag that says what time it is. */
export const TimeAxis = memo(function TimeAxis({
  span,
  zone,
  x,
  y,
  now,
  pointed = null,
}: AxisProps & {
  y: number
  now: number
  /** A moment that has a tag of its own. */
  pointed?: number | null
}) {
  const tags = [now, pointed].filter((at): at is number => at !== null && at >= span.start && at <= span.end)
  // The ends stand within the chart, not around their place.
  const middleOf = (at: number) => x(at) + (at === span.start ? HOUR_PX / 2 : at === span.end ? -HOUR_PX / 2 : 0)
  const isFree = (at: number) => tags.every((tag) => Math.abs(middleOf(at) - x(tag)) > TAG_PX)
  const hasRoom = (at: number) =>
    at === span.start || at === span.end || Math.min(x(at) - x(span.start), x(span.end) - x(at)) > 1.4 * HOUR_PX
  const step = x(span.start + 3 * HOUR_MS) - x(span.start) < HOUR_PX ? 2 : 1
  return hourMarks(span, zone)
    .filter((_, index, all) => index % step === 0 || index === all.length - 1)
    .filter((at) => isFree(at) && hasRoom(at))
    .map((at) => (
      <text
        key={at}
        x={x(at)}
        y={y}
        className="axis"
        textAnchor={at === span.start ? 'start' : at === span.end ? 'end' : 'middle'}
      >
        {at === span.end && time(at, zone) === '00:00' ? '24:00' : time(at, zone)}
      </text>
    ))
})

const NO_TITLES: readonly number[] = []

/** A line through all panes, and the time at its foot. It leaves out the titles of the panes below the first. */
export const NowMark = memo(function NowMark({
  span,
  zone,
  x,
  now,
  top,
  bottom,
  tops = NO_TITLES,
}: AxisProps & {
  now: number
  top: number
  bottom: number
  /** The top edges of the panes below the first. */
  tops?: readonly number[]
}) {
  if (now < span.start || now >= span.end) return null
  const ends = [...tops.map((each) => each - TITLE_PX), bottom]
  return (
    <g>
      {[top, ...tops].map((from, index) => (
        <line key={from} x1={x(now)} x2={x(now)} y1={from} y2={ends[index]} className="now-line" />
      ))}
      <rect x={x(now) - 34} y={bottom + 6} width={68} height={19} rx={5} className="now-tag" />
      <text x={x(now)} y={bottom + 19} textAnchor="middle" className="now-tag-text">
        now {time(now, zone)}
      </text>
    </g>
  )
})

/** What is past, shaded. */
export const Past = memo(function Past({
  span,
  x,
  now,
  top,
  height,
}: Omit<AxisProps, 'zone'> & { now: number; top: number; height: number }) {
  if (now <= span.start) return null
  const until = Math.min(now, span.end)
  return <rect x={x(span.start)} width={x(until) - x(span.start)} y={top} height={height} className="past" />
})

interface TitleProps {
  edges: Edges
  width: number
  /** Of the pane's top edge. */
  top: number
  title: string
  note: ReactNode
  aside?: ReactNode
  /** Whether there is room for the aside on a phone. */
  isShort?: boolean
  value?: string
  tone?: string
}

/** The quantity and its unit at the left; at the right what is read, where no tooltip covers the data. */
export function PaneTitle({
  edges,
  width,
  top,
  title,
  note,
  aside,
  isShort = false,
  value,
  tone = 'var(--ink)',
}: TitleProps) {
  return (
    <>
      <text x={edges.left} y={top - 9} className="axis pane-title">
        <tspan className="axis-strong">{title}</tspan> {note}
      </text>
      <text x={width - edges.right} y={top - 9} textAnchor="end" className="axis pane-title">
        {width < NARROW ? (isShort ? aside : '') : aside}{' '}
        {value && (
          <tspan className="pane-value" style={{ fill: tone }}>
            {value}
          </tspan>
        )}
      </text>
    </>
  )
}

interface ValueAxisProps {
  edges: Edges
  width: number
  values: readonly number[]
  scale: Scale
  tell: (value: number) => string
}

export const ValueAxis = memo(function ValueAxis({ edges, width, values, scale, tell }: ValueAxisProps) {
  return values.map((value) => (
    <g key={value}>
      <line
        x1={edges.left}
        x2={width - edges.right}
        y1={scale(value)}
        y2={scale(value)}
        className={value === 0 ? 'axis-line' : 'grid-line'}
      />
      <text x={edges.left - 8} y={scale(value) + 4} textAnchor="end" className="axis">
        {tell(value)}
      </text>
    </g>
  ))
})

/** A line closed down, or up, to its base. */
export function areaPath(points: readonly (readonly [number, number])[], base: number): string {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return ''
  return `${linePath(points)}L${last[0].toFixed(1)} ${base}L${first[0].toFixed(1)} ${base}Z`
}

/** What is not physical is hatched: give the shape `fill="url(#name)"`. */
export function Hatch({ name, tone }: { name: string; tone: string }) {
  return (
    <pattern id={name} width={4} height={4} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <line x1={0} x2={0} y1={0} y2={4} style={{ stroke: tone, strokeWidth: 1.6 }} />
    </pattern>
  )
}
