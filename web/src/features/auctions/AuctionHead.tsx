import type { ReactNode } from 'react'
import { decimal, efficiencies, percent, size } from '../../shared/format'
import { countdown, length, timeS, weekdayTime } from '../../shared/time/words'
import { useZone } from '../../shared/zone'
import { type Auction, deliveryOf, endOf, groupOf, startOf } from './data'

const URGENT_MS = 15 * 60_000

/** What is on offer, and how long it still is. */
export function AuctionHead({ auction, now, actions }: { auction: Auction; now: number; actions?: ReactNode }) {
  const zone = useZone()
  const { item } = auction
  const delivery = deliveryOf(auction)
  return (
    <section className="card auction-head" aria-label="On offer">
      <div className="auction-title">
        <h2>
          {size(item.ratedDischargePower, item.energyCapacity)} · {item.deliveryZone}
        </h2>
        <p className="note">
          {weekdayTime(delivery.start, zone)} – {weekdayTime(delivery.end, zone)},{' '}
          {length(delivery.start, delivery.end)}
        </p>
      </div>
      <dl className="auction-terms">
        <div>
          <dt>Efficiency</dt>
          <dd>{efficiencies(item.chargeEfficiency, item.dischargeEfficiency)}</dd>
        </div>
        <div>
          <dt>Charge</dt>
          <dd>
            {decimal(item.initialSoC * 100)} → {decimal(item.lastSoCTarget * 100)} ± {percent(item.finalSoCTolerance)}
          </dd>
        </div>
        <div>
          <dt>Cycles</dt>
          <dd>{item.dailyCycleLimit ? `${decimal(item.dailyCycleLimit)} a day` : 'no limit'}</dd>
        </div>
      </dl>
      <div className="auction-end">
        {actions}
        <Remaining auction={auction} now={now} zone={zone} />
      </div>
    </section>
  )
}

function Remaining({ auction, now, zone }: { auction: Auction; now: number; zone: 'Europe/Berlin' | 'UTC' }) {
  const group = groupOf(auction, now)
  if (group === 'Closed')
    return (
      <div className="auction-left">
        <strong>closed</strong>
        <span className="note">{weekdayTime(endOf(auction), zone)}</span>
      </div>
    )
  const left = (group === 'Open' ? endOf(auction) : startOf(auction)) - now
  return (
    <div className="auction-left" role="timer" aria-label={group === 'Open' ? 'Closes in' : 'Opens in'}>
      <strong className={group === 'Open' && left < URGENT_MS ? 'tone-danger' : ''}>{countdown(left)}</strong>
      <span className="note">
        {group === 'Open' ? 'closes' : 'opens'} {timeS(group === 'Open' ? endOf(auction) : startOf(auction), zone)}
      </span>
    </div>
  )
}
