import type { KeyboardEvent } from 'react'
import { euro, size } from '../../shared/format'
import { countdown, dayMonth, dayRange, time } from '../../shared/time/words'
import { Badge, Card } from '../../shared/ui/Card'
import { Icon } from '../../shared/ui/Icon'
import { Segmented } from '../../shared/ui/Segmented'
import { useZone } from '../../shared/zone'
import { Link, useParameter } from '../../shell/router'
import { type Auction, deliveryOf, endOf, grouped, groupOf, startOf } from './data'

const CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'won', label: 'Won' },
] as const
const OPERATOR_CHOICES = [CHOICES[0], CHOICES[1]]
const URGENT_MS = 15 * 60_000
const MOST_CLOSED = 60

interface Props {
  auctions: Auction[]
  chosen: string | undefined
  now: number
  isOperator: boolean
}

export function AuctionList({ auctions, chosen, now, isOperator }: Props) {
  const [asked, setAsked] = useParameter('show')
  const choice = CHOICES.find((one) => one.value === asked)?.value ?? 'all'
  const shown = auctions.filter(
    (auction) => choice === 'all' || (choice === 'open' ? groupOf(auction, now) === 'Open' : auction.status === 'WON'),
  )
  const stop = shown.some((one) => one.id === chosen) ? chosen : grouped(shown, now)[0]?.[1][0]?.id
  return (
    <Card
      className="auction-list"
      title={isOperator ? 'All auctions' : 'Invited to'}
      actions={
        <>
          <Segmented
            label="Which auctions"
            options={isOperator ? OPERATOR_CHOICES : CHOICES}
            value={choice}
            onChange={(one) => setAsked(one === 'all' ? null : one)}
          />
          <Link to="/auctions?as=table" className="button button-compact">
            Table
          </Link>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrows walk between the links in it, which are one stop */}
      <div className="auction-groups" onKeyDown={walk}>
        {grouped(shown, now).map(([group, members]) => (
          <section key={group} aria-label={group}>
            <h3 className="auction-group">{group}</h3>
            <ul>
              {members.slice(0, MOST_CLOSED).map((auction) => (
                <li key={auction.id}>
                  <Row
                    auction={auction}
                    isChosen={auction.id === chosen}
                    isStop={auction.id === stop}
                    now={now}
                    isOperator={isOperator}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {shown.length === 0 && <p className="auction-none">None of these.</p>}
      </div>
    </Card>
  )
}

/** ↑ and ↓ go from one auction to the next: by Tab the list is one stop, and the bid comes soon after it. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('.auction-row')]
  const next = all[all.indexOf(event.target as HTMLElement) + (event.key === 'ArrowDown' ? 1 : -1)]
  if (!next) return
  event.preventDefault()
  next.focus()
}

function Row({
  auction,
  isChosen,
  isStop,
  now,
  isOperator,
}: {
  auction: Auction
  isChosen: boolean
  /** Where Tab comes to. */
  isStop: boolean
  now: number
  isOperator: boolean
}) {
  const zone = useZone()
  const { item } = auction
  const delivery = deliveryOf(auction)
  return (
    <Link
      to={`/auctions/${auction.id}${location.search}`}
      className={`auction-row ${isChosen ? 'is-chosen' : ''}`}
      tabIndex={isStop ? 0 : -1}
      aria-current={isChosen}
    >
      <strong>{size(item.ratedDischargePower, item.energyCapacity)}</strong>
      <span className="auction-when tabular">
        <When auction={auction} now={now} isOperator={isOperator} />
      </span>
      <span className="note">
        {item.deliveryZone} · {dayRange(delivery.start, delivery.end, zone)}
      </span>
      <span className="note number tabular">
        <Below auction={auction} now={now} isOperator={isOperator} />
      </span>
    </Link>
  )
}

function When({ auction, now, isOperator }: { auction: Auction; now: number; isOperator: boolean }) {
  const group = groupOf(auction, now)
  if (group === 'Open') {
    const left = endOf(auction) - now
    return <strong className={left < URGENT_MS ? 'tone-danger' : ''}>{countdown(left)}</strong>
  }
  if (group === 'Not started') return <strong>in {countdown(startOf(auction) - now)}</strong>
  return <Ended auction={auction} isOperator={isOperator} />
}

export function Ended({ auction, isOperator }: { auction: Auction; isOperator: boolean }) {
  if (isOperator) return <Cleared auction={auction} />
  if (auction.status === 'WON')
    return (
      <Badge tone="good">
        <Icon name="check" size={12} />
        won
      </Badge>
    )
  if (auction.status === 'LOST') return <Badge>lost</Badge>
  if (auction.status === 'NO_BIDS_SUBMITTED') return <Badge>no bid</Badge>
  return <Badge tone="warning">being cleared</Badge>
}

/** For how much it went, or why it did not. */
function Cleared({ auction }: { auction: Auction }) {
  if (auction.state === 'CANCELLED') return <Badge>cancelled</Badge>
  if (auction.outcome === 'ALLOCATED' && auction.price != null) return <strong>{euro(auction.price)}</strong>
  if (auction.outcome === 'CAPACITY_GONE') return <Badge tone="warning">no capacity</Badge>
  if (auction.outcome === 'NO_VALID_BID') return <Badge>no valid bid</Badge>
  return <Badge tone="warning">being cleared</Badge>
}

function Below({ auction, now, isOperator }: { auction: Auction; now: number; isOperator: boolean }) {
  const zone = useZone()
  const group = groupOf(auction, now)
  if (group === 'Not started') return <>opens {time(startOf(auction), zone)}</>
  if (isOperator && group === 'Open') return <>closes {time(endOf(auction), zone)}</>
  if (isOperator)
    return (
      <>
        {dayMonth(endOf(auction), zone)} {time(endOf(auction), zone)}
      </>
    )
  if (auction.currentBid) return <>{euro(auction.currentBid.price)}</>
  return <>{group === 'Open' ? 'no bid yet' : '–'}</>
}
