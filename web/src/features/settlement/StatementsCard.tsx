import { offers } from '../../shared/api/client'
import { useSession } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { decimal } from '../../shared/format'
import { monthInWords, weekdayTime } from '../../shared/time/words'
import { Badge, Card } from '../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { useStatements } from './data'

/**
 * Month by month what was issued to the reader's organisation, and what the open months come to so far. The service
 * computes those when they are asked for: `isAsked` once what the reader came for is there.
 */
export function StatementsCard({ isAsked }: { isAsked: boolean }) {
  const zone = useZone()
  const now = useMinute()
  const organisation = useSession().user.organisationID
  const isOffered = offers('GET /organisations/{organisationID}/statements')
  const statements = useStatements(organisation, isOffered && isAsked)
  if (!isOffered) return null
  return (
    <Card title="Statements" note="a month each; issued ones never change">
      <Loaded query={statements} skeleton={<SkeletonRows rows={3} />}>
        {(list) =>
          list.length === 0 ? (
            <p className="card-body note">No month has a line yet.</p>
          ) : (
            <Table columns={['Month', { label: 'EUR', isNumber: true }]}>
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <Link to={`/statements/${organisation}/${one.id}`}>
                        <strong>{monthInWords(one.month)}</strong>
                      </Link>
                      <span className="note second-line">
                        {one.issuedAt ? (
                          `${one.number}, issued ${weekdayTime(Date.parse(one.issuedAt), zone)}`
                        ) : (
                          <>
                            <Badge>preliminary</Badge>
                            {one.toDate === undefined
                              ? Date.parse(one.end) > now && ' income so far, tolls and prices of the whole month'
                              : ` until now; ${decimal(Number(one.total), 2)} with what is agreed for the days ahead`}
                          </>
                        )}
                      </span>
                    </td>
                    <td className="number">{decimal(Number(one.toDate ?? one.total), 2)}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}
