/** Price, power and store over one axis, with one cross-hair; dragging comes closer. */
import { type PointerEvent, useMemo, useRef, useState } from 'react'
import type { VirtualAsset } from '../../shared/api/resources'
import { PaneTitle, ValueAxis } from '../../shared/charts/panes'
import { linear, linePath, type Scale, stepPath, ticks } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal } from '../../shared/format'
import { HOUR_MS, QUARTER_MS, quarterAt, type Span, type Zone } from '../../shared/time/marketDay'
import { dayMonth, time, weekdayTime } from '../../shared/time/words'
import { useZone } from '../../shared/zone'
import { type Course, clipped } from './courseData'

interface Props {
  asset: VirtualAsset
  course: Course
  /** Another span, to be laid over this one. */
  other: Course | undefined
  view: Span
  /** By how much the other lies later. */
  shift: number
  read: number | null
  onRead: (at: number | null) => void
  onZoom: (view: Span) => void
}

const EDGES = { left: 52, right: 14 }
const HEIGHT = 110
const GAP = 34
const TOPS = [28, 28 + HEIGHT + GAP, 28 + 2 * (HEIGHT + GAP)] as const
const BOTTOM = TOPS[2] + HEIGHT

export function CoursePanes({ asset, course, other, view, shift, read, onRead, onZoom }: Props) {
  const zone = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const [drag, setDrag] = useState<number | null>(null)
  const box = useRef<SVGSVGElement>(null)
  const x = useMemo(
    () => linear(view.start, view.end, EDGES.left, Math.max(EDGES.left + 1, width - EDGES.right)),
    [view, width],
  )
  const shown = useMemo(() => clipped(course, view), [course, view])
  const beside = useMemo(
    () => (other ? clipped(other, { start: view.start + shift, end: view.end + shift }) : null),
    [other, view, shift],
  )
  const momentAt = (event: PointerEvent) => {
    const left = box.current?.getBoundingClientRect().left ?? 0
    const share = (event.clientX - left - EDGES.left) / Math.max(1, width - EDGES.left - EDGES.right)
    return view.start + Math.min(1, Math.max(0, share)) * (view.end - view.start)
  }
  const release = (event: PointerEvent) => {
    if (drag === null) return
    const [start, end] = [
      quarterAt(Math.min(drag, momentAt(event))),
      quarterAt(Math.max(drag, momentAt(event))) + QUARTER_MS,
    ]
    setDrag(null)
    if (end - start >= 4 * QUARTER_MS) onZoom({ start, end: Math.min(end, view.end) })
  }
  const panes = panesOf(asset, shown, beside)
  const index = read === null ? -1 : Math.floor((read - (shown.times[0] ?? 0)) / QUARTER_MS)
  return (
    <div ref={ref} className="course-panes">
      <svg
        ref={box}
        width={width}
        height={BOTTOM + 26}
        role="img"
        aria-label={`Price, power and state of charge of ${asset.name}`}
        onPointerDown={(event) => setDrag(momentAt(event))}
        onPointerMove={(event) => onRead(momentAt(event))}
        onPointerUp={release}
        onPointerLeave={() => {
          onRead(null)
          setDrag(null)
        }}
      >
        <Times view={view} zone={zone} x={x} />
        {panes.map((pane, at) => (
          <Pane
            key={pane.title}
            {...pane}
            {...{ x, view, shift, width, shown }}
            top={TOPS[at] ?? 0}
            index={index}
            zone={zone}
          />
        ))}
        {drag !== null && read !== null && (
          <rect
            x={Math.min(x(drag), x(read))}
            width={Math.abs(x(read) - x(drag))}
            y={TOPS[0]}
            height={BOTTOM - TOPS[0]}
            className="day-selection"
          />
        )}
        {read !== null && <line x1={x(read)} x2={x(read)} y1={TOPS[0]} y2={BOTTOM} className="course-cross" />}
      </svg>
    </div>
  )
}

interface PaneData {
  title: string
  unit: string
  digits: number
  tone: string
  values: (number | null)[]
  beside: (number | null)[] | null
  isStep: boolean
  low: number
  high: number
}

