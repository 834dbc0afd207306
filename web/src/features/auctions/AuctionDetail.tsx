import { useState } from 'react'
import { useMay } from '../../shared/api/session'
import { decimal } from '../../shared/format'
import { Card } from '../../shared/ui/Card'
import { AuctionHead } from './AuctionHead'
import { BidTicket } from './BidTicket'
import { type Auction, groupOf, readPrice, useBids, useValuation } from './data'
import { HowItWent, WonBanner } from './Outcome'
import { ValuationFan } from './ValuationFan'
import { YourBids } from './YourBids'

/** One auction for who is invited: what it is worth, what stands, and the ticket. */
export function AuctionDetail({ auction, now }: { auction: Auction; now: number }) {
  const mayBid = useMay('Create:bids')
  const bids = useBids(auction.id, true)
  const valuation = useValuation(auction)
  const standing = auction.currentBid?.price
  const [text, setText] = useState(standing ? decimal(standing, 2) : '')
  const draft = readPrice(text).price
  const group = groupOf(auction, now)
  const isWon = auction.status === 'WON'
  return (
    <div className="auction-detail">
      {isWon ? <WonBanner auction={auction} /> : <AuctionHead auction={auction} now={now} />}
      <div className="auction-columns">
        <div className="auction-main">
          <ValuationFan auction={auction} valuation={valuation} draft={group === 'Open' && mayBid ? draft : null} />
          <YourBids auction={auction} bids={bids} now={now} />
        </div>
        {group === 'Closed' ? (
          <HowItWent auction={auction} bids={bids.data ?? []} now={now} />
        ) : mayBid ? (
          <BidTicket auction={auction} valuation={valuation.data} now={now} text={text} onText={setText} />
        ) : (
          <Card className="ticket" title="Your bid">
            <p className="ticket-note">Your role may read auctions, not bid. A trader of your organisation can.</p>
          </Card>
        )}
      </div>
    </div>
  )
}
