/** The lines of a statement with what they are made of: volumes and prices, where those known are the line's own. */
import { decimal, euro, plural, words } from '../../shared/format'
import type { Span } from '../../shared/time/marketDay'
import { type Series, type Statement, type Subject, usePoints } from './data'

/** So much of something, and the EUR it brought; negative where it cost. */
interface Traded {
  volume: number
  eur: number
}

export interface Volumes {
  sold: Traded
  bought: Traded
  up: Traded
  down: Traded
  /** MW·h of reserve. */
  fcr: Traded
  tollsEur: number
  /** EUR per MW and year, the mean of the days that had one. */
  annualToll: number | null
}

/** What the asset did over the span. */
export function useVolumes(subject: Subject | undefined, span: Span) {
  return usePoints(subject, span, 'daily', volumesOf)
}

export function volumesOf(data: Series): Volumes {
  const sum = (name: string) => (data[name] ?? []).reduce((all, { value }) => all + (value ?? 0), 0)
  const paid = (side: 'sell' | 'buy') => {
    const prices = new Map(data[`${side}_vwap_wholesale`]?.map(({ time, value }) => [time, value ?? 0]))
    const volumes = data[`${side}_volume_wholesale`] ?? []
    return volumes.reduce((all, { time, value }) => all + (value ?? 0) * (prices.get(time) ?? 0), 0)
  }
  const tolls = (data.annual_price_tolling ?? []).flatMap(({ value }) => (value ? [value] : []))
  return {
    sold: { volume: sum('sell_volume_wholesale'), eur: paid('sell') },
    bought: { volume: sum('buy_volume_wholesale'), eur: -paid('buy') },
    up: { volume: sum('total_volume_afrr_energy_pos'), eur: sum('revenue_afrr_energy_pos') },
    down: { volume: sum('total_volume_afrr_energy_neg'), eur: sum('revenue_afrr_energy_neg') },
    fcr: { volume: sum('weighted_capacity_fcr'), eur: sum('revenue_fcr') },
    tollsEur: sum('revenue_tolling'),
    annualToll: tolls.length === 0 ? null : tolls.reduce((all, each) => all + each, 0) / tolls.length,
  }
}

export interface Line {
  label: string
  amount: number
  /** What it is made of. */
  note?: string
  colour?: string
}

const COLOURS: Record<string, string> = {
  TOLLING: 'var(--tolling)',
  AUCTION: 'var(--auction)',
  TRADING: 'var(--wholesale)',
  FCR: 'var(--fcr)',
  AFRR_CAPACITY: 'var(--afrr-capacity)',
  AFRR_ENERGY: 'var(--afrr-energy)',
}

const LABELS: Record<string, string> = {
  TRADING: 'Wholesale',
  FCR: 'FCR',
  AFRR_CAPACITY: 'aFRR capacity',
  AFRR_ENERGY: 'aFRR energy',
  AUCTION: 'Auction price',
  TOLLING: 'Tolls',
}

/** Income and cost, the largest first. A line that was traded both ways is shown both ways. */
export function linesOf(statement: Statement, volumes?: Volumes): { income: Line[]; cost: Line[] } {
  const sums = new Map<string, Sum>()
  for (const { line, amount, counterparty, time } of statement.lines) {
    const sum = sums.get(line) ?? { line, plus: 0, minus: 0, days: new Set(), others: new Set() }
    if (amount >= 0) sum.plus += amount
    else sum.minus += amount
    sum.days.add(time.slice(0, 10))
    sum.others.add(counterparty)
    sums.set(line, sum)
  }
  const lines = [...sums.values()].flatMap((sum) => partsOf(sum, volumes))
  return {
    income: lines.filter(({ amount }) => amount > 0).sort((a, b) => b.amount - a.amount),
    cost: lines.filter(({ amount }) => amount < 0).sort((a, b) => a.amount - b.amount),
  }
}

interface Sum {
  line: string
  plus: number
  minus: number
  days: Set<string>
  others: Set<string>
}

function partsOf(sum: Sum, volumes: Volumes | undefined): Line[] {
  const { line, plus, minus } = sum
  const net = plus + minus
  // Statements are rounded by the day; figures that are further off belong to another party's part of the asset.
  const isOwn = (eur: number) => Math.abs(Math.abs(net) - Math.abs(eur)) <= 0.01 * (sum.days.size + 1)
  if (line === 'TRADING' && volumes && isOwn(volumes.sold.eur + volumes.bought.eur))
    return bothWays(line, net, ['sold', volumes.sold], ['bought', volumes.bought])
  if (line === 'AFRR_ENERGY' && volumes && isOwn(volumes.up.eur + volumes.down.eur))
    return bothWays(line, net, ['up', volumes.up], ['down', volumes.down])
  const note = noteOf(sum, volumes, isOwn)
  return [named(line, net, note)]
}

function bothWays(line: string, net: number, [first, one]: [string, Traded], [second, two]: [string, Traded]): Line[] {
  const note = ({ volume, eur }: Traded) =>
    volume > 0 ? `${decimal(volume, 1)} MWh at ${euro(Math.abs(eur) / volume)}` : undefined
  const label = LABELS[line] ?? ''
  return [
    // What rounding by days leaves is in the first, so that the two are the line.
    { ...named(line, net - two.eur, note(one)), label: `${label}, ${first}` },
    { ...named(line, two.eur, note(two)), label: `${label}, ${second}` },
  ]
}

function named(line: string, amount: number, note: string | undefined): Line {
  const found: Line = { label: LABELS[line] ?? words(line), amount }
  const colour = COLOURS[line]
  if (note) found.note = note
  if (colour) found.colour = colour
  return found
}

function noteOf({ line, others, plus }: Sum, volumes: Volumes | undefined, isOwn: (eur: number) => boolean) {
  if (line === 'IMBALANCE') return 'open volume at reBAP'
  if (line === 'END_OF_LIFE') return 'energy left or missing at the end'
  if (line === 'FCR' && volumes && volumes.fcr.volume > 0 && isOwn(volumes.fcr.eur))
    return `${decimal(volumes.fcr.volume)} MW·h at ${euro(volumes.fcr.eur / volumes.fcr.volume)} per MW and hour`
  if (line !== 'TOLLING' && line !== 'AUCTION') return undefined
  const organisations = [...others].filter((one) => one.includes('-')).length
  const whom = organisations > 0 ? `${plus > 0 ? 'from' : 'to'} ${plural(organisations, 'organisation')}` : ''
  const price =
    line === 'TOLLING' && volumes?.annualToll && isOwn(volumes.tollsEur)
      ? `${euro(volumes.annualToll, 0)} per MW and year`
      : ''
  return [price, whom].filter(Boolean).join(', ') || undefined
}
