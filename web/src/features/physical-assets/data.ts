/** What is read of one physical battery. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { allPages, answered, api, askJson, GATEWAY, offers, type Schemas } from '../../shared/api/client'
import { type Figure, inWords } from '../../shared/api/problem'
import { readHealth } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { words } from '../../shared/format'
import { instant, type Span, type Zone } from '../../shared/time/marketDay'
import { dayInWords } from '../../shared/time/words'

export type Unavailability = Schemas['Unavailability']
export type UnavailabilityKind = Schemas['UnavailabilityKind']
export type LogbookEntry = Schemas['LogbookEntry']
export type Parameters = Schemas['Parameters']
export type Acknowledgement = Schemas['Acknowledgement']

export function useAsset(id: string) {
  return useQuery({
    queryKey: ['physical-assets', id],
    queryFn: () =>
      answered(api.GET('/physical-assets/{physicalAssetID}', { params: { path: { physicalAssetID: id } } })),
  })
}

export function useAssetHealth(id: string) {
  return useQuery({
    queryKey: ['physical-assets', id, 'health'],
    queryFn: () => readHealth(id),
    refetchInterval: 30_000,
    retry: false,
  })
}

export function useUnavailability(id: string) {
  return useQuery({
    queryKey: ['physical-assets', id, 'unavailability'],
    queryFn: () => allPages<Unavailability>(`/physical-assets/${id}/unavailability?limit=1000`),
  })
}

export function useLogbook(id: string, most: number) {
  return useQuery({
    queryKey: ['physical-assets', id, 'logbook', most],
    queryFn: () => askJson<LogbookEntry[]>(`/physical-assets/${id}/logbook?limit=${most}`),
  })
}

export function useAvailability(id: string, { start, end }: Span) {
  return useQuery({
    queryKey: ['physical-assets', id, 'availability', start, end],
    queryFn: () =>
      answered(
        api.GET('/physical-assets/{physicalAssetID}/availability', {
          params: { path: { physicalAssetID: id }, query: { start: instant(start), end: instant(end) } },
        }),
      ),
  })
}

export interface Amount {
  rated: number
  available: number
  promised: number
  offered: number
  ancillary: Record<string, number>
  ownSchedule: number
  free: number
  missing?: number
}

export interface Commitment {
  time: string
  charge: Amount
  discharge: Amount
  energy: Amount
  holders?: {
    kind: string
    power: number
    virtualAssetID?: string
    organisationID?: string
    organisationName?: string
    auctionID?: string
    product?: string
  }[]
}

export function useCommitments(id: string, { start, end }: Span) {
  return useQuery({
    queryKey: ['physical-assets', id, 'commitments', start, end],
    queryFn: () =>
      askJson<{ commitments: Commitment[] }>(
        `/physical-assets/${id}/commitments?${new URLSearchParams({ start: instant(start), end: instant(end) })}`,
      ),
    enabled: useMay('Read:schedules') && offers('GET /physical-assets/{physicalAssetID}/commitments'),
    retry: false,
  })
}

export interface DispatchPoint {
  time: string
  power: number
  stateOfChargePercentage?: number
}

export function useDispatch(id: string, { start, end }: Span) {
  return useQuery({
    queryKey: ['physical-assets', id, 'dispatch', start, end],
    queryFn: () =>
      askJson<{ version: number; dispatch: DispatchPoint[] }>(
        `/physical-assets/${id}/dispatch?${new URLSearchParams({ start: instant(start), end: instant(end) })}`,
      ),
    enabled: useMay('Read:schedules') && offers('GET /physical-assets/{physicalAssetID}/dispatch'),
    retry: false,
  })
}

/** What the site said of its dispatch: of each quarter-hour what was recorded last, the latest quarter-hour first. */
export function useAcknowledgements(id: string, { start, end }: Span) {
  const query = new URLSearchParams({ start: instant(start), end: instant(end), limit: '1000' })
  return useQuery({
    queryKey: ['physical-assets', id, 'acknowledgements', start, end],
    queryFn: async () => latestOfEach(await allPages(`/physical-assets/${id}/dispatch/acknowledgements?${query}`)),
    enabled: useMay('Read:schedules') && offers('GET /physical-assets/{physicalAssetID}/dispatch/acknowledgements'),
    retry: false,
  })
}

/** The list answers, within a quarter-hour, what was recorded last first. */
export function latestOfEach(list: readonly Acknowledgement[]): Acknowledgement[] {
  return list.filter((one, index) => index === 0 || one.time !== list[index - 1]?.time)
}

// --- telemetry ---------------------------------------------------------------------------------------------------

export const SIGNALS = ['state_of_charge', 'active_power', 'temperature'] as const
export type SignalName = (typeof SIGNALS)[number]
export type Points = [time: number, value: number][]
export type Telemetry = Record<SignalName, Points>

interface Answered {
  data: Partial<Record<SignalName, { time: string; value: number | null }[]>>
}

export type Absence = 'loading' | 'failed' | 'none'

