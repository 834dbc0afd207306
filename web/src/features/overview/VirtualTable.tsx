import type { VirtualAsset } from '../../shared/api/resources'
import { isBalanced } from '../../shared/balance'
import { linear, linePath } from '../../shared/charts/scale'
import { decimal, signed, size } from '../../shared/format'
import { dayOf, spanOf } from '../../shared/time/marketDay'
import { weekday } from '../../shared/time/words'
import { Card, Legend } from '../../shared/ui/Card'
import { Skeleton } from '../../shared/ui/states'
import { TableScroll } from '../../shared/ui/TableScroll'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { storedOf, type Today, useToday } from './data'

const MOST = 24
const NONE = new Map<string, Today>()
const SPARK = { width: 132, height: 30 }

export function VirtualTable({ assets, now }: { assets: VirtualAsset[]; now: number }) {
  const shown = assets.slice(0, MOST)
  const today = useToday(shown, now)
  const known = today.data ?? NONE
  const charges = shown.map((asset) => chargeAt(known.get(asset.id)?.charge, now))
  const stored = storedOf(shown, charges)
  const net = [...known.values()].reduce((sum, one) => sum + (one.powerKw ?? 0), 0)
  return (
    <Card
      title="Batteries"
      note={
        <>
          {stored && (
            <>
              <strong>{decimal(stored.kwh / 1000, 1)}</strong> of {decimal(stored.ofKwh / 1000)} MWh stored · net{' '}
              <strong>{signed(net / 1000)} MW</strong> ·{' '}
            </>
          )}
          power bars: share of rated
        </>
      }
      actions={
        <Legend
          items={[
            { label: 'past', color: 'var(--soc)', kind: 'line' },
            { label: 'plan', color: 'var(--soc)', kind: 'dashed' },
          ]}
        />
      }
    >
      <TableScroll>
        <table className="table batteries">
          <thead>
            <tr>
              <th scope="col">Virtual battery</th>
              <th scope="col" colSpan={2}>
                State of charge, %
              </th>
              <th scope="col" colSpan={2}>
                Power now, MW
              </th>
              <th scope="col" className="wide-only-cell">
                Today, 00–24 h
              </th>
              <th scope="col">End of delivery</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((asset, index) => (
              <Row
                key={asset.id}
                asset={asset}
                charge={charges[index] ?? null}
                points={known.get(asset.id)?.charge}
                power={known.get(asset.id)?.powerKw ?? null}
                isLoading={today.isLoading}
                now={now}
              />
            ))}
          </tbody>
        </table>
      </TableScroll>
    </Card>
  )
}

type Points = { time: string; stateOfChargePercentage: number }[]

function chargeAt(points: Points | undefined, now: number): number | null {
  const next = points?.findIndex((point) => Date.parse(point.time) > now) ?? -1
  const before = points?.at(next < 0 ? -1 : Math.max(0, next - 1))
  if (!points || !before) return null
  const after = next > 0 ? points[next] : undefined
  if (!after) return before.stateOfChargePercentage
  // Power is constant within a quarter-hour, so the store moves evenly.
  const [from, to] = [Date.parse(before.time), Date.parse(after.time)]
  const share = (now - from) / (to - from)
  return before.stateOfChargePercentage + share * (after.stateOfChargePercentage - before.stateOfChargePercentage)
}

interface RowProps {
  asset: VirtualAsset
  charge: number | null
  points: Points | undefined
  power: number | null
  isLoading: boolean
  now: number
}

