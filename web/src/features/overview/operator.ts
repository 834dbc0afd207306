/** What the operator's overview reads beside the batteries: zones, what was measured, jobs and webhooks. */
import { useQuery } from '@tanstack/react-query'
import { askAll, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { dayOf, instant, QUARTER_MS, quarterAt, type Span, spanOf } from '../../shared/time/marketDay'

type Zone = Schemas['DeliveryZone']
export type Performance = Schemas['DeliveryPerformance']
export type PerformancePoint = Schemas['PerformancePoint']
interface Readiness {
  status: string
  checks: { name: string; status: string; detail: string }[]
}

export interface Operations {
  zones: Zone[]
  /** By battery: the last quarter-hour that is over; null until it is read. */
  quarter: Map<string, PerformancePoint> | null
  checks: Readiness['checks']
  webhooks: Schemas['Webhook'][]
  /** What could not be asked, in words: nothing may be called calm that was not looked at. */
  unasked: string[]
}

type Asked = Omit<Operations, 'quarter'>

const NONE: Asked = { zones: [], checks: [], webhooks: [], unasked: [] }

/** The last quarter-hour that is over at a moment. */
export const lastQuarter = (now: number): number => quarterAt(now) - QUARTER_MS

const spanQuery = (span: Span) => new URLSearchParams({ start: instant(span.start), end: instant(span.end) })

export function useOperations(
  batteries: PhysicalAsset[],
  now: number,
  isCalm: boolean,
): { operations: Operations; isLoading: boolean } {
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
  // What each battery did takes longest, and nothing in the queue waits for it: it comes after what the queue reads.
  const measured = useQuery({
    queryKey: ['delivery', 'last-quarter', batteries.map((one) => one.id).join(), quarter],
    queryFn: () => readQuarter(batteries.slice(0, 90), quarter),
    enabled: isOperator && isCalm && batteries.length > 0,
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: (old) => old,
  })
  const operations = { ...(found.data ?? NONE), quarter: measured.data ?? null }
  return { operations, isLoading: isOperator && found.isLoading }
}

async function readQuarter(batteries: PhysicalAsset[], quarter: number): Promise<Map<string, PerformancePoint>> {
  const last = spanQuery({ start: quarter, end: quarter + QUARTER_MS })
  const answers = await askAll(batteries.map((asset) => `/physical-assets/${asset.id}/performance?${last}`))
  return new Map(
    answers.flatMap((answer, index) => {
      const asset = batteries[index]
      const point = answer.status === 200 ? (answer.body as Performance).performance[0] : undefined
      return asset && point ? [[asset.id, point] as const] : []
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