/** Today by the minute, and after it each point as it is stored. */
export function useTelemetry(
  id: string,
  { start, end }: Span,
): { series: Telemetry; isLive: boolean; error: unknown; isLoading: boolean; absence: Absence } {
  const may = useMay('Read:monitoring')
  const history = useQuery({
    queryKey: ['telemetry', id, start],
    queryFn: () =>
      askJson<Answered>(
        `/monitoring/${id}/datapoints?${new URLSearchParams({
          datapoints: SIGNALS.join(','),
          start: instant(start),
          end: instant(end),
          resolution: '1-minute',
        })}`,
      ),
    enabled: may,
    retry: false,
    staleTime: 5 * 60_000,
  })
  const { refetch } = history
  const [told, setTold] = useState<Telemetry>({ state_of_charge: [], active_power: [], temperature: [] })
  const [isLive, setIsLive] = useState(false)
  const waiting = useRef<Telemetry | null>(null)

  useEffect(() => {
    if (!may) return
    const source = new EventSource(`${GATEWAY}/monitoring/${id}/stream?datapoints=${SIGNALS.join(',')}`)
    let timer: ReturnType<typeof setTimeout> | null = null
    source.onopen = () => setIsLive(true)
    source.onerror = () => setIsLive(false)
    source.addEventListener('gap', () => void refetch())
    source.addEventListener('datapoints', (message: MessageEvent<string>) => {
      const columns = JSON.parse(message.data) as Partial<Record<string, { time: string[]; value: (number | null)[] }>>
      waiting.current ??= { state_of_charge: [], active_power: [], temperature: [] }
      for (const signal of SIGNALS) {
        const column = columns[signal]
        column?.time.forEach((time, index) => {
          const value = column.value[index]
          if (typeof value === 'number') waiting.current?.[signal].push([Date.parse(time), value])
        })
      }
      // Many small writes make one drawing.
      timer ??= setTimeout(() => {
        timer = null
        const fresh = waiting.current
        waiting.current = null
        if (fresh)
          setTold((old) => ({
            state_of_charge: [...old.state_of_charge, ...fresh.state_of_charge],
            active_power: [...old.active_power, ...fresh.active_power],
            temperature: [...old.temperature, ...fresh.temperature],
          }))
      }, 250)
    })
    return () => {
      source.close()
      if (timer) clearTimeout(timer)
    }
  }, [id, may, refetch])

  const series = useMemo(() => {
    const merged = {} as Telemetry
    for (const signal of SIGNALS) {
      const past: Points = (history.data?.data[signal] ?? []).flatMap(({ time, value }) =>
        value === null ? [] : [[Date.parse(time), value]],
      )
      const last = past.at(-1)?.[0] ?? start - 1
      const fresh = told[signal].filter(([time]) => time > last && time < end).sort((a, b) => a[0] - b[0])
      merged[signal] = [...past, ...fresh]
    }
    return merged
  }, [history.data, told, start, end])
  const isLoading = history.isLoading && may
  const absence = isLoading ? 'loading' : history.isError ? 'failed' : 'none'
  return { series, isLive, error: history.error, isLoading, absence }
}

// --- previews ----------------------------------------------------------------------------------------------------

export interface Preview {
  free: number
  cut: number
  holders: {
    kind: string
    virtualAssetID?: string
    organisationName?: string
    auctionID?: string
    before: number
    after: number
    energyBefore: number
    energyAfter: number
  }[]
  expectedCuts: unknown[]
}

export const PLANNED: readonly UnavailabilityKind[] = ['MAINTENANCE', 'TESTING', 'COMMISSIONING']
export const isPlanned = (kind: UnavailabilityKind): boolean => PLANNED.includes(kind)

/** Consecutive equal values as one run: fourteen days are 1,344 quarter-hours and a handful of changes. */
export function runsOf<T>(points: readonly { time: number; value: T }[], end: number, same: (a: T, b: T) => boolean) {
  const runs: { start: number; end: number; value: T }[] = []
  for (const point of points) {
    const last = runs.at(-1)
    if (last && same(last.value, point.value)) continue
    if (last) last.end = point.time
    runs.push({ start: point.time, end, value: point.value })
  }
  return runs
}

const PRODUCTS: Record<string, string> = { NEGPOS: 'FCR', POS: 'aFRR up', NEG: 'aFRR down' }

/** `2026-10-25_NEGPOS_20_24 accepted` → `FCR 20–24 on Sun, 25 Oct 2026 accepted`; `…: GRID_CONSTRAINT` in words. */
export function titleInWords(title: string): string {
  return title
    .replace(
      /^(\d{4}-\d\d-\d\d)_(NEGPOS|POS|NEG)_(\d\d)_(\d\d)\b/,
      (_, day: string, side: string, from: string, to: string) =>
        `${PRODUCTS[side] ?? side} ${from}–${to} on ${dayInWords(day)}`,
    )
    .replace(/^([\w ]+): ([A-Z_]+)$/, (_, what: string, kind: string) => `${what}: ${words(kind).toLowerCase()}`)
}

/** Sentences for people: what names a thing to machines is left out, moments are told by the reader's clock. */
export function withoutIDs(text: string, zone: Zone, figures?: readonly Figure[]): string {
  const unnamed = text.replace(/ of the \w+ [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '')
  return inWords(unnamed, zone, figures)
}

/** When an entry is dated: what it tells of may lie ahead, but it was written before now. */
export function datedAt(entry: { start: string; createdAt: string }, now: number): number {
  const start = Date.parse(entry.start)
  return start <= now ? start : Math.min(now, Date.parse(entry.createdAt))
}
