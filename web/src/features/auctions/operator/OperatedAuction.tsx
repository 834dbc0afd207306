import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../../../shared/api/client'
import { type Organisation, useOrganisations } from '../../../shared/api/names'
import { usePhysicalAssets } from '../../../shared/api/resources'
import { decimal, euro, percentages, plural, words } from '../../../shared/format'
import { timeMs, weekday } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { Badge, Card } from '../../../shared/ui/Card'
import { Checkbox } from '../../../shared/ui/Field'
import { FormProblem, Loaded, SkeletonRows } from '../../../shared/ui/states'
import { Table } from '../../../shared/ui/Table'
import { useZone } from '../../../shared/zone'
import { Link } from '../../../shell/router'
import { AuctionHead } from '../AuctionHead'
import { type Auction, groupOf, type Results, useAuction, useResults } from '../data'
import { Awaited } from './Awaited'
import { EditAuction } from './EditAuction'

/** One auction as its operator runs it: who is invited, what backs it, and once it is cleared every bid. */
export function OperatedAuction({ auction, now }: { auction: Auction; now: number }) {
  const detail = useAuction(auction.id)
  const organisations = useOrganisations()
  const names = new Map((organisations.data ?? []).map((one) => [one.id, one.name]))
  const group = groupOf(auction, now)
  const full = detail.data ?? auction
  return (
    <div className="auction-detail">
      <AuctionHead
        auction={auction}
        now={now}
        actions={group !== 'Closed' && full.state !== 'CANCELLED' ? <Cancel auction={auction} /> : undefined}
      />
      <div className="auction-columns">
        <div className="auction-main">
          <ResultsCard auction={full} now={now} names={names} />
        </div>
        <div className="auction-main">
          <Terms auction={full} isFrozen={group !== 'Not started'} />
          <Invited auction={full} organisations={organisations.data ?? []} isFrozen={group !== 'Not started'} />
        </div>
      </div>
    </div>
  )
}

function Terms({ auction, isFrozen }: { auction: Auction; isFrozen: boolean }) {
  const [isEditing, setIsEditing] = useState(false)
  const assets = usePhysicalAssets()
  const names = new Map((assets.data ?? []).map((asset) => [asset.id, asset.name]))
  const backing = auction.backing ?? []
  const parts = percentages(backing.map((one) => one.share))
  return (
    <Card
      title="Terms"
      actions={
        !isFrozen && (
          <Button isCompact onClick={() => setIsEditing(true)}>
            Change
          </Button>
        )
      }
    >
      {isEditing && <EditAuction auction={auction} onClose={() => setIsEditing(false)} />}
      <dl className="meaning card-body">
        <div>
          <dt>State</dt>
          <dd>{words(auction.state ?? auction.status)}</dd>
        </div>
        <div>
          <dt>Hurdle price</dt>
          <dd>{auction.hurdlePrice ? euro(auction.hurdlePrice) : 'none'}</dd>
        </div>
        {backing.map((one, index) => (
          <div key={one.physicalAssetID}>
            <dt>
              Backed by{' '}
              <Link to={`/physical-assets/${one.physicalAssetID}`}>
                {names.get(one.physicalAssetID) ?? 'a battery'}
              </Link>
            </dt>
            <dd>{parts[index]}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

function Invited({
  auction,
  organisations,
  isFrozen,
}: {
  auction: Auction
  organisations: Organisation[]
  isFrozen: boolean
}) {
  const queries = useQueryClient()
  const invited = new Set(auction.participants ?? [])
  const invite = useMutation({
    // One box is one change: it is made to the list as it stands now, also when another box was changed meanwhile.
    mutationFn: async (id: string) => {
      const response = await ask(`/auctions/${auction.id}`)
      const next = new Set(((await response.json()) as Auction).participants ?? [])
      if (invited.has(id)) next.delete(id)
      else next.add(id)
      const ifMatch = response.headers.get('ETag') ?? ''
      await ask(`/auctions/${auction.id}/participants`, { method: 'PUT', body: [...next], ifMatch })
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['auctions'] }),
  })
  const shown = organisations.filter((one) => one.kind === 'PARTICIPANT' || invited.has(one.id))
  return (
    <Card title="Invited" note={plural(invited.size, 'organisation')}>
      <div className="card-body form">
        {shown.map((one) => (
          <Checkbox
            key={one.id}
            label={one.name}
            checked={invited.has(one.id)}
            disabled={isFrozen || invite.isPending}
            onChange={() => invite.mutate(one.id)}
          />
        ))}
        {isFrozen && <p className="note">Frozen since it opened.</p>}
        <FormProblem error={invite.error} />
      </div>
    </Card>
  )
}

function ResultsCard({ auction, now, names }: { auction: Auction; now: number; names: Map<string, string> }) {
  const isClosed = groupOf(auction, now) === 'Closed'
  const results = useResults(auction.id, isClosed && auction.state === 'CLEARED')
  if (auction.state === 'CANCELLED')
    return (
      <Card title="Results">
        <p className="card-body note">Cancelled: nothing was allocated, and its capacity is free again.</p>
      </Card>
    )
  if (!isClosed || auction.state !== 'CLEARED') return <Awaited auction={auction} now={now} />
  return (
    <Loaded
      query={results}
      skeleton={
        <Card title="Results">
          <SkeletonRows rows={4} />
        </Card>
      }
    >
      {(found) => <Ranking results={found} names={names} />}
    </Loaded>
  )
}

function Ranking({ results, names }: { results: Results; names: Map<string, string> }) {
  const zone = useZone()
  const winner = results.winnerID ? (names.get(results.winnerID) ?? 'the winner') : null
  return (
    <Card
      title="Results"
      note={winner ? `${winner} won` : words(results.outcome)}
      actions={<span className="note">cleared {timeMs(Date.parse(results.clearedAt), zone)}</span>}
    >
      {results.detail && <p className="card-body note">{results.detail}</p>}
      {results.bids.length === 0 ? (
        <p className="card-body note">No bid was placed.</p>
      ) : (
        <Table
          columns={[
            'Rank',
            'Organisation',
            'Counted',
            { label: 'EUR', isNumber: true },
            { label: 'Fate', isNumber: true },
          ]}
        >
          <tbody>
            {results.bids.map((bid) => (
              <tr key={bid.id} className={bid.fate === 'WON' ? 'is-selected' : ''}>
                <td>{bid.rank}</td>
                <td>{names.get(bid.organisationID) ?? bid.organisationID}</td>
                <td>
                  {weekday(Date.parse(bid.timestamp), zone)} {timeMs(Date.parse(bid.timestamp), zone)}
                </td>
                <td className="number">
                  <strong>{decimal(bid.price, 2)}</strong>
                </td>
                <td className="number">
                  <Badge tone={bid.fate === 'WON' ? 'good' : 'quiet'}>{words(bid.fate).toLowerCase()}</Badge>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  )
}

function Cancel({ auction }: { auction: Auction }) {
  const [isAsked, setIsAsked] = useState(false)
  const queries = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => api.DELETE('/auctions/{auctionID}', { params: { path: { auctionID: auction.id } } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['auctions'] }),
  })
  if (!isAsked) return <Button onClick={() => setIsAsked(true)}>Cancel auction</Button>
  return (
    <div className="form-foot">
      <FormProblem error={cancel.error} />
      <Button onClick={() => setIsAsked(false)}>Keep it</Button>
      <Button kind="danger" isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
        Cancel it for all bidders
      </Button>
    </div>
  )
}
