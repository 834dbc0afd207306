import { offers } from '../../shared/api/client'
import { usePhysicalAssets } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { useMinute, useNow } from '../../shared/clock'
import { decimal, megawatts, plural } from '../../shared/format'
import { addDays, dayOf, QUARTER_MS, quarterAt, spanOf } from '../../shared/time/marketDay'
import { countdown, dayInWords, time } from '../../shared/time/words'
import { IconButton } from '../../shared/ui/Button'
import { Card, Figures } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { go, Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screens'
import { BatteriesCard } from './BatteriesCard'
import './delivery.css'
import { totalsOf, useDispatches, useRuns } from './data'
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
  const day = values.day ?? today
  const span = spanOf(day)
  const assets = usePhysicalAssets()
  const runs = useRuns(span)
  const batteries = assets.data ?? []
  const dispatches = useDispatches(batteries, span)
  const power = batteries.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0)
  const zones = [...new Set(batteries.map((one) => one.deliveryZone))]
  const move = (days: number) => go(`/delivery/${addDays(day, days)}`)
  return (
    <Page
      title={dayInWords(day)}
      crumb={{ label: 'Delivery', to: '/delivery' }}
      facts={[
        zones.length > 0 && plural(zones.length, 'zone'),
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
      {runs.isError ? (
        <ProblemNote error={runs.error} onRetry={() => void runs.refetch()} />
      ) : (
        <Totals runs={runs.data} />
      )}
      {assets.isLoading && <SkeletonCard height={460} />}
      {assets.isError && <ProblemNote error={assets.error} onRetry={() => void assets.refetch()} />}
      {assets.data?.length === 0 && (
        <Card>
          <Empty title="No battery is visible to the operator">
            An owner grants Read:physical-assets, Read:schedules and Read:monitoring on each of its batteries.
          </Empty>
        </Card>
      )}
      {batteries.length > 0 && (
        <div className="delivery">
          <ZonesCard batteries={batteries} dispatches={dispatches} span={span} now={now} />
          <BatteriesCard batteries={batteries} dispatches={dispatches} now={day === today ? now : span.start} />
        </div>
      )}
    </Page>
  )
}

function Totals({ runs }: { runs: ReturnType<typeof useRuns>['data'] }) {
  const zone = useZone()
  const now = useNow()
  if (!runs) return <SkeletonCard height={90} />
  const totals = totalsOf(runs)
  const share = (part: number) =>
    totals.scheduled > 0
      ? `${decimal((part / totals.scheduled) * 100, 1)} % of what is scheduled`
      : 'nothing is scheduled'
  const next = quarterAt(now) + QUARTER_MS
  return (
    <Figures
      figures={[
        {
          label: 'Scheduled, in and out',
          value: decimal(totals.scheduled, 1),
          unit: 'MWh',
          below: `by virtual batteries, ${plural(runs.length, 'run')}`,
        },
        {
          label: 'Netted',
          value: decimal(totals.netted, 1),
          unit: 'MWh',
          below: totals.netted > 0 ? 'never touch a battery' : 'nothing met its opposite',
        },
        { label: 'Dispatched', value: decimal(totals.spread, 1), unit: 'MWh', below: share(totals.spread) },
        {
          label: 'Unserved',
          value: decimal(totals.unserved, 1),
          unit: 'MWh',
          below: totals.unserved > 0 ? 'more than the batteries could' : 'all was served',
          tone: totals.unserved > 0 ? 'danger' : 'good',
        },
        {
          label: 'Next quarter-hour',
          value: countdown(next - now),
          below: `${time(next, zone)}–${time(next + QUARTER_MS, zone)}${totals.lastSeconds === null ? '' : ` · last run took ${decimal(totals.lastSeconds * 1000)} ms`}`,
        },
      ]}
    />
  )
}
