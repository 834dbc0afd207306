import { offers } from '../../shared/api/client'
import { usePhysicalAssets } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { useMinute, useNow } from '../../shared/clock'
import { decimal, megawatts, plural } from '../../shared/format'
import { addDays, dayFrom, dayOf, QUARTER_MS, quarterAt, spanOf } from '../../shared/time/marketDay'
import { countdown, dayInWords, time } from '../../shared/time/words'
import { IconButton } from '../../shared/ui/Button'
import { Card, Figures } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { go, Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { BatteriesCard } from './BatteriesCard'
import './delivery.css'
import { DeviationCard } from './DeviationCard'
import { type Run, totalsOf, useDelivered, useRuns, useZones, type Zone } from './data'
import { ZonesCard } from './ZonesCard'

/** What was netted, what could not be served? */
export default function Delivery(props: ScreenProps) {
  const isOperator = useIsOperator()
  if (isOperator && offers('GET /delivery/runs')) return <DeliveryDay {...props} />
  return (
    <Page title="Delivery">
      <Card>
        <Empty title="Delivery is the operator’s">What your own batteries must do is on each of them.</Empty>
      </Card>
    </Page>
  )
}

function DeliveryDay({ values }: ScreenProps) {
  const now = useMinute()
  const today = dayOf(now)
  const day = dayFrom(values.day) ?? today
  const span = spanOf(day)
  const assets = usePhysicalAssets()
  const runs = useRuns(span)
  const zones = useZones(span)
  const batteries = assets.data ?? []
  const {
    delivered,
    isLoading: isDeliveredLoading,
    isLoadingError,
    error,
    refetch,
  } = useDelivered(batteries, span, now)
  const power = batteries.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0)
  const move = (days: number) => go(`/delivery/${addDays(day, days)}`)
  return (
    <Page
      title={dayInWords(day)}
      crumb={{ label: 'Delivery', to: '/delivery' }}
      facts={[
        zones.data !== undefined && plural(zones.data.length, 'zone'),
        batteries.length > 0 && plural(batteries.length, 'battery', 'batteries'),
        power > 0 && `${megawatts(power)} MW`,
      ]}
      aside={
        <>
          <IconButton name="left" label="The day before" className="icon-button bordered" onClick={() => move(-1)} />
          <Link to="/delivery" className="button">
            Today
          </Link>
          <IconButton name="right" label="The day after" className="icon-button bordered" onClick={() => move(1)} />
        </>
      }
    >
      <Loaded query={zones} skeleton={<SkeletonCard height={90} />}>
        {(found) => <Totals zones={found} runs={runs.data ?? []} />}
      </Loaded>
      {(assets.isLoading || zones.isLoading) && (
        <div className="delivery">
          <SkeletonCard height={560} />
          <SkeletonCard height={560} />
        </div>
      )}
      {assets.isError && <ProblemNote error={assets.error} onRetry={() => void assets.refetch()} />}
      {assets.data && zones.data && (
        <div className="delivery">
          {zones.data.length > 0 ? (
            <ZonesCard zones={zones.data} batteries={batteries} span={span} now={now} />
          ) : (
            <Card title="Zones">
              <Empty title="Nothing was planned for this day">
                A zone appears here as soon as a virtual battery delivers in it.
              </Empty>
            </Card>
          )}
          {isLoadingError ? (
            <ProblemNote error={error} onRetry={() => void refetch()} />
          ) : batteries.length > 0 ? (
            <BatteriesCard
              batteries={batteries}
              delivered={delivered}
              isLoading={isDeliveredLoading}
              span={span}
              now={now}
            />
          ) : (
            <Card title="Batteries">
              <Empty title="No battery is visible to the operator">
                An owner grants access to each battery, its schedules and its measurements.
              </Empty>
            </Card>
          )}
        </div>
      )}
      {span.start < now && isDeliveredLoading && <SkeletonCard height={250} />}
      {span.start < now && delivered.size > 0 && (
        <DeviationCard performances={[...delivered.values()].map((one) => one.performance)} span={span} now={now} />
      )}
    </Page>
  )
}

function Totals({ zones, runs }: { zones: Zone[]; runs: Run[] }) {
  const zone = useZone()
  const now = useNow()
  const totals = totalsOf(zones)
  const share = (part: number, words: string) =>
    totals.scheduled > 0 ? `${decimal((part / totals.scheduled) * 100, 1)} % ${words}` : 'nothing is scheduled'
  const next = quarterAt(now) + QUARTER_MS
  const took = runs[0]?.solverSeconds
  const { missed } = totals
  return (
    <Figures
      figures={[
        {
          label: 'Scheduled, in and out',
          value: decimal(totals.scheduled, 1),
          unit: 'MWh',
          below: 'by virtual batteries, all day',
        },
        {
          label: 'Netted',
          value: decimal(totals.netted, 1),
          unit: 'MWh',
          below: totals.netted > 0 ? share(totals.netted, 'never touch a battery') : 'nothing met its opposite',
        },
        {
          label: 'Dispatched',
          value: decimal(totals.dispatched, 1),
          unit: 'MWh',
          below: share(totals.dispatched, 'of what is scheduled'),
        },
        {
          label: 'Unserved',
          value: decimal(totals.unserved, 1),
          unit: 'MWh',
          below: missed
            ? `${plural(missed.quarters, 'quarter')}, ${missed.zone} ${time(missed.start, zone)}–${time(missed.end, zone)}`
            : 'all was served',
          tone: missed ? 'danger' : 'good',
        },
        {
          label: 'Next quarter-hour',
          value: `in ${countdown(next - now)}`,
          below: `for ${time(next, zone)}–${time(next + QUARTER_MS, zone)}${took === undefined ? '' : ` · last ${decimal(took * 1000)} ms`}`,
        },
      ]}
    />
  )
}
