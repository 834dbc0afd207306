import type { ReactNode } from 'react'
import type { PhysicalAsset } from '../../shared/api/resources'
import { linear } from '../../shared/charts/scale'
import { decimal, megawatts, plural, signed } from '../../shared/format'
import { dayOf, QUARTER_MS, spanOf } from '../../shared/time/marketDay'
import { time } from '../../shared/time/words'
import { Card, Legend } from '../../shared/ui/Card'
import { Skeleton } from '../../shared/ui/states'
import { TableScroll } from '../../shared/ui/TableScroll'
import { useZone } from '../../shared/zone'
import { totalsOf } from '../delivery/data'
import type { FleetStatus } from './data'
import { lastQuarter, type Operations } from './operator'
import { ChargeBar, Power } from './VirtualTable'

interface Props {
  operations: Operations
  batteries: PhysicalAsset[]
  status: FleetStatus
  now: number
  /** Until the zones are read. */
  isLoading: boolean
}

const SPARK = { width: 168, height: 56 }

/** Zone by zone: what was dispatched in the last quarter-hour that is over, what was measured in it, and the day. */
export function ZonesTable({ operations, batteries, status, now, isLoading }: Props) {
  const zone = useZone()
  const quarter = lastQuarter(now)
  const names = [...new Set(batteries.map((one) => one.deliveryZone))].sort()
  const reach = Math.max(
    1,
    ...operations.zones.flatMap((one) =>
      one.quarters.map((each) => Math.abs(each.dispatched) + Math.abs(each.unserved)),
    ),
  )
  return (
    <Card
      title="Zones"
      note={`${time(quarter, zone)}–${time(quarter + QUARTER_MS, zone)}, the last complete quarter-hour`}
      actions={
        <Legend
          items={[
            { label: 'export', color: 'var(--discharge)' },
            { label: 'import', color: 'var(--charge)' },
            { label: 'unserved', color: 'var(--danger)' },
          ]}
        />
      }
    >
      <TableScroll>
        <table className="table batteries zones-table">
          <thead>
            <tr>
              <th scope="col">Zone</th>
              <th scope="col" colSpan={2}>
                State of charge, %
              </th>
              <th scope="col" className="number">
                Dispatch, MW
              </th>
              <th scope="col" className="number">
                Measured
              </th>
              <th scope="col" className="wide-only-cell">
                Today, 00–24 h
              </th>
              <th scope="col" className="number wide-only-cell">
                Available
              </th>
              <th scope="col">Delivery</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <Row
                key={name}
                name={name}
                reach={reach}
                now={now}
                isLoading={isLoading}
                operations={operations}
                status={status}
                batteries={batteries.filter((one) => one.deliveryZone === name)}
              />
            ))}
          </tbody>
          {names.length > 1 && (
            <tfoot>
              <Together operations={operations} batteries={batteries} status={status} />
            </tfoot>
          )}
        </table>
      </TableScroll>
    </Card>
  )
}

interface RowProps extends Props {
  name: string
  reach: number
}

function Row({ name, reach, now, isLoading, ...props }: RowProps) {
  const quarters = props.operations.zones.find((one) => one.deliveryZone === name)?.quarters ?? []
  const unserved = quarters.reduce((all, one) => all + Math.abs(one.unserved) / 4000, 0)
  const sums = sumsOf(props)
  return (
    <tr>
      <th scope="row">
        <span className="battery-name">{name}</span>
        <span className="note">
          {megawatts(sums.rated)} MW in {props.batteries.length}
        </span>
      </th>
      <Sums sums={sums}>
        <Bars quarters={quarters} reach={reach} now={now} />
      </Sums>
      <td>
        {isLoading ? (
          <Skeleton width={64} height={12} />
        ) : quarters.length === 0 ? (
          <span className="note">nothing planned</span>
        ) : unserved >= 0.05 ? (
          <span className="end-state tone-danger">
            <span className="dot" />
            <span>
              {decimal(unserved, 1)} MWh<span className="second-line">unserved</span>
            </span>
          </span>
        ) : (
          <span className="end-state tone-good">
            <span className="dot" /> all served
          </span>
        )}
      </td>
    </tr>
  )
}

/** All zones together, with what their day comes to. */
function Together(props: Pick<Props, 'batteries' | 'status' | 'operations'>) {
  const { scheduled, netted, dispatched, unserved } = totalsOf(props.operations.zones)
  const asked = dispatched + unserved
  return (
    <tr className="zones-together">
      <th scope="row">
        <span className="battery-name">All zones</span>
      </th>
      <Sums sums={sumsOf(props)}>
        <span className="note">
          {decimal(scheduled, 1)} MWh scheduled, {decimal(netted, 1)} netted
        </span>
      </Sums>
      <td className="note">{asked > 0 ? `${decimal((dispatched / asked) * 100, 1)} % served` : '–'}</td>
    </tr>
  )
}

