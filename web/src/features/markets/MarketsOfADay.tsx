import { useEffect, useMemo, useState } from 'react'
import { useVirtualAssets, type VirtualAsset } from '../../shared/api/resources'
import { useMinute } from '../../shared/clock'
import { megawatts, plural } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf, spanOf } from '../../shared/time/marketDay'
import { dayInWords } from '../../shared/time/words'
import { Button, IconButton } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { isTyping } from '../../shared/ui/typing'
import { go, useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import {
  added,
  arcsOf,
  isEmpty,
  type MarketDay,
  spread,
  stagesOf,
  TERMS,
  type Terms,
  takesOrders,
  useHeadroom,
  useMarketDay,
  useProposals,
} from './data'
import { Gates } from './Gates'
import './markets.css'
import { Side } from './Side'

/** What is traded at each gate of a day, what is proposed at the next one, and what came of those before? */
export default function MarketsOfADay({ values }: ScreenProps) {
  const now = useMinute()
  const assets = useVirtualAssets()
  const day = dayFrom(values.day) ?? addDays(dayOf(now), 1)
  return (
    <Loaded query={assets} skeleton={<SkeletonCard height={700} />}>
      {(all) => <Shown key={day} all={all} day={day} today={dayOf(now)} />}
    </Loaded>
  )
}

function Shown({ all, day, today }: { all: VirtualAsset[]; day: Day; today: Day }) {
  const [of, setOf] = useParameter('of')
  const span = useMemo(() => spanOf(day), [day])
  const living = useMemo(
    () => all.filter((one) => Date.parse(one.start) < span.end && Date.parse(one.end) > span.start),
    [all, span],
  )
  const shown = useMemo(
    () => (of ? living.filter((one) => one.id === of || one.deliveryZone === of) : living),
    [living, of],
  )
  const markets = useMarketDay(shown, day)
  const sum = (read: (one: VirtualAsset) => number) => shown.reduce((total, one) => total + read(one), 0)
  const walk = (to: Day) => go(`/markets/${to}${location.search}`)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.key === '[') go(`/markets/${addDays(day, -1)}${location.search}`)
      if (event.key === ']') go(`/markets/${addDays(day, 1)}${location.search}`)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [day])
  const zones = [...new Set(living.map((one) => one.deliveryZone))].sort()
  return (
    <Page
      title="Markets of a day"
      facts={[
        plural(shown.length, 'virtual battery', 'virtual batteries'),
        `${megawatts(sum((one) => one.ratedDischargePower))} MW · ${megawatts(sum((one) => one.energyCapacity))} MWh`,
      ]}
      aside={
        <>
          <select
            className="role-select"
            aria-label="Markets of"
            value={of ?? ''}
            onChange={(event) => setOf(event.target.value || null)}
          >
            <option value="">All batteries</option>
            <optgroup label="zones">
              {zones.map((zone) => (
                <option key={zone}>{zone}</option>
              ))}
            </optgroup>
            <optgroup label="batteries">
              {living.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </optgroup>
          </select>
          <IconButton
            name="left"
            label="The day before"
            className="icon-button bordered"
            onClick={() => walk(addDays(day, -1))}
          />
          <strong className="day-name">{dayInWords(day)}</strong>
          <IconButton
            name="right"
            label="The day after"
            className="icon-button bordered"
            onClick={() => walk(addDays(day, 1))}
          />
          <Button kind="quiet" onClick={() => walk(addDays(today, 1))}>
            Tomorrow
          </Button>
        </>
      }
    >
      {shown.length === 0 ? (
        <Card>
          <Empty title="No battery delivers on this day">Choose another day with [ and ].</Empty>
        </Card>
      ) : (
        <Loaded query={markets} skeleton={<SkeletonCard height={700} />}>
          {(found) => (
            <>
              {found.unread.length > 0 && (
                <ProblemNote error={new Error(`Could not be read just now: ${found.unread.join(', ')}.`)} />
              )}
              <Traded found={found} assets={shown} day={day} onStale={() => void markets.refetch()} />
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}

interface DayProps {
  found: MarketDay
  assets: VirtualAsset[]
  day: Day
  onStale: () => void
}

function Traded({ found, assets, day, onStale }: DayProps) {
  const now = useMinute()
  const stages = useMemo(() => stagesOf(found.batteries, day), [found, day])
  const next = stages.find((one) => one.status === 'NEXT' && takesOrders(one.stage))
  const [asked, setAsked] = useParameter('gate')
  const chosen = stages.find((one) => one.stage === asked) ?? next ?? stages.findLast((one) => takesOrders(one.stage))
  const [terms, setTerms] = useState<Terms>(TERMS)
  const headroom = useHeadroom(assets, day)
  const isOpen = chosen?.gate != null && takesOrders(chosen.stage) && now < chosen.gate
  const proposals = useProposals(found.batteries, day, chosen?.stage ?? '', terms, isOpen)
  const plans = proposals.data?.plans
  const names = useMemo(() => new Map(assets.map((one) => [one.id, one.name])), [assets])
  const arcs = useMemo(() => (plans ? arcsOf(plans, (id) => names.get(id) ?? '') : []), [plans, names])
  const proposed = useMemo(() => {
    const full = [...(plans?.values() ?? [])].filter((plan) => !isEmpty(plan))
    const count = stages[0]?.position.length ?? 0
    return full.length === 0
      ? null
      : {
          change: added(
            full.map((plan) => spread(plan.trades, day)),
            count,
          ),
          reserved: reservedOf(full),
          worth: full.reduce((sum, plan) => sum + plan.worth, 0),
        }
  }, [plans, stages, day])
  // A gate that passes is told by the service.
  const gate = next?.gate
  const isStale = gate != null && now >= gate
  // biome-ignore lint/correctness/useExhaustiveDependencies: once a gate
  useEffect(() => {
    if (isStale) onStale()
  }, [isStale])
  if (!chosen) return <Empty title="This day has no markets">Nothing is traded for it.</Empty>
  return (
    <div className="markets">
      <Gates
        stages={stages}
        day={day}
        chosen={chosen.stage}
        onChoose={setAsked}
        proposed={isOpen ? proposed : null}
        arcs={isOpen ? arcs : []}
        headroom={headroom.data}
        batteries={assets.length}
        orders={found.orders}
      />
      <Side
        key={chosen.stage}
        stage={chosen}
        stages={stages}
        found={found}
        day={day}
        isOpen={isOpen}
        proposals={proposals}
        arcs={arcs}
        terms={terms}
        onTerms={setTerms}
      />
    </div>
  )
}

function reservedOf(plans: readonly { reserves: readonly { product: string; capacity: number }[] }[]) {
  const found = new Map<string, number>()
  for (const { reserves } of plans)
    for (const { product, capacity } of reserves) found.set(product, (found.get(product) ?? 0) + capacity)
  return found
}
