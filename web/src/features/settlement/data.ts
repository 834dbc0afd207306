/** Months of statements: what each organisation's lines come to, what was issued, and what is missing. */
import { useQueries, useQuery } from '@tanstack/react-query'
import { allPages, askJson } from '../../shared/api/client'
import { type Organisation, useOrganisations } from '../../shared/api/names'

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
  availabilityDelivered?: number
  measuredShare?: number
  earned?: number
  earnedPerMW?: number
}

export interface Figures {
  assets: AssetMonth[]
  ratedPower: number
  earnedPerMW?: number
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

export function useStatement(organisation: string, id: string | undefined) {
  return useQuery({
    queryKey: ['statements', organisation, id],
    queryFn: () => askJson<Statement>(`/organisations/${organisation}/statements/${id}`),
    enabled: id !== undefined,
    staleTime: 5 * 60_000,
  })
}

/** Every organisation's statements. Open months are computed when they are asked for, so each comes as it is ready. */
export function useAllStatements() {
  const organisations = useOrganisations()
  const participants = (organisations.data ?? []).filter((one) => one.kind === 'PARTICIPANT')
  const found = useQueries({
    queries: participants.map((one) => ({
      queryKey: ['statements', one.id],
      queryFn: () => allPages<Statement>(`/organisations/${one.id}/statements?limit=100`),
      staleTime: 5 * 60_000,
    })),
  })
  const ready = found.filter((one) => one.data !== undefined).length
  return {
    participants,
    ready,
    isLoading: organisations.isLoading || ready < participants.length,
    error: organisations.error ?? found.find((one) => one.error)?.error ?? null,
    statements: found.flatMap((one) => one.data ?? []),
    retry: () => void Promise.all(found.map((one) => one.refetch())),
  }
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
  action: { label: string; to: string } | null
}

const TITLES: Record<string, string> = {
  IMBALANCE_PRICE: 'Imbalance prices',
  DAY_AHEAD_PRICE: 'Day-ahead prices',
  SETTLEMENT: 'Awards settled',
  DISPATCH: 'Final dispatch',
  MEASUREMENT: 'Telemetry',
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
        ? `${some
            .slice(0, 3)
            .map((gap) => `${named(gap.physicalAssetID)} ${((gap.measuredShare ?? 0) * 100).toFixed(1)} %`)
            .join(', ')}${some.length > 3 ? ` and ${some.length - 3} more` : ''}: 95 % are asked`
        : kind === 'SETTLEMENT'
          ? `${some.length} open, the first ${first?.product ?? ''} on ${first?.day ?? ''} of ${named(first?.assetID)}`
          : kind === 'DISPATCH'
            ? `${quarters} quarter-hours are not final${first?.deliveryZone ? ` in ${first.deliveryZone}` : ''}`
            : `${quarters} quarter-hours of ${days.length === 1 ? days[0] : `${days.length} days, ${days[0]} to ${days.at(-1)}`}`
    const battery = kind === 'MEASUREMENT' ? first?.physicalAssetID : undefined
    const action = battery
      ? { label: 'Show', to: `/physical-assets/${battery}` }
      : kind === 'DISPATCH'
        ? { label: 'Delivery', to: '/delivery' }
        : null
    return { kind, title: TITLES[kind] ?? kind, detail, action }
  })
}

/** `2026-10` → `October 2026` */
export function monthInWords(month: string): string {
  return new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.parse(`${month}-15T12:00:00Z`),
  )
}

export function addMonths(month: string, count: number): string {
  const date = new Date(`${month}-15T12:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + count)
  return date.toISOString().slice(0, 7)
}
