import { useCallback, useEffect } from 'react'
import type { VirtualAsset } from '../../shared/api/resources'
import { useMinute } from '../../shared/clock'
import { efficiencies, size } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf } from '../../shared/time/marketDay'
import { dayInWords, longDay } from '../../shared/time/words'
import { IconButton } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonCard } from '../../shared/ui/states'
import { isTyping } from '../../shared/ui/typing'
import { useZone } from '../../shared/zone'
import { go, Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { useDayPlan, useVirtualAsset } from './data'
import { DayEditor } from './day/DayEditor'
import './virtual-assets.css'

/** What runs, does it end at 50 %, what is it worth? */
export default function BatteryDay({ values }: ScreenProps) {
  const asset = useVirtualAsset(values.virtualAsset ?? '')
  return (
    <Loaded
      query={asset}
      skeleton={
        <div className="page">
          <SkeletonCard height={90} />
          <SkeletonCard height={600} />
        </div>
      }
    >
      {(found) => <Chosen asset={found} asked={dayFrom(values.day)} />}
    </Loaded>
  )
}

function Chosen({ asset, asked }: { asset: VirtualAsset; asked: Day | null }) {
  const now = useMinute()
  const first = dayOf(Date.parse(asset.start))
  const last = dayOf(Date.parse(asset.end) - 1)
  const today = dayOf(now)
  const day = asked ?? (today < first ? first : today > last ? last : today)
  return <Shown key={`${asset.id}-${day}`} asset={asset} day={day} first={first} last={last} today={today} />
}

interface ShownProps {
  asset: VirtualAsset
  day: Day
  first: Day
  last: Day
  today: Day
}

function Shown({ asset, day, first, last, today }: ShownProps) {
  const zone = useZone()
  const plan = useDayPlan(asset, day)
  const move = useCallback(
    (days: number) => go(`/virtual-batteries/${asset.id}/${addDays(day, days)}`),
    [asset.id, day],
  )
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.key === '[' && day > first) move(-1)
      if (event.key === ']' && day < last) move(1)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [move, day, first, last])
  return (
    <Page
      title={asset.name}
      crumb={{ label: 'Virtual batteries', to: '/virtual-batteries' }}
      facts={[
        size(asset.ratedDischargePower, asset.energyCapacity),
        asset.deliveryZone,
        `η ${efficiencies(asset.chargeEfficiency, asset.dischargeEfficiency)}`,
        `until ${longDay(Date.parse(asset.end) - 1, zone)}`,
      ]}
      aside={
        <>
          <IconButton
            name="left"
            label="The day before"
            className="icon-button bordered"
            disabled={day <= first}
            onClick={() => move(-1)}
          />
          <strong className="day-name">{dayInWords(day)}</strong>
          <IconButton
            name="right"
            label="The day after"
            className="icon-button bordered"
            disabled={day >= last}
            onClick={() => move(1)}
          />
          <Link
            to={`/virtual-batteries/${asset.id}/course?from=${day}&beside=${addDays(day, -1)}`}
            className="button button-quiet"
          >
            Compare
          </Link>
          <Link to={`/virtual-batteries/${asset.id}/history`} className="button button-quiet">
            History
          </Link>
          {today >= first && today <= last && (
            <Link to={`/virtual-batteries/${asset.id}/${today}`} className="button button-quiet">
              Today
            </Link>
          )}
        </>
      }
    >
      <Loaded query={plan} skeleton={<SkeletonCard height={640} />}>
        {(found) =>
          found.quarters.length === 0 ? (
            <Card>
              <Empty
                title="It does not deliver on this day"
                action={<Link to={`/virtual-batteries/${asset.id}/${first}`}>To its first day</Link>}
              />
            </Card>
          ) : (
            <DayEditor asset={asset} plan={found} day={day} />
          )
        }
      </Loaded>
    </Page>
  )
}
