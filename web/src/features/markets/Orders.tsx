/** The orders of a gate, to be taken back until it closes, and what became of them. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sentenceOf } from '../../shared/api/problem'
import { useMay } from '../../shared/api/session'
import { decimal, euro, megawatts, productInWords } from '../../shared/format'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { say } from '../../shared/ui/Said'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'
import { cancelOrder, type MarketDay, type Order } from './data'
import { stateInWords } from './words'

const TONES: Record<string, 'good' | 'quiet' | 'warning' | 'danger'> = {
  STANDING: 'warning',
  OVERDUE: 'danger',
  EXECUTED: 'good',
  PARTLY_EXECUTED: 'good',
}

export function Orders({ orders, found, isOpen }: { orders: Order[]; found: MarketDay; isOpen: boolean }) {
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
                <Badge tone={TONES[order.status] ?? 'quiet'}>
                  {order.status === 'STANDING' && !isOpen ? stateInWords('OVERDUE') : stateInWords(order.status)}
                </Badge>
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
