import { useIsFetching } from '@tanstack/react-query'
import { useRef } from 'react'
import { type PhysicalAsset, usePhysicalAssets, useVirtualAssets } from '../../shared/api/resources'
import { useIsOperator, useMay } from '../../shared/api/session'
import { usePlaying } from '../../shared/api/simulator'
import { useNow } from '../../shared/clock'
import { megawatts, plural } from '../../shared/format'
import { QUARTER_MS } from '../../shared/time/marketDay'
import { countdown, nearTime, time } from '../../shared/time/words'
import { Page } from '../../shared/ui/Page'
import { useZone } from '../../shared/zone'
import { useAuctions, useMedians } from '../auctions/data'
import { ComingCard } from './ComingCard'
import { useFleetStatus, useOutlook, useUnavailabilities } from './data'
import { FleetCard } from './FleetCard'
import { nextGate } from './next'
import { useOperations } from './operator'
import './overview.css'
import { PhysicalTable } from './PhysicalTable'
import { QueueCard } from './QueueCard'
import { closingFirst, needsOf } from './queue'
import { RevenueCard } from './RevenueCard'
import { ServiceState } from './ServiceState'
import { VirtualTable } from './VirtualTable'
import { ZonesTable } from './ZonesTable'

const MOST_VALUED = 1
const DAY_MS = 86_400_000

/** What needs me now? */
export default function Overview() {
  const now = useNow()
  const zone = useZone()
  const mayBid = useMay('Create:bids')
  const mayPlan = useMay('Update:schedules')
  const mayReadAuctions = useMay('Read:auctions')
  const mayReadRevenue = useMay('Read:revenue')
  const isOperator = useIsOperator()
  const virtual = useVirtualAssets()
  const physical = usePhysicalAssets()
  const auctions = useAuctions()
  const living = (virtual.data ?? []).filter((one) => Date.parse(one.end) > now)
  const batteries = physical.data ?? []
  const outlook = useOutlook(living, now)
  const { cuts, idle } = outlook
  const status = useFleetStatus(batteries)
  const { health } = status
  const isPlaying = usePlaying() !== null
  const { operations, isLoading: isLookingAround } = useOperations(batteries, now)
  const unavailabilities = useUnavailabilities(batteries)
  const isLoading =
    virtual.isLoading ||
    physical.isLoading ||
    status.isLoading ||
    outlook.isLoading ||
    isLookingAround ||
    (mayReadAuctions && auctions.isLoading)
  const isBidder = mayBid && !isOperator
  // A valuation keeps the service busy: it comes after all that the screen waits for.
  const isCalm = useIsFetching({ predicate: ({ queryKey }) => queryKey[0] !== 'valuations' }) === 0
  const hasBeenCalm = useRef(false)
  hasBeenCalm.current ||= isCalm && !isLoading
  const valued = isBidder && hasBeenCalm.current ? closingFirst(auctions.data ?? [], now, MOST_VALUED) : []
  const medians = useMedians(valued)
  const needs = needsOf(
    {
      auctions: auctions.data ?? [],
      medians,
      virtual: living,
      cuts,
      idle: mayPlan ? idle : [],
      physical: batteries,
      health,
      mayBid: isBidder,
      isPlaying,
      operations: isOperator ? operations : null,
    },
    now,
    // A time of day alone is one of the next or the last 24 hours.
    (ms) => (Math.abs(ms - now) < DAY_MS ? time(ms, zone) : nearTime(ms, now, zone)),
  )
  const gateSeconds = living[0]?.dispatchGateClosureSeconds ?? 480
  const firstStart = living.length > 0 ? Math.min(...living.map((one) => Date.parse(one.start))) : 0
  const gate = nextGate(now, gateSeconds, firstStart)
  // Nothing may be called calm that was not looked at.
  const unasked = [
    ...(isOperator ? operations.unasked : []),
    ...(outlook.isUnread ? ['the plans of the virtual batteries'] : []),
    ...(status.isUnread ? ['the state of the batteries'] : []),
  ]
  const error = virtual.error ?? physical.error ?? auctions.error

  return (
    <Page
      title="What needs me now"
      facts={isOperator ? operatorFactsOf(batteries) : factsOf(living, batteries.length)}
      aside={
        (living.length > 0 || operations.zones.length > 0) && (
          <span>
            Next {isOperator ? 'dispatch gate' : 'gate'}{' '}
            <strong className="gate-left tabular">in {countdown(gate.gate - now)}</strong>, at {time(gate.gate, zone)}{' '}
            for {time(gate.start, zone)}–{time(gate.start + QUARTER_MS, zone)}
          </span>
        )
      }
    >
      <div className="overview">
        <div className="overview-main">
          <QueueCard needs={needs} now={now} isLoading={isLoading} error={error} unasked={unasked} />
          {living.length > 0 && !isOperator && <VirtualTable assets={living} now={now} />}
          {batteries.length > 0 && isOperator && (
            <ZonesTable
              operations={operations}
              batteries={batteries}
              status={status}
              now={now}
              isLoading={isLookingAround}
            />
          )}
          {batteries.length > 0 && !isOperator && <PhysicalTable assets={batteries} status={status} />}
        </div>
        <div className="overview-side">
          {isOperator && batteries.length > 0 && <FleetCard assets={batteries} status={status} />}
          {mayReadRevenue && !isOperator && <RevenueCard now={now} />}
          <ComingCard
            auctions={auctions.data ?? []}
            unavailabilities={unavailabilities}
            hasBatteries={living.length > 0 || operations.zones.length > 0}
            gateSeconds={gateSeconds}
            now={now}
            foot={isOperator && !isLookingAround && <ServiceState operations={operations} />}
          />
        </div>
      </div>
    </Page>
  )
}

function operatorFactsOf(batteries: PhysicalAsset[]): string[] {
  if (batteries.length === 0) return []
  return [
    plural(batteries.length, 'physical battery', 'physical batteries'),
    `${megawatts(batteries.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0))} MW`,
    plural(new Set(batteries.map((one) => one.deliveryZone)).size, 'zone'),
  ]
}

function factsOf(
  living: { ratedDischargePower: number; energyCapacity: number; deliveryZone: string }[],
  physical: number,
) {
  const facts: string[] = []
  if (living.length > 0) {
    const power = living.reduce((sum, one) => sum + one.ratedDischargePower, 0)
    const energy = living.reduce((sum, one) => sum + one.energyCapacity, 0)
    facts.push(
      plural(living.length, 'virtual battery', 'virtual batteries'),
      `${megawatts(power)} MW · ${megawatts(energy)} MWh`,
    )
    facts.push(plural(new Set(living.map((one) => one.deliveryZone)).size, 'zone'))
  }
  if (physical > 0) facts.push(plural(physical, 'physical battery', 'physical batteries'))
  return facts
}
