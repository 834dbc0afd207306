import { useState } from 'react'
import type { PhysicalAsset } from '../../shared/api/resources'
import { countStatuses, SITE_WORDS } from '../../shared/dispatch'
import type { Span } from '../../shared/time/marketDay'
import { quarter, timeS } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { type Acknowledgement, useAcknowledgements } from './data'

interface Props {
  asset: PhysicalAsset
  today: Span
  isDispatched: boolean
}

const SHOWN = 6
const TONES: Record<string, 'good' | 'danger'> = { APPLIED: 'good', REJECTED: 'danger', NOT_FOLLOWED: 'danger' }

/** What the site said of today's dispatch: of each quarter-hour the last, and why where it did not follow. */
export function AcknowledgementsCard({ asset, today, isDispatched }: Props) {
  const [isWhole, setIsWhole] = useState(false)
  const acknowledged = useAcknowledgements(asset.id, today)
  const list = acknowledged.data ?? []
  if (!isDispatched && list.length === 0) return null
  return (
    <Card
      title="Said by the site"
      note={countStatuses(list.map((one) => one.status)) || 'of today’s dispatch'}
      actions={
        list.length > SHOWN && (
          <Button isCompact aria-pressed={isWhole} onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? `Show the last ${SHOWN}` : `Show all ${list.length} quarter-hours`}
          </Button>
        )
      }
    >
      <Loaded query={acknowledged} skeleton={<SkeletonRows rows={3} height={32} />}>
        {(found) =>
          found.length === 0 ? (
            <p className="card-body note">
              Nothing yet. A site with a gateway says of each quarter-hour whether it follows.
            </p>
          ) : (
            <Table columns={['Quarter-hour', 'Status', 'Reason', 'When']}>
              <tbody>
                {found.slice(0, isWhole ? found.length : SHOWN).map((one) => (
                  <Row key={one.time} one={one} />
                ))}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}

function Row({ one }: { one: Acknowledgement }) {
  const zone = useZone()
  return (
    <tr>
      <td className="nowrap">{quarter(Date.parse(one.time), zone)}</td>
      <td>
        <Badge tone={TONES[one.status] ?? 'quiet'}>{SITE_WORDS[one.status] ?? one.status}</Badge>
      </td>
      <td className="acknowledgement-reason">{one.reason ?? '–'}</td>
      <td className="nowrap note">{timeS(Date.parse(one.at), zone)}</td>
    </tr>
  )
}