function Row({ asset, charge, points, power, isLoading, now }: RowProps) {
  const zone = useZone()
  const isComing = Date.parse(asset.start) > now
  return (
    <tr>
      <th scope="row">
        <Link to={`/virtual-batteries/${asset.id}`} className="battery-name">
          {asset.name}
        </Link>
        <span className="note">{size(asset.ratedDischargePower, asset.energyCapacity)}</span>
      </th>
      {isComing ? (
        <td colSpan={5} className="note">
          delivers from {weekday(Date.parse(asset.start), zone)}
        </td>
      ) : (
        <>
          <td className="bar-cell">
            <ChargeBar value={charge} />
          </td>
          <td className="number">
            <strong>
              {charge !== null ? decimal(charge, 1) : isLoading ? <Skeleton width={34} height={12} /> : '–'}
            </strong>
          </td>
          <td className="bar-cell power-cell">
            <PowerBar power={power ?? 0} charge={asset.ratedChargePower} discharge={asset.ratedDischargePower} />
          </td>
          <td className="number">
            <Power power={power} />
          </td>
          <td className="wide-only-cell">
            <Spark points={points ?? []} now={now} />
          </td>
        </>
      )}
      <td>
        <End asset={asset} />
      </td>
    </tr>
  )
}

export function ChargeBar({ value, isProjected = false }: { value: number | null; isProjected?: boolean }) {
  return (
    <span className={`charge-bar ${isProjected ? 'is-projected' : ''}`} aria-hidden="true">
      <span className="charge-fill" style={{ width: `${Math.min(100, Math.max(0, value ?? 0))}%` }} />
      <span className="charge-target" />
    </span>
  )
}

export function PowerBar({ power, charge, discharge }: { power: number; charge: number; discharge: number }) {
  const share = power >= 0 ? power / discharge : power / charge
  const width = Math.min(50, Math.abs(share) * 50)
  return (
    <span className="power-bar" aria-hidden="true">
      <span
        className={power >= 0 ? 'power-out' : 'power-in'}
        style={{ width: `${width}%`, left: power >= 0 ? '50%' : `${50 - width}%` }}
      />
    </span>
  )
}

export function Power({ power }: { power: number | null }) {
  if (power === null) return <span className="note">–</span>
  const text = signed(power / 1000)
  const tone = text.startsWith('+') ? 'tone-discharge' : text.startsWith('−') ? 'tone-charge' : 'note'
  return <strong className={tone}>{text}</strong>
}

function Spark({ points, now }: { points: Points; now: number }) {
  if (points.length === 0) return null
  const { start, end } = spanOf(dayOf(now))
  const x = linear(start, end, 0, SPARK.width - 4)
  const y = linear(0, 100, SPARK.height - 3, 3)
  const placed = points.map((one) => [Date.parse(one.time), one.stateOfChargePercentage] as const)
  const past = placed.filter(([at]) => at <= now).map(([at, value]) => [x(at), y(value)] as const)
  const plan = placed.filter(([at]) => at >= now - 15 * 60_000).map(([at, value]) => [x(at), y(value)] as const)
  const last = placed.at(-1)
  return (
    <svg
      width={SPARK.width}
      height={SPARK.height}
      viewBox={`0 0 ${SPARK.width} ${SPARK.height}`}
      preserveAspectRatio="none"
      className="spark"
      aria-hidden="true"
    >
      <rect width={Math.max(0, x(now))} height={SPARK.height} className="spark-past" />
      <line x1={0} x2={SPARK.width} y1={y(50)} y2={y(50)} className="spark-target" />
      <path d={linePath(past)} className="spark-line" />
      <path d={linePath(plan)} className="spark-line spark-plan" />
      {last && <circle cx={x(last[0])} cy={y(last[1])} r={2.5} className="spark-end" />}
    </svg>
  )
}

function End({ asset }: { asset: VirtualAsset }) {
  const off = Math.max(asset.imbalanceCharge, asset.imbalanceDischarge)
  if (isBalanced(asset, off))
    return (
      <span className="end-state tone-good">
        <span className="dot" /> balanced
      </span>
    )
  return (
    <span className="end-state tone-warning">
      <span className="dot" /> {decimal(off / 1000, 2)} MWh {asset.imbalanceCharge > 0 ? 'short' : 'too much'}
    </span>
  )
}