interface ZoneSums {
  rated: number
  percent: number | null
  dispatched: number | null
  measured: number | null
  available: number | null
  /** Of the last quarter-hour; what it was may still be on its way. */
  isRead: boolean
}

/** kW of some batteries; null where none of them has said anything. */
function sumsOf({ batteries, status, operations }: Pick<Props, 'batteries' | 'status' | 'operations'>): ZoneSums {
  const sum = (pick: (asset: PhysicalAsset) => number | undefined) => {
    const known = batteries.map(pick).filter((value): value is number => value !== undefined)
    return known.length === 0 ? null : known.reduce((all, value) => all + value, 0)
  }
  const charge = (one: PhysicalAsset) => status.latest.get(one.id)?.state_of_charge?.value
  const told = batteries.filter((one) => charge(one) !== undefined)
  const capacity = told.reduce((all, one) => all + one.parameters.energyCapacity, 0)
  const stored = told.reduce((all, one) => all + ((charge(one) ?? 0) / 100) * one.parameters.energyCapacity, 0)
  return {
    rated: sum((one) => one.parameters.ratedDischargePower) ?? 0,
    percent: capacity > 0 ? (stored / capacity) * 100 : null,
    dispatched: sum((one) => operations.quarter?.get(one.id)?.dispatchedPower),
    measured: sum((one) => {
      const point = operations.quarter?.get(one.id)
      return point?.measuredPower === undefined ? undefined : point.measuredPower - (point.reserveResponse ?? 0)
    }),
    available: sum((one) => status.health.get(one.id)?.availablePower.discharge),
    isRead: operations.quarter !== null,
  }
}

function Sums({ sums, children }: { sums: ZoneSums; children: ReactNode }) {
  const { rated, percent, dispatched, measured, available, isRead } = sums
  const waiting = <Skeleton width={40} height={12} />
  return (
    <>
      <td className="bar-cell">
        <ChargeBar value={percent} />
      </td>
      <td className="number">
        <strong>{percent === null ? '–' : decimal(percent, 1)}</strong>
      </td>
      <td className="number">{isRead ? <Power power={dispatched} /> : waiting}</td>
      <td className="number">{!isRead ? waiting : measured === null ? '–' : signed(measured / 1000)}</td>
      <td className="wide-only-cell">{children}</td>
      <td className="number wide-only-cell">
        {available === null ? '–' : `${megawatts(available)} of ${megawatts(rated)}`}
      </td>
    </>
  )
}

interface BarsProps {
  quarters: { time: string; dispatched: number; unserved: number }[]
  reach: number
  now: number
}

function Bars({ quarters, reach, now }: BarsProps) {
  const { start, end } = spanOf(dayOf(now))
  const x = linear(start, end, 0, SPARK.width)
  const y = linear(-reach, reach, SPARK.height - 2, 2)
  const width = Math.max(1, (x(start + QUARTER_MS) - x(start)) * 0.8)
  return (
    <svg
      width={SPARK.width}
      height={SPARK.height}
      role="img"
      aria-label={`Dispatch of the day, ${plural(quarters.length, 'quarter-hour')}`}
    >
      <rect width={Math.max(0, x(now))} height={SPARK.height} className="spark-past" />
      {quarters.map((one) => {
        const at = Date.parse(one.time)
        const top = Math.min(y(0), y(one.dispatched))
        const missed = one.unserved >= 0 ? y(one.dispatched + one.unserved) : y(one.dispatched)
        return (
          <g key={one.time}>
            <rect
              x={x(at)}
              width={width}
              y={top}
              height={Math.abs(y(one.dispatched) - y(0))}
              className={`${one.dispatched >= 0 ? 'bar-out' : 'bar-in'} ${at > now ? 'is-closed' : ''}`}
            />
            {one.unserved !== 0 && (
              <rect
                x={x(at)}
                width={width}
                y={missed}
                height={Math.max(1, Math.abs(y(one.dispatched + one.unserved) - y(one.dispatched)))}
                className="bar-missed"
              />
            )}
          </g>
        )
      })}
      <line x1={0} x2={SPARK.width} y1={y(0)} y2={y(0)} className="axis-line" />
      <line x1={x(now)} x2={x(now)} y1={0} y2={SPARK.height} className="now-line" />
    </svg>
  )
}
