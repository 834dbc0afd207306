import { useQuery } from '@tanstack/react-query'
import { allPages, GATEWAY, type Schemas } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { megawatts, words } from '../../shared/format'
import { weekdayTime } from '../../shared/time/words'
import { Badge, Card } from '../../shared/ui/Card'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'

/** What the market was told: urgent market messages, with their versions. */
export function Notifications({ asset }: { asset: PhysicalAsset }) {
  const zone = useZone()
  const notifications = useQuery({
    queryKey: ['physical-assets', asset.id, 'notifications'],
    queryFn: () =>
      allPages<Schemas['ExchangeNotification']>(`/physical-assets/${asset.id}/exchange-notifications?limit=200`, 200),
  })
  return (
    <Card title="Exchange notifications" note="published to the market">
      <Loaded query={notifications} skeleton={<SkeletonRows rows={4} />}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nothing published">
              Reporting an unavailability can publish one; it needs the battery’s EIC.
            </Empty>
          ) : (
            <Table
              columns={[
                'Published',
                'Event',
                'From',
                'Until',
                { label: 'MW missing', isNumber: true },
                'Version',
                'State',
                'Message',
              ]}
            >
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td className="when">{weekdayTime(Date.parse(one.publishedAt), zone)}</td>
                    <td>
                      <strong>{words(one.unavailabilityType)}</strong> <span className="note">{one.cause}</span>
                    </td>
                    <td className="when">{weekdayTime(Date.parse(one.eventStart), zone)}</td>
                    <td className="when">{weekdayTime(Date.parse(one.eventEnd), zone)}</td>
                    <td className="number">{megawatts(one.unavailableCapacity)}</td>
                    <td>{one.version}</td>
                    <td>
                      <Badge tone={one.eventStatus === 'ACTIVE' ? 'good' : 'quiet'}>
                        {one.eventStatus.toLowerCase()}
                      </Badge>
                    </td>
                    <td>
                      <a
                        href={`${GATEWAY}/physical-assets/${asset.id}/exchange-notifications/${one.id}/document`}
                        download={`${one.messageID}.xml`}
                      >
                        XML
                      </a>
                    </td>
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
