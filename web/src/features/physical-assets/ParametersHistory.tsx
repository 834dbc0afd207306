import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { askJson } from '../../shared/api/client'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import { decimal, efficiencies, megawatts, percent } from '../../shared/format'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import type { Parameters } from './data'
import { EditParameters } from './EditParameters'

/** What the battery is rated at, and since when: a change adds a version, the past stays. */
export function ParametersHistory({ asset }: { asset: PhysicalAsset }) {
  const zone = useZone()
  const [isEditing, setIsEditing] = useState(false)
  const isOwner = useSession().user.organisationID === asset.organisationID
  const mayChange = useMay('Update:physical-assets') && isOwner
  const history = useQuery({
    queryKey: ['physical-assets', asset.id, 'parameters'],
    queryFn: () => askJson<Parameters[]>(`/physical-assets/${asset.id}/parameters/history`),
  })
  return (
    <Card
      title="Parameters"
      note="every version, the one in force marked"
      actions={
        mayChange && (
          <Button isCompact onClick={() => setIsEditing(true)}>
            Change
          </Button>
        )
      }
    >
      {isEditing && <EditParameters asset={asset} onClose={() => setIsEditing(false)} />}
      <Loaded query={history} skeleton={<SkeletonRows rows={3} />}>
        {(versions) => (
          <Table
            columns={[
              'Version',
              'Valid from',
              { label: 'Charge, MW', isNumber: true },
              { label: 'Discharge, MW', isNumber: true },
              { label: 'Energy, MWh', isNumber: true },
              'Efficiency',
              'State of charge',
              { label: 'Cycles a day', isNumber: true },
              { label: 'FCR limit', isNumber: true },
            ]}
          >
            <tbody>
              {[...versions]
                .sort((a, b) => b.version - a.version)
                .map((one) => (
                  <tr key={one.version} className={one.version === asset.parameters.version ? 'is-selected' : ''}>
                    <td>
                      {one.version} {one.version === asset.parameters.version && <Badge tone="good">in force</Badge>}
                    </td>
                    <td>
                      {Date.parse(one.validFrom) === 0 ? 'the beginning' : weekdayTime(Date.parse(one.validFrom), zone)}
                    </td>
                    <td className="number">{megawatts(one.ratedChargePower)}</td>
                    <td className="number">{megawatts(one.ratedDischargePower)}</td>
                    <td className="number">{megawatts(one.energyCapacity)}</td>
                    <td>{efficiencies(one.chargeEfficiency, one.dischargeEfficiency)}</td>
                    <td>
                      {decimal(one.minStateOfCharge * 100)}–{percent(one.maxStateOfCharge)}
                    </td>
                    <td className="number">{one.dailyCycleLimit ?? 'no limit'}</td>
                    <td className="number">{percent(one.fcrLimitRatio)}</td>
                  </tr>
                ))}
            </tbody>
          </Table>
        )}
      </Loaded>
    </Card>
  )
}
