/** Beside the gates: what the chosen one proposes and what placing it does, what stands there, and what was earned. */
import { useNow } from '../../shared/clock'
import type { Day } from '../../shared/time/marketDay'
import { countdown, timeS, weekday } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { useZone } from '../../shared/zone'
import type { Arc, MarketDay, StageSums, Terms, useProposals } from './data'
import { Earned } from './Earned'
import { Orders } from './Orders'
import { Proposal } from './Proposal'
import { stageInWords } from './words'

export interface SideProps {
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

export function Side(props: SideProps) {
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
