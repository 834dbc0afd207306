/** Months of statements: what each organisation's lines come to, what was issued, and what is missing. */
import { useQueries, useQuery } from '@tanstack/react-query'
import { allPages, askAll, askJson, askMany, offers } from '../../shared/api/client'
import { type Organisation, useOrganisations } from '../../shared/api/names'
import { type Problem, Refused } from '../../shared/api/problem'
import { percent, plural, productInWords } from '../../shared/format'
import { weekday } from '../../shared/time/words'

export interface StatementLine {
  time: string
  day: string
  line: string
  amount: number | string
  counterparty: string
  counterpartyName?: string
  corrects?: { month: string; line: string; statementID?: string; number?: string }
}

export interface Statement {
  id: string
  organisationID: string
  organisationName: string
  /** `2026-09` */
  month: string
  status: 'PRELIMINARY' | 'ISSUED'
  start: string
  end: string
  lines: StatementLine[]
  total: number | string
  /** Of a preliminary one: what of the total has been until now. */
  toDate?: number | string
  corrects: { month: string; amount: number | string; number?: string }[]
  number?: string
  issuedAt?: string
  asOf?: string
  address?: string
  figures?: Figures
}

/** What a battery, or a virtual one, did in the month. MW, MWh, EUR; shares from 0 to 1. */
export interface AssetMonth {
  assetID: string
  kind: 'PHYSICAL' | 'VIRTUAL'
  name: string
  deliveryZone: string
  ratedPower: number
  days: number
  chargedEnergy: number
  dischargedEnergy: number
  cycles: number
  cycleLimit?: number
  reserveDischarge?: number
  technicalAvailability?: number
  availabilityDelivered?: number
  measuredShare?: number
  earned?: number
  earnedPerMW?: number
}

export interface Figures {
  assets: AssetMonth[]
  ratedPower: number
  earned?: number
  earnedPerMW?: number
  netPerMW?: number
  availabilityDelivered?: number
  measuredShare?: number
}

export interface Gap {
  kind: string
  day?: string
  periods?: number
  physicalAssetID?: string
  assetID?: string
  product?: string
  deliveryZone?: string
  measuredShare?: number
}

/** The statements of an organisation, the newest month first, their lines summed over the month. */
export function useStatements(organisation: string, isAsked = true) {
  return useQuery({
    queryKey: ['statements', organisation],
    queryFn: () => allPages<Statement>(`/organisations/${organisation}/statements?limit=100`),
    enabled: isAsked,
    staleTime: 5 * 60_000,
  })
}

/** What a month lacks before it can be issued. */
export function useGaps(month: string, isAsked: boolean) {
  return useQuery({
    queryKey: ['statements', 'missing', month],
    queryFn: () => askJson<Gap[]>(`/statements/missing?month=${month}`),
    enabled: isAsked && offers('GET /statements/missing'),
    staleTime: 60_000,
  })
}

/** The gaps that issuing was refused with, until they were read anew since. */
export function gapsNow(
  refused: { gaps: Gap[] | undefined; at: number },
  read: { gaps: Gap[] | undefined; at: number },
): Gap[] {
  return (refused.at > read.at ? refused.gaps : undefined) ?? read.gaps ?? refused.gaps ?? []
}

export function useStatement(organisation: string, id: string | undefined) {
  return useQuery({
    queryKey: ['statements', organisation, id],
    queryFn: () => askJson<Statement>(`/organisations/${organisation}/statements/${id}`),
    enabled: id !== undefined,
    staleTime: 5 * 60_000,
  })
}

/** EUR by battery: what the statement's figures leave out, from each battery's own lines as the statement counts them. */
export function useEarned({ id, start, end, asOf }: Statement, assets: AssetMonth[]) {
  const asked = assets.filter((one) => one.kind === 'PHYSICAL' && one.earned === undefined)
  const query = new URLSearchParams({ start, end, resolution: 'daily', ...(asOf && { 'as-of': asOf }) })
  return useQuery({
    queryKey: ['statements', 'earned', id, asOf ?? '', asked.length],
    queryFn: async () => {
      const found = await askMany<Pick<Statement, 'lines'>>(
        asked.map((one) => `/revenue-reporting/physical-assets/${one.assetID}/statement?${query}`),
      )
      return earnedOf(
        asked.map((one) => one.assetID),
        found,
      )
    },
    enabled: asked.length > 0,
    staleTime: 5 * 60_000,
  })
}

