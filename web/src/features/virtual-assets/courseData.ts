/** A battery's course over any span: power, store and price, beside another span of the same length. */
import { useQuery } from '@tanstack/react-query'
import { allPages, askJson, type Schemas } from '../../shared/api/client'
import type { VirtualAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { instant, QUARTER_MS, type Span } from '../../shared/time/marketDay'
import { PRICES, pathOf } from './data'

export interface Course {
  /** Starts of the quarter-hours. */
  times: number[]
  powersKw: (number | null)[]
  /** kWh at each start. */
  energiesKwh: (number | null)[]
  /** EUR/MWh, as published. */
  prices: (number | null)[]
}

export const LONGEST_DAYS = 31

export function useCourse(asset: VirtualAsset, span: Span | null) {
  const mayPrice = useMay('Read:revenue')
  return useQuery({
    queryKey: ['virtual-assets', asset.id, 'course', span?.start, span?.end],
    queryFn: () => readCourse(asset, span as Span, mayPrice),
    enabled: span !== null,
    placeholderData: (old) => old,
  })
}

async function readCourse(asset: VirtualAsset, span: Span, mayPrice: boolean): Promise<Course> {
  const count = Math.round((span.end - span.start) / QUARTER_MS)
  const times = Array.from({ length: count }, (_, index) => span.start + index * QUARTER_MS)
  const none = () => new Array<number | null>(count).fill(null)
  const found: Course = { times, powersKw: none(), energiesKwh: none(), prices: none() }
  const start = Math.max(span.start, Date.parse(asset.start))
  const end = Math.min(span.end, Date.parse(asset.end))
  const put = (list: (number | null)[], time: string, value: number, until = Date.parse(time) + QUARTER_MS) => {
    for (let at = Date.parse(time); at < until; at += QUARTER_MS) {
      const index = Math.round((at - span.start) / QUARTER_MS)
      if (index >= 0 && index < count) list[index] = value
    }
  }
  const window = (a: number, b: number) => new URLSearchParams({ start: instant(a), end: instant(b) })
  const life = start < end ? window(start, end) : null
  const [schedule, energy, prices] = await Promise.all([
    life ? askJson<{ schedule: { time: string; power: number }[] }>(`${pathOf(asset)}/schedule?${life}`) : null,
    life ? askJson<{ time: string; energy: number }[]>(`${pathOf(asset)}/state-of-energy/projected?${life}`) : null,
    mayPrice
      ? allPages<Schemas['ReferencePrice']>(
          `/reference-prices?${window(span.start, span.end)}&series=${PRICES}&limit=1000`,
        )
      : [],
  ])
  for (const { time, power } of schedule?.schedule ?? []) put(found.powersKw, time, power)
  for (const { time, energy: kwh } of energy ?? []) put(found.energiesKwh, time, kwh)
  for (const one of prices) put(found.prices, one.start, Number(one.price), Date.parse(one.end))
  return found
}

export interface CourseSums {
  /** MWh. */
  bought: number
  sold: number
  /** EUR at published prices; null where one of a quarter-hour with power is missing. */
  worth: number | null
}

export function sumsOf({ powersKw, prices }: Pick<Course, 'powersKw' | 'prices'>): CourseSums {
  let [bought, sold] = [0, 0]
  let worth: number | null = 0
  powersKw.forEach((kw, index) => {
    if (!kw) return
    if (kw < 0) bought -= kw / 4000
    else sold += kw / 4000
    const price = prices[index] ?? null
    worth = worth === null || price === null ? null : worth + (kw / 4000) * price
  })
  return { bought, sold, worth }
}

/** Of the part that is shown. */
export function clipped(course: Course, { start, end }: Span): Course {
  const [from, to] = [course.times.findIndex((at) => at >= start), course.times.findIndex((at) => at >= end)]
  const last = to < 0 ? course.times.length : to
  const cut = <T>(list: T[]) => list.slice(Math.max(0, from), last)
  return {
    times: cut(course.times),
    powersKw: cut(course.powersKw),
    energiesKwh: cut(course.energiesKwh),
    prices: cut(course.prices),
  }
}

/** Half as long or twice, around a moment, within what may be read. */
export function zoomed({ start, end }: Span, factor: number, around: number, whole: Span): Span {
  const length = Math.min(whole.end - whole.start, Math.max(4 * QUARTER_MS, (end - start) * factor))
  const share = (around - start) / (end - start)
  const from = Math.round((around - share * length) / QUARTER_MS) * QUARTER_MS
  const first = Math.min(Math.max(whole.start, from), whole.end - length)
  return { start: first, end: first + length }
}
