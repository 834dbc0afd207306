/** Bids on several open auctions at once, their sum within a limit for the day. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../shared/api/client'
import { sentenceOf } from '../../shared/api/problem'
import { decimal, euro, plural, size } from '../../shared/format'
import { dayOf } from '../../shared/time/marketDay'
import { countdown, dayRange } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Field } from '../../shared/ui/Field'
import { useKept } from '../../shared/ui/Kept'
import { say } from '../../shared/ui/Said'
import { Sheet } from '../../shared/ui/Sheet'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { type Auction, deliveryOf, endOf, grouped, readPrice, useMedians } from './data'

interface Row {
  auction: Auction
  text: string
  price: number | null
  fault: string | null
}

/** What stands or is typed in auctions that close on the same day; none of it may be beyond the limit. */
export function committedOf(rows: readonly Pick<Row, 'auction' | 'price'>[]): number {
  return rows.reduce((sum, { auction, price }) => sum + (price ?? auction.currentBid?.price ?? 0), 0)
}

interface Props {
  auctions: Auction[]
  now: number
  onClose: () => void
}

export function BidsTogether({ auctions, now, onClose }: Props) {
  const zone = useZone()
  const queries = useQueryClient()
  const open = grouped(auctions, now).find(([group]) => group === 'Open')?.[1] ?? []
  const medians = useMedians(open.map((one) => one.id))
  const { kept, keep } = useKept<string>('bid-limit')
  const [texts, setTexts] = useState<Record<string, string>>({})
  const [limitText, setLimitText] = useState(kept.limit ?? '')
  const [isReviewed, setIsReviewed] = useState(false)
  const [isBusy, setIsBusy] = useState(false)
  const [refused, setRefused] = useState<ReadonlyMap<string, string>>(new Map())
  const rows = open.map((auction): Row => {
    const text = texts[auction.id] ?? ''
    const read = text.trim() === '' ? { price: null, fault: null } : readPrice(text)
    return { auction, text, price: read.price, fault: read.fault }
  })
  // A bid that stands already counts, for it may win as well.
  const today = dayOf(now)
  const total = committedOf(rows.filter((row) => dayOf(endOf(row.auction)) === today || row.price !== null))
  const limit = limitText.trim() === '' ? null : readPrice(limitText)
  const over = limit?.price != null ? total - limit.price : 0
  const placing = rows.filter((row) => row.price !== null && row.price !== row.auction.currentBid?.price)
  const held =
    rows.some((row) => row.fault) || limit?.fault
      ? 'A price cannot be read.'
      : over > 0.004
        ? `${euro(over)} beyond the limit.`
        : placing.length === 0
          ? 'No price is typed.'
          : null
  const type = (id: string, text: string) => {
    setIsReviewed(false)
    setTexts((old) => ({ ...old, [id]: text }))
  }
  const place = async () => {
    setIsBusy(true)
    const found = new Map<string, string>()
    let count = 0
    for (const { auction, price } of placing) {
      try {
        await answered(
          api.POST('/auctions/{auctionID}/bids', {
            params: { path: { auctionID: auction.id } },
            body: { price: (price ?? 0).toFixed(2) },
          }),
        )
        count += 1
      } catch (error) {
        found.set(auction.id, sentenceOf(error))
      }
    }
    await queries.invalidateQueries({ queryKey: ['auctions'] })
    setRefused(found)
    setTexts((old) => Object.fromEntries(Object.entries(old).filter(([id]) => found.has(id))))
    setIsReviewed(false)
    setIsBusy(false)
    say(`${plural(count, 'bid')} placed.`)
    if (found.size === 0) onClose()
  }
  return (
    <Sheet title="Bid on several" isOpen onClose={onClose} width={720}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (held !== null) return
          keep('limit', limitText.trim() === '' ? null : limitText)
          setIsReviewed(true)
        }}
      >
        <Table
          columns={[
            'Auction',
            { label: 'Closes in', isNumber: true },
            { label: 'Worth, median', isNumber: true, isWide: true },
            { label: 'Stands', isNumber: true },
            { label: 'Your bid, EUR', isNumber: true },
          ]}
        >
          <tbody>
            {rows.map(({ auction, text, fault, price }) => (
              <tr key={auction.id}>
                <td>
                  <strong>{size(auction.item.ratedDischargePower, auction.item.energyCapacity)}</strong>
                  <span className="note second-line">
                    {auction.item.deliveryZone} · {dayRange(deliveryOf(auction).start, deliveryOf(auction).end, zone)}
                  </span>
                </td>
                <td className="number">{countdown(endOf(auction) - now)}</td>
                <td className="number wide-cell">
                  {medians.has(auction.id) ? decimal(medians.get(auction.id) ?? 0, 0) : '–'}
                </td>
                <td className="number">{auction.currentBid ? decimal(auction.currentBid.price, 2) : '–'}</td>
                <td className="number">
                  <span className={`input ${fault ? 'is-wrong' : ''}`}>
                    <input
                      aria-label={`Bid for ${size(auction.item.ratedDischargePower, auction.item.energyCapacity)}, ${auction.item.deliveryZone}`}
                      inputMode="decimal"
                      autoComplete="off"
                      value={text}
                      aria-invalid={fault !== null || undefined}
                      onChange={(event) => type(auction.id, event.target.value)}
                    />
                  </span>
                  {fault && <span className="field-fault second-line">{fault}</span>}
                  {refused.has(auction.id) && (
                    <span className="field-fault second-line" role="alert">
                      {refused.get(auction.id)}
                    </span>
                  )}
                  {price !== null && medians.has(auction.id) && price > (medians.get(auction.id) ?? 0) && (
                    <span className="note tone-warning second-line">above the median of its worth</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr className="matrix-total">
              <th scope="row">At most to be paid</th>
              <td />
              <td className="wide-cell" />
              <td />
              <td className="number">
                <strong>{decimal(total, 2)}</strong>
              </td>
            </tr>
          </tfoot>
        </Table>
        <Field
          label="Limit for the day"
          suffix="EUR"
          inputMode="decimal"
          hint="What is typed, and what stands in auctions that close today, is held within it; kept in this browser"
          value={limitText}
          fault={limit?.fault ?? (over > 0.004 ? `${euro(total)} is ${euro(over)} beyond it.` : undefined)}
          onChange={(event) => {
            setIsReviewed(false)
            setLimitText(event.target.value)
          }}
        />
        {!isReviewed && (
          <div className="form-foot">
            {held && placing.length > 0 && <span className="note tone-warning">{held}</span>}
            <Button kind="primary" type="submit" disabled={held !== null}>
              Review {plural(placing.length, 'bid')}
            </Button>
          </div>
        )}
      </form>
      {isReviewed && (
        <section className="review" aria-label="Place these bids?">
          <h3>Place {plural(placing.length, 'bid')}?</h3>
          <p>
            {placing
              .map(
                ({ auction, price }) =>
                  `${size(auction.item.ratedDischargePower, auction.item.energyCapacity)}: ${auction.currentBid ? `${euro(auction.currentBid.price)} → ` : ''}${euro(price ?? 0)}`,
              )
              .join('; ')}
            . Each counts by itself, from the moment it arrives; if all win, you pay {euro(total)}.
          </p>
          <div className="review-foot">
            <Button onClick={() => setIsReviewed(false)}>Back</Button>
            <Button kind="primary" isBusy={isBusy} onClick={() => void place()}>
              Place {plural(placing.length, 'bid')}
            </Button>
          </div>
        </section>
      )}
    </Sheet>
  )
}