/** By battery the sum of its lines; one without a line has earned nothing, one that could not be asked is left out. */
export function earnedOf(
  ids: readonly string[],
  found: readonly (Pick<Statement, 'lines'> | null)[],
): Map<string, number> {
  return new Map(
    ids.flatMap((id, index) => {
      const lines = found[index]?.lines
      return lines ? [[id, lines.reduce((sum, line) => sum + cents(line.amount), 0) / 100] as const] : []
    }),
  )
}

/** Every organisation's statement of a month. An open month is computed when it is asked for: no other one is. */
export function useMonthStatements(month: string) {
  return useEachStatements(`month=${month}`, MOST_REQUESTS)
}

/** What was issued to every organisation: nothing is computed for it. */
export function useIssuedStatements() {
  return useEachStatements('status=ISSUED', 1)
}

const MOST_REQUESTS = 4

/** Some organisations in a request, and few requests, so that all processes of the service compute open months. */
function useEachStatements(query: string, mostRequests: number) {
  const organisations = useOrganisations()
  const participants = (organisations.data ?? []).filter((one) => one.kind === 'PARTICIPANT')
  const size = Math.max(2, Math.ceil(participants.length / mostRequests))
  const groups = Array.from({ length: Math.ceil(participants.length / size) }, (_, index) =>
    participants.slice(index * size, (index + 1) * size).map((one) => one.id),
  )
  const found = useQueries({
    queries: groups.map((ids) => ({
      queryKey: ['statements', 'each', query, ids.join()],
      queryFn: () => readEach(ids, query),
      staleTime: 5 * 60_000,
    })),
  })
  const ready = groups.reduce((sum, ids, index) => sum + (found[index]?.data ? ids.length : 0), 0)
  return {
    participants,
    ready,
    isLoading: organisations.isLoading || ready < participants.length,
    error: organisations.error ?? found.find((one) => one.error)?.error ?? null,
    statements: found.flatMap((one) => one.data ?? []),
    retry: () => void Promise.all(found.map((one) => one.refetch())),
  }
}

async function readEach(ids: string[], query: string): Promise<Statement[]> {
  const answers = await askAll(ids.map((id) => `/organisations/${id}/statements?limit=1000&${query}`))
  return answers.flatMap(({ status, body }) => {
    if (status >= 300) throw new Refused({ ...(body as Problem), status })
    return body as Statement[]
  })
}

export const cents = (amount: number | string): number => Math.round(Number(amount) * 100)

export interface Party {
  id: string
  name: string
  isOutside: boolean
}

export interface Matrix {
  parties: Party[]
  /** Cents by line and party. */
  rows: { line: string; cells: Map<string, number>; sum: number }[]
  totals: Map<string, number>
}

const OUTSIDE: Record<string, string> = { MARKET: 'Market', GRID_OPERATOR: 'Grid operators', OUTSIDE: 'Outside' }
export const partyInWords = (party: string): string => OUTSIDE[party] ?? 'An organisation'
const ORDER = [
  'TRADING',
  'FCR',
  'AFRR_CAPACITY',
  'AFRR_ENERGY',
  'AUCTION',
  'TOLLING',
  'IMBALANCE',
  'AVAILABILITY',
  'DRIFT',
  'RESERVE_SHORTFALL',
  'END_OF_LIFE',
  'CORRECTION',
]

/**
 * Lines by party over the statements of a month. Who has no statement, the market and the grid operators, has the other
 * side of what stands against it; so a line adds up to zero if what organisations pay each other does.
 */
export function matrixOf(statements: Statement[], organisations: Pick<Organisation, 'id' | 'name'>[]): Matrix {
  const names = new Map(organisations.map((one) => [one.id, one.name]))
  const lines = new Map<string, Map<string, number>>()
  const add = (line: string, party: string, amount: number) => {
    const cells = lines.get(line) ?? new Map<string, number>()
    cells.set(party, (cells.get(party) ?? 0) + amount)
    lines.set(line, cells)
  }
  for (const statement of statements)
    for (const { line, amount, counterparty } of statement.lines) {
      add(line, statement.organisationID, cents(amount))
      if (counterparty in OUTSIDE) add(line, counterparty, -cents(amount))
    }
  const present = new Set([...lines.values()].flatMap((cells) => [...cells.keys()]))
  const inside = statements
    .map((one) => ({ id: one.organisationID, name: one.organisationName || names.get(one.organisationID) || '' }))
    .filter((one, index, all) => all.findIndex((other) => other.id === one.id) === index)
    .sort((a, b) => a.name.localeCompare(b.name))
  const parties = [
    ...inside.map((one) => ({ ...one, isOutside: false })),
    ...Object.entries(OUTSIDE)
      .filter(([id]) => present.has(id))
      .map(([id, name]) => ({ id, name, isOutside: true })),
  ]
  const place = (line: string) => ORDER.indexOf(line) + 1 || ORDER.length + 1
  const rows = [...lines]
    .map(([line, cells]) => ({ line, cells, sum: [...cells.values()].reduce((all, each) => all + each, 0) }))
    .sort((a, b) => place(a.line) - place(b.line))
  const totals = new Map(
    parties.map(({ id }) => [id, rows.reduce((all, row) => all + (row.cells.get(id) ?? 0), 0)] as const),
  )
  return { parties, rows, totals }
}

