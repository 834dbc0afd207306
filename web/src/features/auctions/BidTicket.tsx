import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { answered, api } from '../../shared/api/client'
import { decimal, euro, percent, signedEuro } from '../../shared/format'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Icon } from '../../shared/ui/Icon'
import { FormProblem } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { type Auction, chanceOfMore, deliveryOf, groupOf, perMwDay, readPrice, type Valuation } from './data'
import { Spread } from './Spread'

interface Props {
  auction: Auction
  valuation: Valuation | undefined
  now: number
  text: string
  onText: (text: string) => void
}

const STEP_EUR = 100
/** Beyond so many times the P90 a price is more likely a slip than a wish. */
const FAR_ABOVE = 1.5

/** A bid takes two steps: name a price, then see what it replaces and place it. */
export function BidTicket({ auction, valuation, now, text, onText }: Props) {
  const [isReviewed, setIsReviewed] = useState(false)
  const [hasTried, setHasTried] = useState(false)
  const queries = useQueryClient()
  const read = readPrice(text)
  const standing = auction.currentBid?.price
  const isOpen = groupOf(auction, now) === 'Open'
  const place = useMutation({
    mutationFn: (price: number) =>
      answered(
        api.POST('/auctions/{auctionID}/bids', {
          params: { path: { auctionID: auction.id } },
          body: { price: price.toFixed(2) },
        }),
      ),
    onSuccess: () => setIsReviewed(false),
    onSettled: () => queries.invalidateQueries({ queryKey: ['auctions'] }),
  })

  const change = (value: string) => {
    setIsReviewed(false)
    place.reset()
    onText(value)
  }
  const step = (by: number) => change(decimal(Math.max(0.01, (read.price ?? standing ?? 0) + by), 2))
  const review = (event: FormEvent) => {
    event.preventDefault()
    setHasTried(true)
    if (read.price !== null && isOpen) setIsReviewed(true)
  }
  const isSame = read.price !== null && read.price === standing

  return (
    <Card className="ticket" title="Your bid" note="EUR, whole window">
      <form onSubmit={review} className="ticket-form">
        <div className={`price ${hasTried && read.fault ? 'is-wrong' : ''}`}>
          <span aria-hidden="true">€</span>
          <input
            aria-label="Price in EUR for the whole window"
            inputMode="decimal"
            autoComplete="off"
            value={text}
            placeholder="0.00"
            onChange={(event) => change(event.target.value)}
          />
          <Button isCompact onClick={() => step(-STEP_EUR)} aria-label="100 EUR less">
            −100
          </Button>
          <Button isCompact onClick={() => step(STEP_EUR)} aria-label="100 EUR more">
            +100
          </Button>
        </div>
        {hasTried && read.fault && (
          <p className="field-fault" role="alert">
            {read.fault}
          </p>
        )}
        {valuation && <QuickPicks valuation={valuation} onPick={change} />}
        <Meaning auction={auction} valuation={valuation} price={read.price} />
        {valuation && read.price !== null && <Spread valuation={valuation} price={read.price} />}
        {place.isSuccess && !isReviewed && auction.currentBid?.id === place.data.id && (
          <Placed bidID={place.data.id} price={place.data.price} />
        )}
        {!isReviewed && (
          <Button kind="primary" type="submit" disabled={!isOpen || isSame || (hasTried && read.price === null)}>
            {isOpen
              ? isSame
                ? 'This price stands'
                : standing
                  ? 'Review the new price'
                  : 'Review the bid'
              : 'Opens later'}
          </Button>
        )}
      </form>
      {isReviewed && read.price !== null && (
        <Review
          auction={auction}
          valuation={valuation}
          price={read.price}
          isBusy={place.isPending}
          error={place.error}
          onBack={() => setIsReviewed(false)}
          onPlace={(price) => place.mutate(price)}
        />
      )}
      <p className="ticket-foot note">
        Highest price wins, at equal prices the earlier bid. Bids of others are never shown, and yours is not shown to
        them.
      </p>
    </Card>
  )
}

