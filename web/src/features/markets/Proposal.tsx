/** What the service would trade at the chosen gate, battery by battery, and why. */
import { useMemo, useState } from 'react'
import { sentenceOf } from '../../shared/api/problem'
import { useMay } from '../../shared/api/session'
import { decimal, megawatts, plural, productInWords, signedEuro } from '../../shared/format'
import type { Day } from '../../shared/time/marketDay'
import { quarter, time } from '../../shared/time/words'
import { Checkbox } from '../../shared/ui/Field'
import { Empty, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { added, isEmpty, isReserve, nettingOf, type Order, type Plan, spread, volumesOf } from './data'
import { Placing } from './Placing'
import type { SideProps } from './Side'
import { limitInWords } from './words'

export function Proposal(props: SideProps & { standing: Order[] }) {
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