/** The largest difference from zero of any line, in cents. */
export function largestDifference({ rows }: Matrix): number {
  return Math.max(0, ...rows.map((row) => Math.abs(row.sum)))
}

export interface GapGroup {
  kind: string
  title: string
  detail: string
  /** The command that loads it, where the console has no screen for it. */
  fix: { command: string; note?: string } | null
  action: { label: string; to: string } | null
}

const TITLES: Record<string, string> = {
  IMBALANCE_PRICE: 'Imbalance prices',
  DAY_AHEAD_PRICE: 'Day-ahead prices',
  SETTLEMENT: 'Awards settled',
  DISPATCH: 'Final dispatch',
  MEASUREMENT: 'Telemetry',
}

/** What issuing asks for, in the order in which it is shown. */
export const KINDS = Object.keys(TITLES)
export const titleOfKind = (kind: string): string => TITLES[kind] ?? kind

/** `Stade, Emden and 3 more` */
function listInWords(list: string[], most = 3): string {
  const rest = list.length - most
  return `${list.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** `Fri 30 Oct` */
const dayInMonth = (day: string | undefined): string => (day ? weekday(Date.parse(`${day}T12:00:00Z`), 'UTC') : '')

const EARLIER = 'On days before the first battery there is nothing to settle: issue without them.'
const FIXES: Record<string, { command: string; note?: string }> = {
  IMBALANCE_PRICE: { command: 'gridloom import rebap', note: EARLIER },
  DAY_AHEAD_PRICE: { command: 'gridloom import day-ahead', note: EARLIER },
  SETTLEMENT: { command: 'gridloom import settlements' },
}

/** What is missing, one row a kind, in words. */
export function gapsInWords(gaps: Gap[], nameOf: (id: string) => string | undefined): GapGroup[] {
  const kinds = [...new Set(gaps.map((gap) => gap.kind))]
  return kinds.map((kind) => {
    const some = gaps.filter((gap) => gap.kind === kind)
    const days = [...new Set(some.flatMap((gap) => gap.day ?? []))].sort()
    const quarters = some.reduce((sum, gap) => sum + (gap.periods ?? 0), 0)
    const first = some[0]
    const named = (id: string | undefined) => (id ? (nameOf(id) ?? 'a battery') : '')
    const detail =
      kind === 'MEASUREMENT'
        ? `${listInWords(some.map((gap) => `${named(gap.physicalAssetID)} ${percent(gap.measuredShare ?? 0, 1)}`))}; at least 95 % is needed`
        : kind === 'SETTLEMENT'
          ? listInWords(
              some.map(
                (gap) => `${productInWords(gap.product ?? '')} on ${dayInMonth(gap.day)} of ${named(gap.assetID)}`,
              ),
              2,
            )
          : kind === 'DISPATCH'
            ? `${plural(quarters, 'quarter-hour is', 'quarter-hours are')} not final${
                first?.deliveryZone
                  ? ` in ${listInWords(
                      some.map((gap) => gap.deliveryZone ?? ''),
                      4,
                    )}`
                  : ''
              }`
            : `${plural(quarters, 'quarter-hour')} of ${days.length === 1 ? dayInMonth(days[0]) : `${days.length} days, ${dayInMonth(days[0])} to ${dayInMonth(days.at(-1))}`}`
    const battery = kind === 'MEASUREMENT' ? first?.physicalAssetID : undefined
    const action = battery
      ? { label: 'Show', to: `/physical-assets/${battery}` }
      : kind === 'DISPATCH'
        ? { label: 'Delivery', to: '/delivery' }
        : null
    return { kind, title: titleOfKind(kind), detail, fix: FIXES[kind] ?? null, action }
  })
}

/** `2026-09`; null for any other text. */
export function monthFrom(text: string | null): string | null {
  return text !== null && /^[0-9]{4}-(0[1-9]|1[0-2])$/.test(text) ? text : null
}

export function addMonths(month: string, count: number): string {
  const date = new Date(`${month}-15T12:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + count)
  return date.toISOString().slice(0, 7)
}