function QuickPicks({ valuation, onPick }: { valuation: Valuation; onPick: (text: string) => void }) {
  const picks = [
    { label: 'P10', value: valuation.p10 },
    { label: 'Median', value: valuation.p50 },
    { label: 'P90', value: valuation.p90 },
  ]
  return (
    <div className="picks">
      {picks.map((pick) => (
        <button
          key={pick.label}
          type="button"
          disabled={pick.value < 0.01}
          onClick={() => onPick(decimal(pick.value, 2))}
        >
          <span>{pick.label}</span>
          {decimal(pick.value)}
        </button>
      ))}
    </div>
  )
}

function Meaning({
  auction,
  valuation,
  price,
}: {
  auction: Auction
  valuation: Valuation | undefined
  price: number | null
}) {
  const daily = price === null ? null : perMwDay(price, auction)
  const chance = price === null || !valuation ? undefined : chanceOfMore(price, valuation)
  const isBeyond = valuation && price !== null && chance === null
  return (
    <dl className="meaning">
      <div>
        <dt>Per MW and day</dt>
        <dd>{daily === null ? '–' : euro(daily)}</dd>
      </div>
      <div>
        <dt>Per MW and year</dt>
        <dd>{daily === null ? '–' : euro(daily * 365, 0)}</dd>
      </div>
      {valuation && price !== null && (
        <>
          <Left label="Left at the median" value={valuation.p50 - price} />
          <Left label="Left at P10" value={valuation.p10 - price} />
          <div>
            <dt>Chance to be worth more</dt>
            <dd>{isBeyond ? (price < valuation.p10 ? 'over 90 %' : 'under 10 %') : percent(chance ?? 0)}</dd>
          </div>
        </>
      )}
    </dl>
  )
}

function Left({ label, value }: { label: string; value: number }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className={value < 0 ? 'tone-danger' : 'tone-good'}>{signedEuro(value)}</dd>
    </div>
  )
}

function Placed({ bidID, price }: { bidID: string; price: number }) {
  return (
    <div className="placed" role="status">
      <Icon name="check" />
      <div>
        <strong>{euro(price)} counts.</strong>
        <p className="code">{bidID}</p>
      </div>
    </div>
  )
}

interface ReviewProps {
  auction: Auction
  valuation: Valuation | undefined
  price: number
  isBusy: boolean
  error: unknown
  onBack: () => void
  onPlace: (price: number) => void
}

function Review({ auction, valuation, price, isBusy, error, onBack, onPlace }: ReviewProps) {
  const zone = useZone()
  const standing = auction.currentBid?.price
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => button.current?.focus(), [])
  return (
    <section className="review" aria-label="Place this bid?">
      <h3>Place this bid?</h3>
      <p className="review-price">
        {standing !== undefined && (
          <>
            <s>{euro(standing)}</s>
            <Icon name="right" />
          </>
        )}
        <strong>{euro(price)}</strong>
      </p>
      <p>
        {standing !== undefined
          ? 'It replaces the bid that stands and counts from its own, later time.'
          : 'It counts from the moment it arrives.'}{' '}
        {valuation && price > FAR_ABOVE * valuation.p90 && (
          <strong className="tone-danger">
            {euro(price)} is {decimal(price / valuation.p90, 1)} times the P90 of its worth, {euro(valuation.p90)}.
          </strong>
        )}{' '}
        If it wins, you pay {euro(price)} and hold the battery from {weekdayTime(deliveryOf(auction).start, zone)}.
      </p>
      <FormProblem error={error} />
      <div className="review-foot">
        <Button onClick={onBack}>Back</Button>
        <button
          ref={button}
          type="button"
          className="button button-primary"
          disabled={isBusy}
          aria-busy={isBusy}
          onClick={() => onPlace(price)}
        >
          Place bid <span aria-hidden="true">↵</span>
        </button>
      </div>
    </section>
  )
}
