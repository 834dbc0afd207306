import { type UseQueryResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../shared/api/client'
import { useMay } from '../../shared/api/session'
import { decimal, euro } from '../../shared/format'
import { timeMs, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Icon } from '../../shared/ui/Icon'
import { FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { TableScroll } from '../../shared/ui/TableScroll'
import { useZone } from '../../shared/zone'
import { type Auction, type Bid, groupOf, perMwDay, standingAfter } from './data'

interface Props {
  auction: Auction
  bids: UseQueryResult<Bid[]>
  now: number
}

/** Every bid of one's own, the newest first, with the receipt of the one that stands. */
export function YourBids({ auction, bids, now }: Props) {
  const zone = useZone()
  const mayBid = useMay('Create:bids')
  const standing = auction.currentBid
  const isOpen = groupOf(auction, now) === 'Open'
  const count = bids.data?.length ?? 0
  return (
    <Card
      title="Your bids"
      note={count > 0 ? String(count) : undefined}
      actions={
        standing && isOpen && mayBid && bids.data ? (
          <Withdraw auction={auction} bidID={standing.id} next={standingAfter(bids.data, standing.id)} />
        ) : undefined
      }
    >
      <Loaded query={bids} skeleton={<SkeletonRows rows={2} height={32} />}>
        {(list) =>
          list.length === 0 ? (
            <p className="card-body note">
              {isOpen ? 'None yet: name a price at the right.' : 'Your organisation placed none.'}
            </p>
          ) : (
            <TableScroll>
              <table className="table bids">
                <thead>
                  <tr>
                    <th scope="col">No.</th>
                    <th scope="col">Counted</th>
                    <th scope="col" className="number">
                      EUR
                    </th>
                    <th scope="col" className="number">
                      EUR/MW/day
                    </th>
                    <th scope="col" className="number">
                      State
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {[...list]
                    .sort((a, b) => b.sequence - a.sequence)
                    .map((bid) => (
                      <tr key={bid.id} className={bid.id === standing?.id ? 'is-selected' : ''}>
                        <td>{bid.sequence}</td>
                        <td>
                          {weekday(Date.parse(bid.timestamp), zone)} {timeMs(Date.parse(bid.timestamp), zone)}
                        </td>
                        <td className="number">
                          {bid.id === standing?.id ? <strong>{decimal(bid.price, 2)}</strong> : decimal(bid.price, 2)}
                        </td>
                        <td className="number">{decimal(perMwDay(bid.price, auction), 2)}</td>
                        <td className="number">
                          <State auction={auction} bid={bid} />
                        </td>
                      </tr>
                    ))}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
      {standing && <Receipt id={standing.id} />}
    </Card>
  )
}

function State({ auction, bid }: { auction: Auction; bid: Bid }) {
  if (bid.withdrawn) return <span className="note">withdrawn</span>
  if (bid.id !== auction.currentBid?.id) return <span className="note">replaced</span>
  const word = auction.status === 'WON' ? 'won' : auction.status === 'LOST' ? 'lost' : 'stands'
  if (word === 'lost') return <Badge>lost</Badge>
  return (
    <Badge tone="good">
      <Icon name="check" size={12} />
      {word}
    </Badge>
  )
}

function Receipt({ id }: { id: string }) {
  const [isCopied, setIsCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(id)
    setIsCopied(true)
  }
  return (
    <footer className="receipt">
      <span className="note">Receipt</span>
      <span className="code">{id}</span>
      <Button isCompact icon="copy" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </footer>
  )
}

function Withdraw({ auction, bidID, next }: { auction: Auction; bidID: string; next: Bid | null }) {
  const [isAsked, setIsAsked] = useState(false)
  const queries = useQueryClient()
  const withdraw = useMutation({
    mutationFn: () =>
      api.DELETE('/auctions/{auctionID}/bids/{bidID}', { params: { path: { auctionID: auction.id, bidID } } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['auctions'] }),
    onSuccess: () => setIsAsked(false),
  })
  if (!isAsked)
    return (
      <Button kind="quiet" isCompact onClick={() => setIsAsked(true)}>
        Withdraw
      </Button>
    )
  return (
    <>
      {withdraw.isError && <FormProblem error={withdraw.error} />}
      <span className="note">
        {next ? `Your bid before, ${euro(next.price)}, would stand again.` : 'No bid of yours would stand.'}
      </span>
      <Button isCompact onClick={() => setIsAsked(false)}>
        Keep it
      </Button>
      <Button kind="danger" isCompact isBusy={withdraw.isPending} onClick={() => withdraw.mutate()}>
        Withdraw it
      </Button>
    </>
  )
}
