/** What the operator's overview reads beside the batteries: zones, what was measured, jobs and webhooks. */
import { useQuery } from '@tanstack/react-query'
import { askAll, askMany, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { dayOf, instant, QUARTER_MS, quarterAt, type Span, spanOf } from '../../shared/time/marketDay'

type Zone = Schemas['DeliveryZone']
/** kW of a battery in a quarter-hour; what was not measured, or not dispatched, is left out. */
export interface QuarterPower {
  dispatchedPower?: number
  measuredPower?: number
  reserveResponse?: number
}
interface Readiness {
  status: string
  checks: { name: string; status: string; detail: string }[]
}

export interface Operations {
  zones: Zone[]
  /** By battery: the last quarter-hour that is over; null until it is read. */
  quarter: Map<string, QuarterPower> | null
  checks: Readiness['checks']
  webhooks: Schemas['Webhook'][]
  /** What could not be asked, in words: nothing may be called calm that was not looked at. */
  unasked: string[]
}

type Asked = Omit<Operations, 'quarter'>

/** Of batteries whose last quarter-hour is read. */
const MOST = 90
const NONE: Asked = { zones: [], checks: [], webhooks: [], unasked: [] }

/** The last quarter-hour that is over at a moment. */
export const lastQuarter = (now: number): number => quarterAt(now) - QUARTER_MS

const spanQuery = (span: Span) => new URLSearchParams({ start: instant(span.start), end: instant(span.end) })

export function useOperations(batteries: PhysicalAsset[], now: number): { operations: Operations; isLoading: boolean } {
  const isOperator = useIsOperator()
  const quarter = lastQuarter(now)
  const found = useQuery({
    queryKey: ['delivery', 'operations', quarter],
    queryFn: () => readOperations(spanOf(dayOf(now))),
    enabled: isOperator,
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: (old) => old,
  })
  const measured = useQuery({
    queryKey: ['last-quarter', batteries.map((one) => one.id).join(), quarter],
    queryFn: () => readQuarter(batteries.slice(0, MOST), quarter),
    enabled: isOperator && batteries.length > 0,
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: (old) => old,
  })
  const operations = { ...(found.data ?? NONE), quarter: measured.data ?? null }
  return { operations, isLoading: isOperator && found.isLoading }
}

/** Dispatch and mean power: a third of what `performance` takes, which also counts the year's cycles and earnings. */
async function readQuarter(batteries: PhysicalAsset[], quarter: number): Promise<Map<string, QuarterPower>> {
  const last = spanQuery({ start: quarter, end: quarter + QUARTER_MS })
  const mean = 'datapoints=active_power,reserve_power&resolution=15-minute&aggregation=time-weighted-avg'
  const answers = await askMany<unknown>(
    batteries.flatMap((asset) => [
      `/physical-assets/${asset.id}/dispatch?${last}`,
      `/monitoring/${asset.id}/datapoints?${last}&${mean}`,
    ]),
  )
  return new Map(
    batteries.map((asset, index) => {
      const planned = answers[2 * index] as Schemas['Dispatch'] | null | undefined
      const signals = answers[2 * index + 1] as { data: Record<string, { value: number }[]> } | null | undefined
      return [
        asset.id,
        {
          dispatchedPower: planned?.dispatch[0]?.power,
          measuredPower: signals?.data.active_power?.[0]?.value,
          reserveResponse: signals?.data.reserve_power?.[0]?.value,
        },
      ]
    }),
  )
}

async function readOperations(day: Span): Promise<Asked> {
  const [zones, ready, webhooks] = await askAll([
    `/delivery/zones?${spanQuery(day)}`,
    '/health/ready',
    '/webhooks?limit=1000',
  ])
  const unasked: string[] = []
  const body = <T>(answer: typeof zones, what: string, alsoAt = 200): T | null => {
    if (answer && (answer.status === 200 || answer.status === alsoAt) && answer.body !== null) return answer.body as T
    unasked.push(what)
    return null
  }
  return {
    zones: body<Zone[]>(zones, 'the zones') ?? [],
    checks: body<Readiness>(ready, 'the jobs', 503)?.checks ?? [],
    webhooks: body<Schemas['Webhook'][]>(webhooks, 'webhooks') ?? [],
    unasked,
  }
}
