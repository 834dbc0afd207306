/** Beside the gates: what the chosen one proposes and what placing it does, what stands there, and what was earned. */
import { useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Refused, sentenceOf } from '../../shared/api/problem'
import { useMay, useSession } from '../../shared/api/session'
import { useNow } from '../../shared/clock'
import { decimal, euro, megawatts, plural, productInWords, signedEuro } from '../../shared/format'
import { readQuantity } from '../../shared/quantity'
import type { Day } from '../../shared/time/marketDay'
import { countdown, quarter, time, timeS, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Checkbox, Field } from '../../shared/ui/Field'
import { say } from '../../shared/ui/Said'
import { Empty, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import {
  type Arc,
  added,
  cancelOrder,
  isEmpty,
  isReserve,
  type MarketDay,
  nettingOf,
  type Order,
  orderOf,
  type Plan,
  placeOrders,
  type StageSums,
  spread,
  type Terms,
  type useProposals,
  volumesOf,
} from './data'
import { limitInWords, stageInWords, stateInWords } from './words'

interface Props {
  stage: StageSums
  stages: readonly StageSums[]
  found: MarketDay
  day: Day
  isOpen: boolean
  proposals: ReturnType<typeof useProposals>
  arcs: readonly Arc[]
  terms: Terms
  onTerms: (terms: Terms) => void
}

export function Side(props: Props) {
  const { stage, found, isOpen, stages } = props
  const orders = found.orders.filter((one) => one.stage === stage.stage)
  return (
    <div className="gate-side">
      <Card
        title={stageInWords(stage.stage)}
        actions={stage.gate === null ? undefined : <Closing gate={stage.gate} isNext={stage.status === 'NEXT'} />}
      >
        {isOpen ? (
          <Proposal {...props} standing={orders.filter((one) => one.status === 'STANDING')} />
        ) : (
          <p className="card-body note">
            {stage.gate === null
              ? 'It takes no orders.'
              : 'Its gate is closed: orders can be neither placed nor cancelled.'}
          </p>
        )}
      </Card>
      {orders.length > 0 && <Orders orders={orders} found={found} isOpen={isOpen} />}
      <Earned stages={stages} />
    </div>
  )
}

const URGENT_MS = 5 * 60_000

function Closing({ gate, isNext }: { gate: number; isNext: boolean }) {
  const now = useNow()
  const zone = useZone()
  const left = gate - now
  const at = `${weekday(gate, zone)} ${timeS(gate, zone)}`
  if (left <= 0) return <span className="note">closed {at}</span>
  return (
    <span className="gate-closing">
      <span className={`figure-value ${left < URGENT_MS ? 'tone-danger' : isNext ? 'tone-warning' : ''}`} role="timer">
        {countdown(left)}
      </span>
      <span className="note">closes {at}</span>
    </span>
  )
}

function Proposal(props: Props & { standing: Order[] }) {
  const { stage, found, day, proposals, terms, standing } = props
  const mayPlace = useMay('Create:trades')
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(
    () =>
      found.batteries.map(({ asset }) => ({
        asset,
        plan: proposals.data?.plans.get(asset.id),
        why: proposals.data?.refused.get(asset.id),
      })),
    [found, proposals.data],
  )
  if (proposals.isError) return <p className="form-problem gate-note">{sentenceOf(proposals.error)}</p>
  if (!proposals.data)
    return (
      <>
        <p className="card-body note" role="status">
          Planning {proposals.progress} of {plural(found.batteries.length, 'battery', 'batteries')} …
        </p>
        <SkeletonRows rows={4} />
      </>
    )
  const full = rows.filter((row): row is typeof row & { plan: Plan } => row.plan !== undefined && !isEmpty(row.plan))
  const ticked = full.filter((row) => !left.has(row.asset.id))
  const sum = (of: (plan: Plan) => number) => ticked.reduce((total, row) => total + of(row.plan), 0)
  const toggle = (id: string) =>
    setLeft((old) => {
      const next = new Set(old)
      if (!next.delete(id)) next.add(id)
      return next
    })
  return (
    <>
      <div className="gate-worth">
        <span className="note">Proposed, expected at the forecast price</span>
        <strong className="tone-good">
          {full.length === 0
            ? '–'
            : signedEuro(
                sum((plan) => plan.worth),
                2,
              )}
        </strong>
        {full.length > 0 && (
          <span className="note">
            P10{' '}
            {signedEuro(
              sum((plan) => plan.p10),
              2,
            )}{' '}
            · P90{' '}
            {signedEuro(
              sum((plan) => plan.p90),
              2,
            )}
            {full.length > 1 && ': of each battery, added up'}
          </span>
        )}
        {stage.status === 'LATER' && (
          <span className="note tone-warning">
            From what stands now; the gates before it may change it, so their worth is not added.
          </span>
        )}
      </div>
      {full.length === 0 && rows.some((row) => row.plan) ? (
        <Empty title="Nothing better is found">What stands is best at the prices expected now.</Empty>
      ) : full.length === 0 ? null : (
        <ProposalTable rows={rows} left={left} onToggle={toggle} day={day} stage={stage.stage} />
      )}
      <Refusals rows={rows} />
      {mayPlace && full.length > 0 && <Placing {...props} ticked={ticked} standing={standing} terms={terms} />}
      {!mayPlace && <p className="card-body note">Your role places no orders.</p>}
      <Why plans={ticked.map((row) => ({ name: row.asset.name, plan: row.plan }))} />
    </>
  )
}

interface ProposedRow {
  asset: { id: string; name: string }
  plan: Plan | undefined
  why: string | undefined
}

interface TableProps {
  rows: ProposedRow[]
  left: ReadonlySet<string>
  onToggle: (id: string) => void
  day: Day
  stage: string
}

function ProposalTable({ rows, left, onToggle, day, stage }: TableProps) {
  const reserve = isReserve(stage)
  const shown = rows.filter((row) => row.plan)
  const ticked = shown.flatMap((row) => (row.plan && !left.has(row.asset.id) ? [row.plan] : []))
  const courses = ticked.map((plan) => spread(plan.trades, day))
  const gross = courses
    .map(volumesOf)
    .reduce((sum, one) => ({ bought: sum.bought + one.bought, sold: sum.sold + one.sold }), { bought: 0, sold: 0 })
  const net = volumesOf(added(courses, courses[0]?.length ?? 0))
  const nets = nettingOf(gross, net)
  const worth = ticked.reduce((sum, plan) => sum + plan.worth, 0)
  const numbers = reserve ? ['Offers, MW'] : ['Buys', 'Sells']
  return (
    <Table
      columns={[
        reserve ? 'Battery' : 'Battery, MWh',
        ...numbers.map((label) => ({ label, isNumber: true })),
        { label: 'Worth, EUR', isNumber: true },
      ]}
    >
      <tbody>
        {shown.map(({ asset, plan }) => {
          if (!plan) return null
          const volumes = volumesOf(spread(plan.trades, day))
          return (
            <tr key={asset.id}>
              <td>
                {isEmpty(plan) ? (
                  <span className="note">{asset.name}: as it stands</span>
                ) : (
                  <Checkbox label={asset.name} checked={!left.has(asset.id)} onChange={() => onToggle(asset.id)} />
                )}
                {plan.atAnyPrice && <span className="note tone-warning">at any price: it cannot run what stands</span>}
              </td>
              {reserve ? (
                <td className="number">
                  {plan.reserves.map((one) => (
                    <span key={one.product} className="second-line">
                      {productInWords(one.product).replace(/^FCR |^aFRR /, '')}: {megawatts(one.capacity)} at{' '}
                      {decimal(one.capacityPrice, 2)}
                    </span>
                  ))}
                </td>
              ) : (
                <>
                  <td className="number tone-charge">{decimal(volumes.bought, 1)}</td>
                  <td className="number tone-discharge">{decimal(volumes.sold, 1)}</td>
                </>
              )}
              <td className="number">{decimal(plan.worth, 2)}</td>
            </tr>
          )
        })}
      </tbody>
      <tfoot>
        {!reserve && nets >= 0.05 && (
          <tr>
            <th scope="row">Nets between batteries</th>
            <td className="number">−{decimal(nets, 1)}</td>
            <td className="number">−{decimal(nets, 1)}</td>
            <td />
          </tr>
        )}
        <tr className="matrix-total">
          <th scope="row">Together</th>
          {reserve ? (
            <td className="number">{reserve && stage === 'FCR' ? 'EUR/MW a block' : 'EUR/MW an hour'}</td>
          ) : (
            <>
              <td className="number">{decimal(net.bought, 1)}</td>
              <td className="number">{decimal(net.sold, 1)}</td>
            </>
          )}
          <td className="number">
            <strong>{decimal(worth, 2)}</strong>
          </td>
        </tr>
      </tfoot>
    </Table>
  )
}

function Refusals({ rows }: { rows: ProposedRow[] }) {
  const reasons = new Map<string, string[]>()
  for (const { asset, why } of rows) if (why) reasons.set(why, [...(reasons.get(why) ?? []), asset.name])
  return [...reasons].map(([why, names]) => (
    <p key={why} className="gate-note note tone-warning">
      {names.slice(0, 4).join(', ')}
      {names.length > 4 && ` and ${names.length - 4} more`}: {why}
    </p>
  ))
}

const MOST_AT_ONCE = 50

interface PlacingProps extends Props {
  ticked: { asset: { id: string; name: string }; plan: Plan }[]
  standing: Order[]
}

function Placing({ stage, ticked, standing, terms, onTerms, found }: PlacingProps) {
  const queries = useQueryClient()
  const zone = useZone()
  const { organisationID } = useSession().user
  const mayApply = useMay('Update:schedules')
  const [apply, setApply] = useState(true)
  const [isChanging, setIsChanging] = useState(false)
  const [least, setLeast] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [faults, setFaults] = useState<string[]>([])
  const reserve = isReserve(stage.stage)
  const surplus = least.trim() === '' ? null : readQuantity(least, 'EUR', { decimals: 2 })
  const replaced = standing.filter((order) => ticked.some((row) => row.asset.id === order.virtualAssetID)).length
  const leastSum = ticked.reduce((sum, row) => sum + (surplus?.value ?? row.plan.minimumSurplus), 0)
  const place = async () => {
    setIsBusy(true)
    setFaults([])
    try {
      const placed = await placeOrders(
        organisationID,
        ticked.map((row) => orderOf(row.asset.id, row.plan, terms, surplus?.value ?? null, apply && mayApply)),
      )
      say(`${plural(placed.length, 'order')} placed.`)
    } catch (error) {
      setFaults(faultsOf(error, new Map(found.batteries.map(({ asset }) => [asset.id, asset.name]))))
    } finally {
      setIsBusy(false)
      await queries.invalidateQueries({ queryKey: ['virtual-assets', 'markets'] })
    }
  }
  const tooMany = ticked.length > MOST_AT_ONCE
  return (
    <div className="gate-placing">
      {isChanging && !reserve && (
        <TermsForm
          terms={terms}
          onTerms={onTerms}
          least={least}
          onLeast={setLeast}
          fault={surplus?.fault ?? undefined}
        />
      )}
      {!reserve && mayApply && (
        <Checkbox label="Change the plans when executed" checked={apply} onChange={() => setApply(!apply)} />
      )}
      <div className="gate-says">
        Places{' '}
        <strong>
          {ticked.length === 1 ? '1 order' : `${ticked.length} orders`}
          {replaced > 0 && `, ${replaced} in place of ${replaced === 1 ? 'one that stands' : 'those that stand'}`}
        </strong>
        {ticked.length > 1 && ', all or none'}.{' '}
        {reserve
          ? 'What is offered holds power and energy from now until its result.'
          : `Each is executed as a whole where it earns at least ${surplus?.value == null ? 'what its plan asks' : euro(surplus.value, 2)} (${euro(leastSum, 2)} together), else not at all. Plans change when ${apply && mayApply ? 'it is' : 'you change them, not when it is'} executed.`}{' '}
        Take it back until {stage.gate === null ? '' : time(stage.gate, zone)}.
      </div>
      {tooMany && <p className="note tone-warning">At most {MOST_AT_ONCE} at once: untick some.</p>}
      {faults.length > 0 && (
        <div className="form-problem" role="alert">
          None was placed.
          <ul>
            {faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        </div>
      )}
      <div className="form-foot">
        {!reserve && (
          <Button onClick={() => setIsChanging(!isChanging)} aria-expanded={isChanging}>
            Change
          </Button>
        )}
        <Button
          kind="primary"
          isBusy={isBusy}
          disabled={ticked.length === 0 || tooMany || surplus?.value === null}
          onClick={() => void place()}
        >
          {ticked.length > 1 ? `Place ${ticked.length} orders` : 'Place order'}
        </Button>
      </div>
    </div>
  )
}

interface TermsProps {
  terms: Terms
  onTerms: (terms: Terms) => void
  least: string
  onLeast: (text: string) => void
  fault: string | undefined
}

function TermsForm({ terms, onTerms, least, onLeast, fault }: TermsProps) {
  const [fee, setFee] = useState(String(terms.fee))
  const [hurdle, setHurdle] = useState(String(terms.hurdle))
  const limits = { least: 0, most: 100, decimals: 2 }
  const [readFee, readHurdle] = [readQuantity(fee, '', limits), readQuantity(hurdle, '', limits)]
  const isOther = readFee.value !== terms.fee || readHurdle.value !== terms.hurdle
  return (
    <div className="form">
      <div className="form-row">
        <Field
          label="Fee"
          suffix="EUR/MWh"
          value={fee}
          fault={readFee.fault ?? undefined}
          onChange={(event) => setFee(event.target.value)}
        />
        <Field
          label="A trade earns at least"
          suffix="EUR/MWh"
          value={hurdle}
          fault={readHurdle.fault ?? undefined}
          onChange={(event) => setHurdle(event.target.value)}
        />
      </div>
      <Button
        isCompact
        disabled={!isOther || readFee.value === null || readHurdle.value === null}
        onClick={() => {
          if (readFee.value !== null && readHurdle.value !== null)
            onTerms({ fee: readFee.value, hurdle: readHurdle.value })
        }}
      >
        Propose anew
      </Button>
      <Field
        label="Least surplus of each order"
        suffix="EUR"
        placeholder="as proposed"
        value={least}
        fault={fault}
        onChange={(event) => onLeast(event.target.value)}
      />
    </div>
  )
}

interface OrderProblem {
  virtualAssetID?: string
  detail?: string
  title: string
  status: number
  type: string
}

/** Why none was placed, each with its battery. */
export function faultsOf(error: unknown, names: ReadonlyMap<string, string>): string[] {
  if (!(error instanceof Refused)) return [sentenceOf(error)]
  const { orders } = error.problem as typeof error.problem & { orders?: OrderProblem[] }
  if (!orders?.length) return [sentenceOf(error)]
  return orders.map((one) => {
    const name = names.get(one.virtualAssetID ?? '') ?? 'One battery'
    if (one.status === 412) return `${name}: its markets have changed since; a new proposal is made.`
    return `${name}: ${sentenceOf(new Refused(one))}`
  })
}

const MOST_TRIPS = 6

/** Why this plan: which purchase each sale lives on. */
function Why({ plans }: { plans: { name: string; plan: Plan }[] }) {
  const zone = useZone()
  const trips = plans
    .flatMap(({ name, plan }) => plan.trips.map((trip) => ({ name, trip })))
    .sort((a, b) => b.trip.gain - a.trip.gain)
  if (trips.length === 0) return null
  const leg = (one: NonNullable<(typeof trips)[number]['trip']['bought']>) => {
    const [start, end] = [Date.parse(one.start), Date.parse(one.end)]
    const at = end - start <= 900_000 ? quarter(start, zone) : `${time(start, zone)}–${time(end, zone)}`
    return `${at} at ${decimal(one.price, 2)}`
  }
  return (
    <section className="gate-why" aria-label="Why this plan">
      <h3>Why this plan</h3>
      <ul>
        {trips.slice(0, MOST_TRIPS).map(({ name, trip }) => (
          <li key={`${name} ${trip.bought?.start} ${trip.sold?.start} ${trip.gain}`}>
            <span>
              {plans.length > 1 && <strong>{name} </strong>}
              {trip.bought ? `bought ${leg(trip.bought)}` : 'from the store'}
              {trip.sold ? `, sold ${leg(trip.sold)}` : ', kept in store'}
              {trip.limitedBy.length > 0 && (
                <span className="note"> · kept from more by {trip.limitedBy.map(limitInWords).join(', ')}</span>
              )}
            </span>
            <span className="tabular nowrap">{signedEuro(trip.gain, 2)}</span>
          </li>
        ))}
      </ul>
      {trips.length > MOST_TRIPS && (
        <p className="note">
          {plural(trips.length - MOST_TRIPS, 'more trip')},{' '}
          {signedEuro(
            trips.slice(MOST_TRIPS).reduce((sum, { trip }) => sum + trip.gain, 0),
            2,
          )}{' '}
          together. Prices in EUR/MWh; gains after losses, fee and wear.
        </p>
      )}
    </section>
  )
}

const TONES: Record<string, 'good' | 'quiet' | 'warning' | 'danger'> = {
  STANDING: 'warning',
  OVERDUE: 'danger',
  EXECUTED: 'good',
  PARTLY_EXECUTED: 'good',
}

function Orders({ orders, found, isOpen }: { orders: Order[]; found: MarketDay; isOpen: boolean }) {
  const queries = useQueryClient()
  const mayPlace = useMay('Create:trades')
  const [busy, setBusy] = useState<string | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const names = new Map(found.batteries.map(({ asset }) => [asset.id, asset.name]))
  const shown = orders.filter((one) => names.has(one.virtualAssetID))
  if (shown.length === 0) return null
  const cancel = async (order: Order) => {
    setBusy(order.id)
    setFault(null)
    try {
      await cancelOrder(order)
      say('The order is taken back.')
    } catch (error) {
      setFault(sentenceOf(error))
    } finally {
      setBusy(null)
      await queries.invalidateQueries({ queryKey: ['virtual-assets', 'markets'] })
    }
  }
  return (
    <Card title="Orders at this gate" note={isOpen ? 'can be taken back until it closes' : undefined}>
      <Table columns={['Battery', { label: 'Asks', isNumber: true }, 'State']}>
        <tbody>
          {shown.map((order) => (
            <tr key={order.id}>
              <td>
                <Link to={`/virtual-batteries/${order.virtualAssetID}/${order.deliveryDay}`}>
                  {names.get(order.virtualAssetID)}
                </Link>
              </td>
              <td className="number">
                <Asked order={order} />
              </td>
              <td>
                <Badge tone={TONES[order.status] ?? 'quiet'}>{stateInWords(order.status)}</Badge>
                {order.applied === false && (
                  <span className="note tone-danger second-line">the plan did not change</span>
                )}
                {order.problem && <span className="note tone-danger second-line">{order.problem.title}</span>}
                {isOpen && mayPlace && order.status === 'STANDING' && (
                  <Button
                    isCompact
                    isBusy={busy === order.id}
                    aria-label={`Take back the order of ${names.get(order.virtualAssetID)}`}
                    onClick={() => void cancel(order)}
                  >
                    Take back
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      {fault && (
        <p className="form-problem gate-note" role="alert">
          {fault}
        </p>
      )}
    </Card>
  )
}

function Asked({ order }: { order: Order }) {
  if (order.reserves?.length)
    return order.reserves.map((one) => (
      <span key={one.product} className="second-line">
        {productInWords(one.product)}: {megawatts(one.capacity)} MW at {decimal(Number(one.capacityPrice), 2)}
        {one.acceptedCapacity !== undefined &&
          ` · ${megawatts(one.acceptedCapacity)} accepted${one.price === undefined ? '' : ` at ${decimal(Number(one.price), 2)}`}`}
      </span>
    ))
  const of = (side: string) => (order.volumes ?? []).reduce((sum, one) => sum + (one.side === side ? one.volume : 0), 0)
  return (
    <>
      <span className="second-line">
        buys {decimal(of('BUY'), 1)}, sells {decimal(of('SELL'), 1)} MWh
      </span>
      <span className="note">
        {order.atAnyPrice ? 'at any price' : `at least ${euro(Number(order.minimumSurplus), 2)}`}
      </span>
    </>
  )
}

function Earned({ stages }: { stages: readonly StageSums[] }) {
  const shown = stages.filter((one) => Math.abs(one.earned) >= 0.005 || one.traded.bought + one.traded.sold > 0)
  return (
    <Card title="Earned" note="sales less purchases and awards, EUR, without fees">
      {shown.length === 0 ? (
        <Empty title="Nothing yet">What a gate earned stands here once it has its result.</Empty>
      ) : (
        <Table
          columns={[
            'Market',
            { label: 'Buys', isNumber: true },
            { label: 'Sells', isNumber: true },
            { label: 'Earned', isNumber: true },
          ]}
        >
          <tbody>
            {shown.map((one) => (
              <tr key={one.stage}>
                <td>{stageInWords(one.stage)}</td>
                <td className="number">{decimal(one.traded.bought, 1)}</td>
                <td className="number">{decimal(one.traded.sold, 1)}</td>
                <td className="number">{decimal(one.earned, 2)}</td>
              </tr>
            ))}
          </tbody>
          <EarnedFoot shown={shown} stands={stages.at(-1)?.position ?? []} />
        </Table>
      )}
    </Card>
  )
}

function EarnedFoot({ shown, stands }: { shown: readonly StageSums[]; stands: readonly number[] }) {
  const gross = {
    bought: shown.reduce((sum, one) => sum + one.traded.bought, 0),
    sold: shown.reduce((sum, one) => sum + one.traded.sold, 0),
  }
  const net = volumesOf(stands)
  const nets = nettingOf(gross, net)
  return (
    <tfoot>
      {nets >= 0.05 && (
        <tr>
          <th scope="row">Nets between them</th>
          <td className="number">−{decimal(nets, 1)}</td>
          <td className="number">−{decimal(nets, 1)}</td>
          <td />
        </tr>
      )}
      <tr className="matrix-total">
        <th scope="row">Stands</th>
        <td className="number">{decimal(net.bought, 1)}</td>
        <td className="number">{decimal(net.sold, 1)}</td>
        <td className="number">
          <strong>
            {decimal(
              shown.reduce((sum, one) => sum + one.earned, 0),
              2,
            )}
          </strong>
        </td>
      </tr>
    </tfoot>
  )
}
