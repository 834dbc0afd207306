/** Battery by battery: how much of it was there, how far it was used, and what it earned. */
import { useQuery } from '@tanstack/react-query'
import { askMany, type Schemas } from '../../shared/api/client'
import { type PhysicalAsset, usePhysicalAssets, useVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { useSession } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { decimal, megawatts, percent } from '../../shared/format'
import { instant, type Span } from '../../shared/time/marketDay'
import { Card } from '../../shared/ui/Card'
import { useSeen } from '../../shared/ui/seen'
import { Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'
import { pointsPath, type Series, type Subject, TOTAL, withoutPaid } from './data'

const MOST = 24

interface Did {
  id: string
  to: string
  name: string
  zone: string
  powerKw: number
  days: number
  available: number | null
  cycles: number | null
  limit: number | null
  earned: number
}

export function BatteriesCard({ subject, span }: { subject: Subject; span: Span }) {
  const now = useMinute()
  const organisation = useSession().user.organisationID
  const virtual = (useVirtualAssets().data ?? [])
    .filter((one) => Date.parse(one.start) < span.end && Date.parse(one.end) > span.start && isMember(subject, one))
    .sort((a, b) => Date.parse(b.start) - Date.parse(a.start))
  const physical = (usePhysicalAssets().data ?? []).filter(
    (one) => one.organisationID === organisation && (subject.kind === 'organisations' || subject.id === one.id),
  )
  const isPhysical =
    subject.kind === 'physical-assets' ||
    (physical.length > 0 && subject.kind !== 'portfolios' && subject.kind !== 'virtual-assets')
  const count = (isPhysical ? physical : virtual).length
  const until = Math.min(span.end, now)
  const [ref, isSeen] = useSeen()
  const found = useQuery({
    queryKey: ['revenue', 'batteries', subject.kind, subject.id, span.start, span.end],
    queryFn: () =>
      isPhysical
        ? readPhysical(physical.slice(0, MOST), { start: span.start, end: until })
        : readVirtual(virtual.slice(0, MOST), { start: span.start, end: until }),
    enabled: isSeen && count > 0 && until > span.start,
    staleTime: 5 * 60_000,
  })
  if (count === 0) return null
  const extent = count > MOST ? `${MOST} of ${count}${isPhysical ? '' : ', the newest'}; ` : ''
  return (
    <div ref={ref}>
      <Card
        title="What the batteries did"
        note={extent + (isPhysical ? 'available, as announced; cycles as measured' : 'earned in the markets')}
      >
        {isSeen ? (
          <Loaded query={found} skeleton={<SkeletonRows rows={4} />}>
            {(list) => <Rows list={list} />}
          </Loaded>
        ) : (
          <div className="batteries-unseen" />
        )}
      </Card>
    </div>
  )
}

/** `30`, `0.3`: a day that is under way is a part of one. */
const shortened = (value: number): string => decimal(value, Math.abs(value - Math.round(value)) < 0.05 ? 0 : 1)

function Rows({ list }: { list: Did[] }) {
  return (
    <Table
      columns={[
        'Battery',
        { label: 'MW', isNumber: true },
        { label: 'Days', isNumber: true },
        { label: 'Available', isNumber: true },
        { label: 'Cycles', isNumber: true },
        { label: 'Earned, EUR', isNumber: true },
        { label: 'EUR per MW', isNumber: true },
      ]}
    >
      <tbody>
        {list.map((one) => (
          <tr key={one.id}>
            <td>
              <Link to={one.to}>
                <strong>{one.name}</strong>
              </Link>{' '}
              <span className="note">{one.zone}</span>
            </td>
            <td className="number">{megawatts(one.powerKw)}</td>
            <td className="number">{shortened(one.days)}</td>
            <td className="number">{one.available === null ? '–' : percent(one.available, 1)}</td>
            <td className="number">
              {one.cycles === null ? '–' : decimal(one.cycles, 1)}
              {one.limit !== null && <span className="note"> of {shortened(one.limit)}</span>}
            </td>
            <td className="number">{decimal(one.earned, 2)}</td>
            <td className="number">{decimal(one.earned / (one.powerKw / 1000), 2)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function isMember(subject: Subject, asset: VirtualAsset): boolean {
  if (subject.kind === 'organisations') return true
  return subject.kind === 'portfolios' ? asset.portfolioID === subject.id : asset.id === subject.id
}

const DAY_MS = 24 * 3_600_000
const spanQuery = (span: Span) => new URLSearchParams({ start: instant(span.start), end: instant(span.end) })

async function readPhysical(assets: PhysicalAsset[], span: Span): Promise<Did[]> {
  const answers = await askMany<unknown>(
    assets.flatMap((asset) => [
      pointsPath({ kind: 'physical-assets', id: asset.id }, span, 'daily', [TOTAL]),
      `/monitoring/${asset.id}/datapoints/sum/detailed?${spanQuery(span)}&datapoints=active_power`,
      `/physical-assets/${asset.id}/unavailability?limit=1000`,
    ]),
  )
  const days = (span.end - span.start) / DAY_MS
  return assets.map((asset, index) => {
    const [points, summed, missing] = answers.slice(3 * index, 3 * index + 3)
    const rated = asset.parameters.ratedDischargePower
    const cycles = (summed as { data: { active_power?: { cycles?: number } } } | null)?.data.active_power?.cycles
    return {
      id: asset.id,
      to: `/physical-assets/${asset.id}`,
      name: asset.name,
      zone: asset.deliveryZone,
      powerKw: rated,
      days,
      available: missing ? availableShare(missing as Schemas['Unavailability'][], rated, span) : null,
      cycles: cycles ?? null,
      limit: asset.parameters.dailyCycleLimit ? asset.parameters.dailyCycleLimit * days : null,
      earned: sumOf(points as { data: Series } | null),
    }
  })
}

/** What was not announced as missing, of the rated power over the time; what overlaps adds up, at most all of it. */
export function availableShare(
  list: Pick<Schemas['Unavailability'], 'start' | 'end' | 'volume'>[],
  ratedKw: number,
  span: Span,
): number {
  const edges = new Set([span.start, span.end])
  for (const one of list)
    for (const edge of [Date.parse(one.start), Date.parse(one.end)])
      if (edge > span.start && edge < span.end) edges.add(edge)
  const sorted = [...edges].sort((a, b) => a - b)
  let lost = 0
  for (let index = 0; index + 1 < sorted.length; index += 1) {
    const [from, to] = [sorted[index] ?? 0, sorted[index + 1] ?? 0]
    const missing = list
      .filter((one) => Date.parse(one.start) <= from && Date.parse(one.end) >= to)
      .reduce((sum, one) => sum + one.volume.powerCapacity.discharge, 0)
    lost += Math.min(ratedKw, missing) * (to - from)
  }
  return 1 - lost / (ratedKw * (span.end - span.start))
}

async function readVirtual(assets: VirtualAsset[], span: Span): Promise<Did[]> {
  const lives = assets.map((asset) => ({
    start: Math.max(span.start, Date.parse(asset.start)),
    end: Math.min(span.end, Date.parse(asset.end)),
  }))
  const answers = await askMany<{ data: Series }>(
    assets.flatMap((asset, index) => {
      const life = lives[index] ?? span
      return [
        pointsPath({ kind: 'virtual-assets', id: asset.id }, life, 'daily', [TOTAL, 'revenue_tolling', 'revenue_vba']),
        `/organisations/${asset.organisationID}/virtual-assets/${asset.id}/operational?${spanQuery(life)}&categories=cyclesTotal,powerCapacityDischargeAvailable`,
      ]
    }),
  )
  return assets.flatMap((asset, index) => {
    const life = lives[index] ?? span
    if (life.end <= life.start) return []
    const [points, used] = [answers[2 * index], answers[2 * index + 1]]
    const cycles = (used?.data.cyclesTotal ?? []).flatMap(({ value }) => value ?? [])
    const there = (used?.data.powerCapacityDischargeAvailable ?? []).flatMap(({ value }) => value ?? [])
    const rated = asset.ratedDischargePower
    const paid = {
      time: 0,
      perMw: 0,
      total: sumOf(points),
      parts: { revenue_tolling: sumOf(points, 'revenue_tolling'), revenue_vba: sumOf(points, 'revenue_vba') },
    }
    return [
      {
        id: asset.id,
        to: `/virtual-batteries/${asset.id}`,
        name: asset.name,
        zone: asset.deliveryZone,
        powerKw: rated,
        days: (life.end - life.start) / DAY_MS,
        available: there.length > 0 ? there.reduce((sum, kw) => sum + Math.min(1, kw / rated), 0) / there.length : null,
        cycles: cycles.length > 0 ? (cycles.at(-1) ?? 0) - (cycles[0] ?? 0) : null,
        limit: asset.dailyCycleLimit ? (asset.dailyCycleLimit * (life.end - life.start)) / DAY_MS : null,
        earned: withoutPaid(paid).total,
      },
    ]
  })
}

function sumOf(points: { data: Series } | null | undefined, category: string = TOTAL): number {
  return (points?.data[category] ?? []).reduce((sum, { value }) => sum + (value ?? 0), 0)
}
