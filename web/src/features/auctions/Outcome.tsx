import { useQuery } from '@tanstack/react-query'
import { answered, api, askJson } from '../../shared/api/client'
import { useMay, useSession } from '../../shared/api/session'
import { euro, signedEuro, size } from '../../shared/format'
import { HOUR_MS } from '../../shared/time/marketDay'
import { length, spanInWords, timeMs, weekday, weekdayTime } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { Icon, type IconName } from '../../shared/ui/Icon'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { type Auction, type Bid, deliveryOf, endOf } from './data'

function useAllocated(auction: Auction) {
  const { user } = useSession()
  const id = auction.virtualAssetID
  return useQuery({
    queryKey: ['virtual-assets', id],
    queryFn: () =>
      answered(
        api.GET('/organisations/{organisationID}/virtual-assets/{virtualAssetID}', {
          params: { path: { organisationID: user.organisationID, virtualAssetID: id ?? '' } },
        }),
      ),
    enabled: useMay('Read:virtual-assets') && id !== undefined,
  })
}

export function WonBanner({ auction }: { auction: Auction }) {
  const zone = useZone()
  const asset = useAllocated(auction)
  const mayReadRevenue = useMay('Read:revenue')
  const { item } = auction
  const delivery = deliveryOf(auction)
  const name = asset.data?.name ?? 'The battery'
  return (
    <section className="card won" aria-label="Won">
      <span className="won-mark">
        <Icon name="check" size={18} />
      </span>
      <div className="auction-title">
        <h2>Won: {name} is yours</h2>
        <p>
          {size(item.ratedDischargePower, item.energyCapacity)} in {item.deliveryZone}{' '}
          {spanInWords(delivery.start, delivery.end, zone)}. You pay{' '}
          {auction.currentBid && euro(auction.currentBid.price)}.
        </p>
      </div>
      {mayReadRevenue && auction.virtualAssetID && (
        <Link to={`/revenue/virtual-assets/${auction.virtualAssetID}`} className="button">
          Revenue
        </Link>
      )}
      {auction.virtualAssetID && (
        <Link to={`/virtual-batteries/${auction.virtualAssetID}`} className="button button-primary">
          Open the battery
        </Link>
      )}
    </section>
  )
}

interface Step {
  icon: IconName
  title: string
  note: string
  isDone: boolean
}

export function HowItWent({ auction, bids, now }: { auction: Auction; bids: Bid[]; now: number }) {
  const steps = useSteps(auction, bids, now)
  return (
    <Card className="ticket" title="How it went">
      <ol className="steps">
        {steps.map((step) => (
          <li key={step.title} className={step.isDone ? '' : 'is-coming'}>
            <span className="step-mark">
              <Icon name={step.icon} size={12} />
            </span>
            <div>
              <strong>{step.title}</strong>
              <p className="note">{step.note}</p>
            </div>
          </li>
        ))}
      </ol>
      {auction.status === 'WON' && <SoFar auction={auction} now={now} />}
      <p className="ticket-foot note">Other bids, their number and their prices are never shown.</p>
    </Card>
  )
}

function useSteps(auction: Auction, bids: Bid[], now: number): Step[] {
  const zone = useZone()
  const asset = useAllocated(auction)
  const steps: Step[] = []
  const bid = auction.currentBid
  const delivery = deliveryOf(auction)
  if (bid) {
    const at = Date.parse(bid.timestamp)
    const sequence = bids.find((one) => one.id === bid.id)?.sequence
    const note = `${weekday(at, zone)} ${timeMs(at, zone)}${sequence ? `, sequence ${sequence}` : ''}`
    steps.push({ icon: 'check', title: `Last bid ${euro(bid.price)}`, note, isDone: true })
  }
  steps.push({
    icon: 'check',
    title: 'Closed',
    note: `${weekday(endOf(auction), zone)} ${timeMs(endOf(auction), zone)}`,
    isDone: true,
  })
  const isPending = auction.status === 'PENDING' || auction.status === 'RUNNING'
  const outcome: Record<string, string> = {
    WON: 'once; your bid was the highest',
    LOST: 'once; another bid was higher, or as high and earlier',
    NO_BIDS_SUBMITTED: 'without a bid of yours',
  }
  steps.push({
    icon: isPending ? 'clock' : 'check',
    title: isPending ? 'Being cleared' : 'Cleared',
    note: isPending ? 'within seconds of the end' : (outcome[auction.status] ?? ''),
    isDone: !isPending,
  })
  if (auction.status !== 'WON') return steps
  const span = `${weekdayTime(delivery.start, zone)} – ${weekdayTime(delivery.end, zone)}`
  steps.push({ icon: 'check', title: `${asset.data?.name ?? 'Battery'} allocated`, note: span, isDone: true })
  const isDelivering = delivery.start <= now && now < delivery.end
  steps.push({
    icon: now >= delivery.end ? 'check' : 'clock',
    title: now >= delivery.end ? 'Delivered' : 'Delivering',
    note: isDelivering
      ? `since ${weekdayTime(delivery.start, zone)}, ${((now - delivery.start) / (24 * HOUR_MS)).toFixed(1)} of ${length(delivery.start, delivery.end)}`
      : `${now < delivery.start ? 'from' : 'until'} ${weekdayTime(now < delivery.start ? delivery.start : delivery.end, zone)}`,
    isDone: now >= delivery.start,
  })
  return steps
}

/** What was earned on it until now, against the part of its price that has passed. */
function SoFar({ auction, now }: { auction: Auction; now: number }) {
  const delivery = deliveryOf(auction)
  const until = Math.min(now, delivery.end)
  const id = auction.virtualAssetID ?? ''
  const isShown = useMay('Read:revenue') && id !== '' && until > delivery.start
  const revenue = useQuery({
    queryKey: ['revenue', 'so-far', id],
    queryFn: () =>
      askJson<{ data: Record<string, { value: number | null }[]> }>(
        `/revenue-reporting/virtual-assets/${id}/data-points?${new URLSearchParams({
          start: auction.item.start,
          end: auction.item.end,
          resolution: 'daily',
          datapoints: 'revenue_total_revenue,revenue_vba',
        })}`,
      ),
    enabled: isShown,
  })
  if (!isShown || !revenue.data) return null
  const series = revenue.data.data
  const sum = (category: string) => {
    const points = series[category] ?? []
    return points.reduce((total, point) => total + (point.value ?? 0), 0)
  }
  const earned = sum('revenue_total_revenue') - sum('revenue_vba')
  const share = (until - delivery.start) / (delivery.end - delivery.start)
  const paid = (auction.currentBid?.price ?? 0) * share
  return (
    <section aria-label="So far" className="so-far">
      <h2>So far</h2>
      <dl className="meaning">
        <div>
          <dt>Earned on it</dt>
          <dd>{euro(earned)}</dd>
        </div>
        <div>
          <dt>Price paid, share to date</dt>
          <dd>{euro(-paid)}</dd>
        </div>
        <div>
          <dt>Net</dt>
          <dd className={earned - paid < 0 ? 'tone-danger' : 'tone-good'}>{signedEuro(earned - paid, 2)}</dd>
        </div>
      </dl>
    </section>
  )
}
