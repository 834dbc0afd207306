import { useEffect, useState } from 'react'
import { useIsOperator, useMay } from '../../shared/api/session'
import { useNow } from '../../shared/clock'
import { plural } from '../../shared/format'
import { dayOf, HOUR_MS } from '../../shared/time/marketDay'
import { Button } from '../../shared/ui/Button'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonCard } from '../../shared/ui/states'
import { useZone, zoneName } from '../../shared/zone'
import { goWithin, useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { AuctionDetail } from './AuctionDetail'
import { AuctionList } from './AuctionList'
import { AuctionTable, TableFilters } from './AuctionTable'
import './auctions.css'
import { BidsTogether } from './BidsTogether'
import { type Auction, endOf, grouped, groupOf, startOf, useAuctions } from './data'
import { NewAuction } from './operator/NewAuction'
import { OperatedAuction } from './operator/OperatedAuction'

const NONE: Auction[] = []

/** What closes next, where do I stand, what is it worth? */
export default function Auctions({ values }: ScreenProps) {
  const auctions = useAuctions()
  const zone = useZone()
  const now = useNow()
  const mayManage = useMay('Manage:auctions')
  const isOperator = useIsOperator()
  const [isCreating, setIsCreating] = useState(false)
  const [isBidding, setIsBidding] = useState(false)
  const mayBid = useMay('Create:bids')
  const all = auctions.data ?? []
  const openOnes = all.filter((one) => groupOf(one, now) === 'Open').length
  const [as] = useParameter('as')
  const isTable = as === 'table'
  const chosen = useChosen(isTable ? NONE : all, values.auction, now)

  return (
    <Page
      title="Auctions"
      facts={auctions.data ? factsOf(all, now, isOperator) : []}
      aside={
        isTable ? (
          <TableFilters auctions={all} isOperator={isOperator} />
        ) : mayManage && isOperator ? (
          <Button kind="primary" icon="plus" onClick={() => setIsCreating(true)}>
            New auction
          </Button>
        ) : (
          <>
            <span className="note">Times on the service’s clock, {zoneName(zone)}</span>
            {mayBid && !isOperator && openOnes > 1 && (
              <Button onClick={() => setIsBidding(true)}>Bid on several</Button>
            )}
          </>
        )
      }
    >
      <Loaded query={auctions} skeleton={<Skeletons />}>
        {(list) =>
          list.length === 0 ? (
            <Nothing isOperator={isOperator} onCreate={() => setIsCreating(true)} />
          ) : isTable ? (
            <AuctionTable auctions={list} now={now} isOperator={isOperator} />
          ) : (
            <div className="auctions">
              <AuctionList auctions={list} chosen={chosen?.id} now={now} isOperator={isOperator} />
              {chosen &&
                (isOperator ? (
                  <OperatedAuction key={chosen.id} auction={chosen} now={now} />
                ) : (
                  <AuctionDetail key={chosen.id} auction={chosen} now={now} />
                ))}
            </div>
          )
        }
      </Loaded>
      {isBidding && <BidsTogether auctions={all} now={now} onClose={() => setIsBidding(false)} />}
      {isCreating && <NewAuction onClose={() => setIsCreating(false)} />}
    </Page>
  )
}

/** The auction of the address, or what closes next: that one stays until the reader chooses another. */
function useChosen(auctions: Auction[], asked: string | undefined, now: number): Auction | undefined {
  const found = auctions.find((auction) => auction.id === asked)
  const first = grouped(auctions, now)[0]?.[1][0]
  const target = found ? undefined : first?.id
  useEffect(() => {
    if (target) goWithin('/auctions', `/auctions/${target}${location.search}`)
  }, [target])
  return found ?? first
}

function factsOf(auctions: Auction[], now: number, isOperator: boolean): string[] {
  const open = auctions.filter((one) => startOf(one) <= now && now < endOf(one)).length
  const today = auctions.filter((one) => startOf(one) > now && dayOf(startOf(one)) === dayOf(now)).length
  const month = now - 30 * 24 * HOUR_MS
  const won = auctions.filter((one) => one.status === 'WON' && endOf(one) > month).length
  const facts = [`${open} open`]
  if (today > 0) facts.push(`${today} ${today === 1 ? 'opens' : 'open'} today`)
  if (!isOperator && won > 0) facts.push(`${won} won in 30 days`)
  if (isOperator) facts.push(plural(auctions.length, 'auction'))
  return facts
}

function Skeletons() {
  return (
    <div className="auctions">
      <SkeletonCard height={600} />
      <SkeletonCard height={600} />
    </div>
  )
}

function Nothing({ isOperator, onCreate }: { isOperator: boolean; onCreate: () => void }) {
  if (isOperator)
    return (
      <Empty title="No auction yet" action={<Button onClick={onCreate}>Create the first</Button>}>
        An auction offers a virtual battery, backed by physical ones, to the organisations you invite.
      </Empty>
    )
  return (
    <Empty title="You are not invited to any auction">
      The operator invites organisations. When one invites yours, it appears here at once.
    </Empty>
  )
}
