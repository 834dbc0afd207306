import { useCallback, useEffect, useMemo, useReducer, useState } from 'react'
import type { VirtualAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { useMinute, useNow } from '../../shared/clock'
import { decimal, efficiencies, euro, signedEuro, size } from '../../shared/format'
import { addDays, type Day, dayOf, QUARTER_MS, spanOf } from '../../shared/time/marketDay'
import { countdown, dayInWords, longDay, time } from '../../shared/time/words'
import { IconButton } from '../../shared/ui/Button'
import { Card, type Figure, Figures, Legend } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Empty, Loaded, SkeletonCard } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { isTyping } from '../../shell/keyboard'
import { blockLeaving, go, Link } from '../../shell/router'
import type { ScreenProps } from '../../shell/screens'
import { nextGate } from '../overview/next'
import { DayPanes } from './DayPanes'
import { type DayPlan, useDayPlan, useHeld, usePrices, useVirtualAsset } from './data'
import { cycles, energies, firstBreach, value } from './projection'
import { applied, clamped, EMPTY, reduce } from './schedule/draft'
import { ScheduleSheet } from './schedule/ScheduleSheet'
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
      {(found) => <Chosen asset={found} asked={values.day} />}
    </Loaded>
  )
}

function Chosen({ asset, asked }: { asset: VirtualAsset; asked: Day | undefined }) {
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
            <Editor asset={asset} plan={found} day={day} />
          )
        }
      </Loaded>
    </Page>
  )
}

function Editor({ asset, plan, day }: { asset: VirtualAsset; plan: DayPlan; day: Day }) {
  const now = useMinute()
  const mayEdit = useMay('Update:schedules')
  const prices = usePrices(day)
  const held = useHeld(asset, day)
  const [draft, dispatch] = useReducer(reduce, EMPTY)
  const [selection, setSelection] = useState<[number, number] | null>(null)
  const battery = useMemo(
    () => ({
      chargeEfficiency: asset.chargeEfficiency,
      dischargeEfficiency: asset.dischargeEfficiency,
      energyCapacityKwh: asset.energyCapacity,
      availableEnergyKwh: asset.availableEnergyCapacity,
    }),
    [asset],
  )
  const gateMs = asset.dispatchGateClosureSeconds * 1000
  const isClosed = useCallback(
    (index: number) => (plan.quarters[index] ?? 0) - gateMs <= now,
    [plan.quarters, gateMs, now],
  )
  const isEditable = mayEdit && plan.quarters.some((_, index) => !isClosed(index))
  const powersKw = useMemo(() => applied(plan.powersKw, draft.edits), [plan.powersKw, draft.edits])
  const isEdited = draft.edits.size > 0
  const energiesKwh = useMemo(
    () => (isEdited ? projectFrom(plan, powersKw, battery) : plan.energiesKwh),
    [isEdited, plan, powersKw, battery],
  )
  const breach = isEdited ? firstBreach(energiesKwh, battery, firstChanged(plan, powersKw)) : null
  const priceOf = useMemo(() => pricesOf(plan, day, prices.data?.values ?? []), [plan, day, prices.data])
  const endKwh =
    (asset.endStateOfChargePercentage / 100) * asset.energyCapacity +
    (energiesKwh.at(-1) ?? 0) -
    (plan.energiesKwh.at(-1) ?? 0)

  const set = useCallback(
    (changes: Map<number, number>, isSameStroke = false) => {
      const allowed = new Map<number, number>()
      for (const [index, power] of changes) if (!isClosed(index)) allowed.set(index, clamped(power, plan.limits[index]))
      dispatch({ type: 'set', changes: allowed, stored: plan.powersKw, isSameStroke })
    },
    [isClosed, plan],
  )

  useEffect(() => {
    if (!isEdited) return
    blockLeaving(() => confirm('Leave without saving your changes?'))
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => {
      blockLeaving(null)
      removeEventListener('beforeunload', ask)
    }
  }, [isEdited])

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || isTyping(event.target)) return
      const key = event.key.toLowerCase()
      if (key === 'z' || key === 'y') {
        event.preventDefault()
        dispatch({ type: key === 'y' || event.shiftKey ? 'redo' : 'undo' })
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])

  return (
    <>
      <DayFigures
        asset={asset}
        plan={plan}
        powersKw={powersKw}
        energiesKwh={energiesKwh}
        endKwh={endKwh}
        breachIndex={breach?.index ?? null}
        prices={priceOf}
        isEdited={isEdited}
        isForecast={prices.data?.isForecast ?? false}
      />
      <div className="day">
        <Card className="day-chart" label="The day">
          <div className="day-legend">
            <Legend
              items={[
                { label: 'past', color: 'var(--soc)', kind: 'line' },
                { label: 'plan', color: 'var(--soc)', kind: 'dashed' },
                { label: 'discharge', color: 'var(--discharge)' },
                { label: 'charge', color: 'var(--charge)' },
                { label: 'held for FCR or aFRR', color: 'var(--fcr)', kind: 'outline' },
                { label: 'gate closed', color: 'var(--line)' },
              ]}
            />
            {isEditable && <span className="note">Drag to draw · Shift keeps the level</span>}
          </div>
          <DayPanes
            asset={asset}
            plan={plan}
            span={spanOf(day)}
            powersKw={powersKw}
            energiesKwh={energiesKwh}
            breach={breach}
            prices={prices.data}
            held={held.data ?? []}
            now={now}
            selection={selection}
            isEditable={isEditable}
            isClosed={isClosed}
            onDraw={set}
          />
        </Card>
        <ScheduleSheet
          asset={asset}
          plan={plan}
          day={day}
          powersKw={powersKw}
          draft={draft}
          dispatch={dispatch}
          selection={selection}
          onSelect={setSelection}
          onChange={set}
          breach={breach}
          endKwh={endKwh}
          isClosed={isClosed}
          isEditable={isEditable}
          mayEdit={mayEdit}
        />
      </div>
    </>
  )
}

