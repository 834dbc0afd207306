import { useQuery } from '@tanstack/react-query'
import { allPages, type Schemas } from '../../shared/api/client'
import { type Organisation, useOrganisations } from '../../shared/api/names'
import { useAllVirtualAssets, usePhysicalAssets } from '../../shared/api/resources'
import { useIsOperator } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { decimal, megawatts, plural, size, words } from '../../shared/format'
import { dayRange, monthInWords, weekdayTime } from '../../shared/time/words'
import { Badge, Card, type Figure, Figures } from '../../shared/ui/Card'
import { Copy } from '../../shared/ui/Copy'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonCard, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import '../administration/security/security.css'
import { Usage } from '../administration/security/Usage'
import { useStatements } from '../settlement/data'
import './organisations.css'

/** The operator's: who is this organisation, what does it hold, what was settled with it, what does it use? */
export default function OrganisationPage({ values }: ScreenProps) {
  const isOperator = useIsOperator()
  const organisations = useOrganisations()
  if (!isOperator)
    return (
      <div className="page">
        <Empty title="This page is the operator’s">What your own organisation is stands under Administration.</Empty>
      </div>
    )
  return (
    <Loaded
      query={organisations}
      skeleton={
        <div className="page">
          <SkeletonCard height={90} />
          <SkeletonCard height={400} />
        </div>
      }
    >
      {(list) => {
        const found = list.find((one) => one.id === values.organisation)
        return found ? <Shown organisation={found} /> : <Empty title="There is no such organisation" />
      }}
    </Loaded>
  )
}

function Shown({ organisation }: { organisation: Organisation }) {
  const zone = useZone()
  const now = useMinute()
  const virtual = useAllVirtualAssets()
  const physical = usePhysicalAssets()
  const held = (virtual.data ?? []).filter((one) => one.organisationID === organisation.id)
  const living = held.filter((one) => Date.parse(one.end) > now)
  const owned = (physical.data ?? []).filter((one) => one.organisationID === organisation.id)
  const mw = (list: readonly number[]) => `${megawatts(list.reduce((sum, kw) => sum + kw, 0))} MW`
  const figures: Figure[] = [
    {
      label: 'Virtual batteries',
      value: virtual.data ? decimal(living.length) : '–',
      below: `${mw(living.map((one) => one.ratedDischargePower))}; ${plural(held.length - living.length, 'more', 'more')} that ${held.length - living.length === 1 ? 'is' : 'are'} over`,
    },
    {
      label: 'Batteries of its own',
      value: physical.data ? decimal(owned.length) : '–',
      below: mw(owned.map((one) => one.parameters.ratedDischargePower)),
    },
    {
      label: 'Second factor',
      value: organisation.requireSecondFactor ? 'required' : 'optional',
      below: `API keys end after ${plural(organisation.maxKeyAgeDays, 'day')}`,
    },
    {
      label: 'Networks',
      value: organisation.allowedNetworks.length === 0 ? 'any' : decimal(organisation.allowedNetworks.length),
      below:
        organisation.allowedNetworks.length === 0
          ? 'calls are taken from anywhere'
          : organisation.allowedNetworks.join(', '),
    },
  ]
  return (
    <Page
      title={organisation.name}
      crumb={{ label: 'Organisations', to: '/administration/organisations' }}
      facts={[
        words(organisation.kind).toLowerCase(),
        `since ${weekdayTime(Date.parse(organisation.createdAt), zone)}`,
        organisation.address,
      ]}
      aside={<Copy text={organisation.id} label="Copy the organisation’s ID" />}
    >
      <Figures figures={figures} />
      <div className="organisation">
        <People id={organisation.id} />
        <Statements id={organisation.id} />
        <Card title="Batteries" note="those that are over are left out">
          {living.length + owned.length === 0 ? (
            <Empty title="None">It neither holds nor owns one now.</Empty>
          ) : (
            <Table columns={['Battery', 'Kind', { label: 'Size', isWide: true }, 'Zone']}>
              <tbody>
                {owned.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <Link to={`/physical-assets/${one.id}`}>
                        <strong>{one.name}</strong>
                      </Link>
                    </td>
                    <td>{one.status === 'ACTIVE' ? 'own' : `own, ${words(one.status).toLowerCase()}`}</td>
                    <td className="wide-cell">
                      {size(one.parameters.ratedDischargePower, one.parameters.energyCapacity)}
                    </td>
                    <td>{one.deliveryZone}</td>
                  </tr>
                ))}
                {living.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <Link to={`/virtual-batteries/${one.id}`}>
                        <strong>{one.name}</strong>
                      </Link>
                    </td>
                    <td>virtual, {dayRange(Date.parse(one.start), Date.parse(one.end), zone)}</td>
                    <td className="wide-cell">{size(one.ratedDischargePower, one.energyCapacity)}</td>
                    <td>{one.deliveryZone}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )}
        </Card>
        <Usage of={organisation.id} />
      </div>
    </Page>
  )
}

function People({ id }: { id: string }) {
  const zone = useZone()
  const members = useQuery({
    queryKey: ['administration', 'members', id],
    queryFn: () => allPages<Schemas['MemberView']>(`/organisations/${id}/members?limit=1000`),
  })
  return (
    <Card title="People" note={members.data ? String(members.data.length) : undefined}>
      <Loaded query={members} skeleton={<SkeletonRows rows={3} />}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nobody yet">Invite an admin from the list of organisations.</Empty>
          ) : (
            <Table columns={['Name', 'Role', 'Second factor', { label: 'Since', isWide: true }]}>
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <strong>{one.displayName}</strong>
                      <span className="note second-line">{one.username}</span>
                    </td>
                    <td>{words(one.role)}</td>
                    <td>{one.hasSecondFactor ? <Badge tone="good">set up</Badge> : <Badge>none</Badge>}</td>
                    <td className="when wide-cell">{weekdayTime(Date.parse(one.createdAt), zone)}</td>
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

function Statements({ id }: { id: string }) {
  const statements = useStatements(id)
  return (
    <Card title="Statements" note="EUR; positive is paid to it">
      <Loaded query={statements} skeleton={<SkeletonRows rows={3} />}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="No month has a line yet" />
          ) : (
            <Table columns={['Month', 'State', { label: 'EUR', isNumber: true }]}>
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <Link to={`/statements/${id}/${one.id}`}>
                        <strong>{monthInWords(one.month)}</strong>
                      </Link>
                    </td>
                    <td>
                      {one.number ?? <Badge>preliminary</Badge>}
                      {!one.number && one.toDate !== undefined && <span className="note"> until now</span>}
                    </td>
                    <td className="number">{decimal(Number(one.number ? one.total : (one.toDate ?? one.total)), 2)}</td>
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
