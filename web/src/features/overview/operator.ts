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
  /** By battery: the last quarter-hour that is over. */
  quarter: Map<string, PerformancePoint>
  checks: Readiness['checks']
  webhooks: Schemas['Webhook'][]
  /** What could not be asked, in words: nothing may be called calm that was not looked at. */
  unasked: string[]
}

const NONE: Operations = { zones: [], quarter: new Map(), checks: [], webhooks: [], unasked: [] }

/** The last quarter-hour that is over at a moment. */
export const lastQuarter = (now: number): number => quarterAt(now) - QUARTER_MS

export function useOperations(
  batteries: PhysicalAsset[],
  now: number,
  isReady: boolean,
): { operations: Operations; isLoading: boolean } {
  const isOperator = useIsOperator()
  const quarter = lastQuarter(now)
  const found = useQuery({
    queryKey: ['delivery', 'operations', batteries.map((one) => one.id).join(), quarter],
    queryFn: () => readOperations(batteries, spanOf(dayOf(now)), quarter),
    enabled: isOperator && isReady,
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: (old) => old,
  })
  return { operations: found.data ?? NONE, isLoading: isOperator && found.isLoading }
}

async function readOperations(batteries: PhysicalAsset[], day: Span, quarter: number): Promise<Operations> {
  const query = (span: Span) => new URLSearchParams({ start: instant(span.start), end: instant(span.end) })
  const last = query({ start: quarter, end: quarter + QUARTER_MS })
  const [zones, ready, webhooks, ...performances] = await askAll([
    `/delivery/zones?${query(day)}`,
    '/health/ready',
    '/webhooks?limit=1000',
    ...batteries.slice(0, 90).map((asset) => `/physical-assets/${asset.id}/performance?${last}`),
  ])
  const unasked: string[] = []
  const body = <T>(answer: (typeof performances)[number] | undefined, what: string, alsoAt = 200): T | null => {
    if (answer && (answer.status === 200 || answer.status === alsoAt) && answer.body !== null) return answer.body as T
    unasked.push(what)
    return null
  }
  return {
    zones: body<Zone[]>(zones, 'the zones') ?? [],
    checks: body<Readiness>(ready, 'the jobs', 503)?.checks ?? [],
    webhooks: body<Schemas['Webhook'][]>(webhooks, 'webhooks') ?? [],
    quarter: new Map(
      performances.flatMap((answer, index) => {
        const asset = batteries[index]
        const point = answer.status === 200 ? (answer.body as Performance).performance[0] : undefined
        return asset && point ? [[asset.id, point] as const] : []
      }),
    ),
    unasked,
  }
}