/** From the first change on by our own arithmetic; before it, and where nothing moves, as the service projects it. */
function projectFrom(plan: DayPlan, powersKw: number[], battery: Parameters<typeof energies>[2]): number[] {
  const from = firstChanged(plan, powersKw)
  const head = plan.energiesKwh.slice(0, from)
  return [...head, ...energies(plan.energiesKwh[from] ?? plan.startKwh, powersKw.slice(from), battery)]
}

function firstChanged(plan: DayPlan, powersKw: number[]): number {
  const found = powersKw.findIndex((power, index) => power !== plan.powersKw[index])
  return found < 0 ? powersKw.length : found
}

/** The prices of the plan's own quarter-hours: on the first day of a life those may be fewer than the day's. */
function pricesOf(plan: DayPlan, day: Day, values: (number | null)[]): (number | null)[] {
  const { start } = spanOf(day)
  return plan.quarters.map((at) => values[Math.round((at - start) / QUARTER_MS)] ?? null)
}

interface FiguresProps {
  asset: VirtualAsset
  plan: DayPlan
  powersKw: number[]
  energiesKwh: number[]
  endKwh: number
  breachIndex: number | null
  prices: (number | null)[]
  isEdited: boolean
  isForecast: boolean
}

function DayFigures({
  asset,
  plan,
  powersKw,
  energiesKwh,
  endKwh,
  breachIndex,
  prices,
  isEdited,
  isForecast,
}: FiguresProps) {
  const zone = useZone()
  const now = useNow()
  const index = Math.max(0, plan.quarters.filter((at) => at <= now).length - 1)
  const storedKwh = energiesKwh[index] ?? 0
  const offKwh = endKwh - 0.5 * asset.energyCapacity
  const isBalanced = Math.abs(offKwh) <= asset.finalSoCTolerance * asset.energyCapacity + 1e-6
  const worth = value(powersKw, prices)
  const before = value(plan.powersKw, prices)
  const spent = cycles(powersKw, {
    ...asset,
    energyCapacityKwh: asset.energyCapacity,
    availableEnergyKwh: asset.availableEnergyCapacity,
  })
  const gate = nextGate(now, asset.dispatchGateClosureSeconds)
  const end: Figure = {
    label: 'End of delivery',
    value: decimal((endKwh / asset.energyCapacity) * 100, 1),
    unit: '%',
    below:
      breachIndex !== null
        ? `out of bounds at ${time(plan.quarters[breachIndex] ?? 0, zone)}`
        : isBalanced
          ? 'balanced at 50 %'
          : `${decimal(Math.abs(offKwh) / 1000, 2)} MWh ${offKwh < 0 ? 'short of' : 'above'} 50 %`,
    tone: breachIndex !== null ? 'danger' : isBalanced ? 'good' : 'warning',
  }
  const gain = worth !== null && before !== null ? worth - before : null
  const figures: Figure[] = [
    {
      label: 'State of charge',
      value: decimal((storedKwh / asset.energyCapacity) * 100, 1),
      unit: '%',
      below: `${decimal(storedKwh / 1000, 1)} of ${decimal(asset.energyCapacity / 1000)} MWh stored`,
    },
    end,
    {
      label: isForecast ? 'Plan value, expected' : 'Plan value, day-ahead',
      value: worth === null ? '–' : euro(worth, 0),
      below:
        worth === null
          ? 'prices are not known yet'
          : isEdited && breachIndex === null && gain !== null
            ? `${signedEuro(gain)} against what is stored`
            : `${euro(worth / (asset.ratedDischargePower / 1000), 0)} per MW`,
    },
    {
      label: 'Cycles of the day',
      value: decimal(spent, 2),
      unit: asset.dailyCycleLimit ? `of ${decimal(asset.dailyCycleLimit)}` : '',
      below: asset.dailyCycleLimit && spent > asset.dailyCycleLimit ? 'beyond the limit' : 'exported over capacity',
    },
    {
      label: 'Next gate',
      value: countdown(gate.gate - now),
      below: `for ${time(gate.start, zone)}–${time(gate.start + QUARTER_MS, zone)}`,
    },
  ]
  if (asset.dailyCycleLimit && spent > asset.dailyCycleLimit && figures[3]) figures[3].tone = 'warning'
  return <Figures figures={figures} />
}
