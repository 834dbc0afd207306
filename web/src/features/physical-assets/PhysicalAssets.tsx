import { usePhysicalAssets } from '../../shared/api/resources'
import { efficiencies, megawatts, plural, size, words } from '../../shared/format'
import { Badge, Card } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'

/** Every battery that the reader may see. */
export default function PhysicalAssets() {
  const assets = usePhysicalAssets()
  const all = assets.data ?? []
  const power = all.reduce((sum, one) => sum + one.parameters.ratedDischargePower, 0)
  return (
    <Page
      title="Physical assets"
      facts={all.length > 0 ? [plural(all.length, 'battery', 'batteries'), `${megawatts(power)} MW`] : []}
    >
      <Card>
        <Loaded query={assets} skeleton={<SkeletonRows rows={6} height={48} />}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No battery is visible to you">
                An owner registers its batteries with the interface or the SDK, and grants other organisations what they
                may do with them.
              </Empty>
            ) : (
              <Table
                columns={[
                  'Battery',
                  'Size',
                  { label: 'Zone', isWide: true },
                  { label: 'Efficiency', isWide: true },
                  'Status',
                ]}
              >
                <tbody>
                  {list.map((asset) => (
                    <tr key={asset.id}>
                      <td>
                        <Link to={`/physical-assets/${asset.id}`}>
                          <strong>{asset.name}</strong>
                        </Link>
                        <span className="note second-line narrow-line">{asset.deliveryZone}</span>
                      </td>
                      <td className="when">
                        {size(asset.parameters.ratedDischargePower, asset.parameters.energyCapacity)}
                      </td>
                      <td className="wide-cell">{asset.deliveryZone}</td>
                      <td className="wide-cell">
                        {efficiencies(asset.parameters.chargeEfficiency, asset.parameters.dischargeEfficiency)}
                      </td>
                      <td>
                        <Badge tone={asset.status === 'ACTIVE' ? 'good' : 'quiet'}>
                          {words(asset.status).toLowerCase()}
                        </Badge>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </Table>
            )
          }
        </Loaded>
      </Card>
    </Page>
  )
}