function panesOf(asset: VirtualAsset, shown: Course, beside: Course | null): PaneData[] {
  const range = (lists: (readonly (number | null)[])[], least: number, most: number) => {
    const all = lists.flat().filter((one): one is number => one !== null)
    return { low: Math.min(least, ...all), high: Math.max(most, ...all) }
  }
  const mega = (list: (number | null)[]) => list.map((kw) => (kw === null ? null : kw / 1000))
  const share = (list: (number | null)[]) =>
    list.map((kwh) => (kwh === null ? null : (kwh / asset.energyCapacity) * 100))
  return [
    {
      title: 'Price',
      unit: 'EUR/MWh, day-ahead',
      digits: 2,
      tone: 'var(--price)',
      values: shown.prices,
      beside: beside?.prices ?? null,
      isStep: true,
      ...range([shown.prices, beside?.prices ?? []], 0, 10),
    },
    {
      title: 'Power',
      unit: 'MW, export up',
      digits: 1,
      tone: 'var(--discharge-text)',
      values: mega(shown.powersKw),
      beside: beside ? mega(beside.powersKw) : null,
      isStep: true,
      low: -asset.ratedChargePower / 1000,
      high: asset.ratedDischargePower / 1000,
    },
    {
      title: 'State of charge',
      unit: '%',
      digits: 1,
      tone: 'var(--soc)',
      values: share(shown.energiesKwh),
      beside: beside ? share(beside.energiesKwh) : null,
      isStep: false,
      low: 0,
      high: 100,
    },
  ]
}

interface PaneProps extends PaneData {
  x: Scale
  view: Span
  width: number
  top: number
  shown: Course
  index: number
  shift: number
  zone: Zone
}

function Pane({
  title,
  unit,
  digits,
  tone,
  values,
  beside,
  isStep,
  low,
  high,
  x,
  view,
  width,
  top,
  index,
  shown,
  shift,
  zone,
}: PaneProps) {
  const y = linear(low, high, top + HEIGHT, top)
  const at = (place: number) => x((shown.times[0] ?? view.start) + place * QUARTER_MS)
  const path = (list: readonly (number | null)[]) => {
    const points = list.map((value, place) => [at(place), value === null ? null : y(value)] as const)
    return isStep ? stepPath(points, at(list.length)) : linePath(points)
  }
  const value = values[index]
  const other = beside?.[index]
  const moment = shown.times[index]
  return (
    <g>
      <PaneTitle
        edges={EDGES}
        width={width}
        top={top}
        title={title}
        note={unit}
        aside={
          moment === undefined
            ? ''
            : `${weekdayTime(moment, zone)}${other == null ? '' : ` · ${weekdayTime(moment + shift, zone)} ${tell(other, digits)}`}`
        }
        value={value == null ? '' : tell(value, digits)}
        tone={tone}
      />
      <ValueAxis edges={EDGES} width={width} values={ticks(low, high, 3)} scale={y} tell={(one) => decimal(one)} />
      {beside && <path d={path(beside)} className="course-beside" />}
      <path d={path(values)} className="course-line" style={{ stroke: tone }} />
    </g>
  )
}

const tell = (value: number, digits: number): string => decimal(value, digits)

const STEPS_H = [1, 3, 6, 12, 24, 72, 168]

/** Hours while there is room for them, else days. */
function Times({ view, zone, x }: { view: Span; zone: Zone; x: Scale }) {
  const step = (STEPS_H.find((hours) => x(view.start + hours * HOUR_MS) - x(view.start) > 56) ?? 168) * HOUR_MS
  const first = Math.ceil(view.start / HOUR_MS) * HOUR_MS
  const marks: number[] = []
  for (let at = first; at <= view.end; at += HOUR_MS) {
    const hour = Number(time(at, zone).slice(0, 2))
    const isMark =
      step >= 24 * HOUR_MS ? hour === 0 && (at - view.start) % step < 2 * HOUR_MS : hour % (step / HOUR_MS) === 0
    if (isMark) marks.push(at)
  }
  return marks.map((at) => (
    <g key={at}>
      <line x1={x(at)} x2={x(at)} y1={TOPS[0]} y2={BOTTOM} className="grid-line" />
      <text x={x(at)} y={BOTTOM + 16} textAnchor={at >= view.end ? 'end' : 'middle'} className="axis">
        {time(at, zone) === '00:00' ? dayMonth(at, zone) : time(at, zone)}
      </text>
    </g>
  ))
}
