/** What is ordered of a proposal, on what terms, and why none was placed. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Refused, sentenceOf } from '../../shared/api/problem'
import { useMay, useSession } from '../../shared/api/session'
import { euro, plural } from '../../shared/format'
import { readQuantity } from '../../shared/quantity'
import { time } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Checkbox, Field } from '../../shared/ui/Field'
import { say } from '../../shared/ui/Said'
import { useZone } from '../../shared/zone'
import { isReserve, type Order, orderOf, type Plan, placeOrders, type Terms } from './data'
import type { SideProps } from './Side'

const MOST_AT_ONCE = 50

interface PlacingProps extends SideProps {
  ticked: { asset: { id: string; name: string }; plan: Plan }[]
  standing: Order[]
}

export function Placing({ stage, ticked, standing, terms, onTerms, found }: PlacingProps) {
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
