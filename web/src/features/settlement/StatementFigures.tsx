import { decimal, euro, megawatts, percent } from '../../shared/format'
import { Card } from '../../shared/ui/Card'
import { Skeleton } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'
import { type AssetMonth, type Figures, type Statement, useEarned } from './data'

/** What an investor asks of the month: per MW, cycles against their limit, availability, and what was measured. */
export function StatementFigures({ statement, figures }: { statement: Statement; figures: Figures }) {
  const { ratedPower, earnedPerMW, netPerMW, availabilityDelivered, measuredShare, assets } = figures
  const earned = useEarned(statement, assets)
  const facts = [
    `${decimal(ratedPower, 1)} MW`,
    earnedPerMW !== undefined && `${euro(earnedPerMW)} earned per MW`,
    netPerMW !== undefined && `${euro(netPerMW)} net per MW`,
    availabilityDelivered !== undefined && `${percent(availabilityDelivered, 1)} delivered of what was asked`,
    measuredShare !== undefined && `${percent(measuredShare, 1)} of it measured`,
  ]
  return (
    <Card title="What the batteries did" note={facts.filter(Boolean).join(' · ')}>
      {assets.length === 0 ? (
        <p className="card-body note">No battery was dispatched or held in this month.</p>
      ) : (
        <Table
          columns={[
            'Battery',
            { label: 'MW', isNumber: true },
            { label: 'Days', isNumber: true },
            { label: 'Charged, MWh', isNumber: true },
            { label: 'Discharged, MWh', isNumber: true },
            { label: 'Cycles', isNumber: true },
            { label: 'Technical', isNumber: true },
            { label: 'Delivered', isNumber: true },
            { label: 'Measured', isNumber: true },
            { label: 'Earned, EUR', isNumber: true },
            { label: 'EUR per MW', isNumber: true },
          ]}
        >
          <tbody>
            {assets.map((one) => (
              <Row
                key={one.assetID}
                asset={one}
                earned={one.earned ?? earned.data?.get(one.assetID)}
                isLoading={earned.isLoading}
              />
            ))}
          </tbody>
        </Table>
      )}
      {earned.data && (
        <p className="card-body note">
          Earned: of a battery its own lines of this statement and its part of those of the virtual batteries that it
          backs, without corrections.
        </p>
      )}
    </Card>
  )
}

interface RowProps {
  asset: AssetMonth
  /** EUR. */
  earned: number | undefined
  isLoading: boolean
}

function Row({ asset, earned, isLoading }: RowProps) {
  const perMW = earned !== undefined && asset.ratedPower > 0 ? earned / asset.ratedPower : undefined
  const unknown = isLoading ? <Skeleton width={56} height={12} /> : '–'
  const place = asset.kind === 'PHYSICAL' ? 'physical-assets' : 'virtual-batteries'
  return (
    <tr>
      <td className="nowrap">
        <Link to={`/${place}/${asset.assetID}`} className="battery-link">
          {asset.name}
        </Link>
        <span className="note second-line">{asset.deliveryZone}</span>
      </td>
      <td className="number">{megawatts(asset.ratedPower * 1000)}</td>
      <td className="number">{asset.days}</td>
      <td className="number">{decimal(asset.chargedEnergy, 1)}</td>
      <td className="number">{decimal(asset.dischargedEnergy, 1)}</td>
      <td className="number">
        {decimal(asset.cycles, 1)}
        {asset.cycleLimit !== undefined && <span className="note"> of {decimal(asset.cycleLimit, 1)}</span>}
      </td>
      <td className="number">{shareOf(asset.technicalAvailability)}</td>
      <td className="number">{shareOf(asset.availabilityDelivered)}</td>
      <td className="number">{shareOf(asset.measuredShare)}</td>
      <td className="number">{earned === undefined ? unknown : decimal(earned, 2)}</td>
      <td className="number">{perMW === undefined ? unknown : decimal(perMW, 2)}</td>
    </tr>
  )
}

function shareOf(share: number | undefined): string {
  return share === undefined ? '–' : percent(share, 1)
}
