import { useState } from 'react'
import type { PhysicalAsset as Asset } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { efficiencies, size } from '../../shared/format'
import { dayOf, spanOf } from '../../shared/time/marketDay'
import { Button } from '../../shared/ui/Button'
import { Page } from '../../shared/ui/Page'
import { Loaded, SkeletonCard } from '../../shared/ui/states'
import { Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { AcknowledgementsCard } from './AcknowledgementsCard'
import { BidsAndResults } from './BidsAndResults'
import { Conflicts } from './Conflicts'
import { useAsset, useDispatch, useTelemetry } from './data'
import { FortnightCard } from './fortnight/FortnightCard'
import { Grants } from './Grants'
import { LiveFigures } from './LiveFigures'
import { LogbookCard } from './LogbookCard'
import { Notifications } from './Notifications'
import { ParametersHistory } from './ParametersHistory'
import './physical-assets.css'
import { TodayCard } from './TodayCard'
import { type Draft, UnavailabilityForm } from './UnavailabilityForm'

const SECTIONS = [
  { path: '', label: 'Live' },
  { path: 'conflicts', label: 'Conflicts' },
  { path: 'bids', label: 'Bids and results' },
  { path: 'notifications', label: 'Notifications' },
  { path: 'logbook', label: 'Logbook' },
  { path: 'parameters', label: 'Parameters' },
  { path: 'grants', label: 'Grants' },
]

/** Is it available, what must it do, does it? */
export default function PhysicalAsset({ values }: ScreenProps) {
  const asset = useAsset(values.physicalAsset ?? '')
  return (
    <Loaded
      query={asset}
      skeleton={
        <div className="page">
          <SkeletonCard height={90} />
          <SkeletonCard height={300} />
          <SkeletonCard height={220} />
        </div>
      }
    >
      {(found) => <Shown key={found.id} asset={found} section={values.section ?? ''} />}
    </Loaded>
  )
}

function Shown({ asset, section }: { asset: Asset; section: string }) {
  const [isReporting, setIsReporting] = useState(false)
  const [draft, setDraft] = useState<Draft | null>(null)
  const mayReport = useMay('Create:unavailabilities')
  const { user } = useSession()
  const isOwner = asset.organisationID === user.organisationID
  const { parameters } = asset
  const sections = SECTIONS.filter((one) => one.path !== 'grants' || isOwner)
  const close = () => {
    setIsReporting(false)
    setDraft(null)
  }
  return (
    <Page
      title={asset.name}
      crumb={{ label: 'Physical assets', to: '/physical-assets' }}
      facts={[
        size(parameters.ratedDischargePower, parameters.energyCapacity),
        asset.deliveryZone,
        `η ${efficiencies(parameters.chargeEfficiency, parameters.dischargeEfficiency)}`,
        asset.status !== 'ACTIVE' && asset.status.toLowerCase(),
      ]}
      aside={
        mayReport && (
          <Button kind="primary" onClick={() => setIsReporting(true)} disabled={isReporting}>
            Report unavailability
          </Button>
        )
      }
    >
      <nav className="sections" aria-label="Of this battery">
        {sections.map((one) => (
          <Link
            key={one.path}
            to={`/physical-assets/${asset.id}${one.path ? `/${one.path}` : ''}`}
            aria-current={one.path === section ? 'page' : undefined}
          >
            {one.label}
          </Link>
        ))}
      </nav>
      <div className={isReporting ? 'asset with-form' : 'asset'}>
        <div className="asset-main">
          <Section asset={asset} section={sections.some((one) => one.path === section) ? section : ''} draft={draft} />
        </div>
        {isReporting && <UnavailabilityForm asset={asset} onDraft={setDraft} onClose={close} />}
      </div>
    </Page>
  )
}

function Section({ asset, section, draft }: { asset: Asset; section: string; draft: Draft | null }) {
  if (section === 'conflicts') return <Conflicts asset={asset} />
  if (section === 'bids') return <BidsAndResults asset={asset} />
  if (section === 'notifications') return <Notifications asset={asset} />
  if (section === 'logbook') return <LogbookCard asset={asset} most={200} />
  if (section === 'parameters') return <ParametersHistory asset={asset} />
  if (section === 'grants') return <Grants asset={asset} />
  return <Live asset={asset} draft={draft} />
}

function Live({ asset, draft }: { asset: Asset; draft: Draft | null }) {
  const now = useMinute()
  const today = spanOf(dayOf(now))
  const telemetry = useTelemetry(asset.id, today)
  const dispatch = useDispatch(asset.id, today)
  return (
    <>
      <LiveFigures
        asset={asset}
        telemetry={telemetry.series}
        isLive={telemetry.isLive}
        absence={telemetry.absence}
        dispatch={dispatch.data?.dispatch}
      />
      <TodayCard asset={asset} telemetry={telemetry} dispatch={dispatch.data?.dispatch} today={today} now={now} />
      {dispatch.data && (
        <AcknowledgementsCard asset={asset} today={today} isDispatched={dispatch.data.dispatch.length > 0} />
      )}
      <FortnightCard asset={asset} draft={draft} now={now} />
      <LogbookCard asset={asset} most={5} />
    </>
  )
}
