/** Every version of a battery's schedule: who, when, what changed, and the way back. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { allPages, ask, askJson, isRefused, type Schemas } from '../../../shared/api/client'
import { isConflict, sentenceOf } from '../../../shared/api/problem'
import type { VirtualAsset } from '../../../shared/api/resources'
import { useMay, useSession } from '../../../shared/api/session'
import { useMinute } from '../../../shared/clock'
import { decimal, plural, size, words } from '../../../shared/format'
import { addDays, type Day, dayOf, instant, quartersOf, spanOf } from '../../../shared/time/marketDay'
import { dayInWords, timeS, weekday } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { Card } from '../../../shared/ui/Card'
import { Page } from '../../../shared/ui/Page'
import { Empty, Loaded, ProblemNote, SkeletonCard, SkeletonRows } from '../../../shared/ui/states'
import { useZone } from '../../../shared/zone'
import type { ScreenProps } from '../../../shell/screenProps'
import { ConflictChart } from '../conflict/ConflictChart'
import '../conflict/conflict.css'
import { authorOf, type Version } from '../conflict/versions'
import { pathOf, useDayPlan, useVirtualAsset } from '../data'
import { isSamePower } from '../schedule/draft'
import '../virtual-assets.css'
import './history.css'

const MOST = 200

export default function History({ values }: ScreenProps) {
  const asset = useVirtualAsset(values.virtualAsset ?? '')
  return (
    <Loaded
      query={asset}
      skeleton={
        <div className="page">
          <SkeletonCard height={600} />
        </div>
      }
    >
      {(found) => <Versions asset={found} />}
    </Loaded>
  )
}

function Versions({ asset }: { asset: VirtualAsset }) {
  const zone = useZone()
  const session = useSession()
  const versions = useQuery({
    queryKey: ['virtual-assets', asset.id, 'history'],
    queryFn: () => allPages<Version>(`${pathOf(asset)}/schedule-history?limit=100`, MOST),
  })
  const [picked, setPicked] = useState<number | null>(null)
  const list = versions.data ?? []
  const shown = list.find((one) => one.version === picked) ?? list.find((one) => periodsOf(one) > 0) ?? list[0]
  return (
    <Page
      title="Schedule history"
      crumb={{ label: asset.name, to: `/virtual-batteries/${asset.id}` }}
      facts={[
        size(asset.ratedDischargePower, asset.energyCapacity),
        versions.data !== undefined && plural(list.length, 'version'),
      ]}
    >
      <div className="history">
        <Card title="Versions" note="newest first">
          {versions.isLoading && <SkeletonRows rows={8} height={50} />}
          {versions.isError && <ProblemNote error={versions.error} onRetry={() => void versions.refetch()} />}
          <ol className="versions">
            {list.map((one) => (
              <li key={one.version}>
                <button
                  type="button"
                  aria-pressed={one.version === shown?.version}
                  className={one.version === shown?.version ? 'is-selected' : ''}
                  onClick={() => setPicked(one.version)}
                >
                  <strong className="tabular">{one.version}</strong>
                  <span className="version-what">
                    <span>
                      {authorOf(one, session)} {kindInWords(one)}
                    </span>
                    <span className="note">{describe(one, zone)}</span>
                  </span>
                  <span className="note">
                    {weekday(Date.parse(one.acceptedAt), zone)} {timeS(Date.parse(one.acceptedAt), zone)}
                  </span>
                </button>
              </li>
            ))}
          </ol>
        </Card>
        {shown && <Difference key={shown.version} asset={asset} version={shown} newest={list[0]?.version ?? 0} />}
      </div>
    </Page>
  )
}

const periodsOf = (version: Version): number => version.changes.reduce((sum, change) => sum + change.periods, 0)

const KINDS: Record<string, string> = {
  SCHEDULE: 'changed the plan',
  ALLOCATION: 'allocated the battery',
  ADJUSTMENT: 'cut the plan at its gate',
}

function kindInWords(version: Version): string {
  return KINDS[version.kind] ?? words(version.kind).toLowerCase()
}

function describe(version: Version, zone: Parameters<typeof weekday>[1]): string {
  const count = periodsOf(version)
  if (count === 0) return 'no plan changed'
  const start = Math.min(...version.changes.map((change) => Date.parse(change.start)))
  const end = Math.max(...version.changes.map((change) => Date.parse(change.end)))
  const [first, last] = [weekday(start, zone), weekday(end - 1, zone)]
  return `${plural(count, 'quarter-hour')}, ${first === last ? first : `${first} – ${last}`}`
}

/** The market days that a version set something on. */
function daysOf(version: Version): Day[] {
  const days = new Set<Day>()
  for (const change of version.changes) {
    const last = dayOf(Date.parse(change.end) - 1)
    for (let day = dayOf(Date.parse(change.start)); day <= last; day = addDays(day, 1)) days.add(day)
  }
  return [...days].sort()
}

interface DifferenceProps {
  asset: VirtualAsset
  version: Version
  newest: number
}

function Difference({ asset, version, newest }: DifferenceProps) {
  const days = useMemo(() => daysOf(version), [version])
  const [day, setDay] = useState<Day>(days[0] ?? dayOf(Date.parse(asset.start)))
  const accepted = Date.parse(version.acceptedAt)
  const isAsked = days.length > 0
  const after = usePowers(asset, day, accepted, isAsked)
  // The first version has none before it.
  const before = usePowers(asset, day, accepted - 1, isAsked && version.version > 1)
  const plan = useDayPlan(asset, day)
  const now = useMinute()
  const gateMs = asset.dispatchGateClosureSeconds * 1000
  if (days.length === 0)
    return (
      <Card title={`Version ${version.version}`}>
        <Empty title="It set no quarter-hour">With it the battery, its blocks or its name changed.</Empty>
      </Card>
    )
  if (after.isError || before.isError)
    return (
      <ProblemNote
        error={after.error ?? before.error}
        onRetry={() => void Promise.all([after.refetch(), before.refetch()])}
      />
    )
  const beforeKw = version.version > 1 ? before.data : after.data?.map(() => 0)
  if (!after.data || !beforeKw || !plan.data) return <SkeletonCard height={520} />
  const isClosed = (index: number) => (plan.data.quarters[index] ?? 0) - gateMs <= now
  const mwh = (powers: number[]) => powers.reduce((sum, power) => sum + Math.abs(power) / 4000, 0)
  const changed = after.data.filter((power, index) => !isSamePower(power, beforeKw[index])).length
  return (
    <Card
      title={`Version ${version.version}, ${dayInWords(day)}`}
      note={`${plural(changed, 'quarter-hour')} changed; ticks: before`}
      actions={
        days.length > 1 && (
          <select className="role-select" aria-label="Day" value={day} onChange={(event) => setDay(event.target.value)}>
            {days.map((one) => (
              <option key={one} value={one}>
                {dayInWords(one)}
              </option>
            ))}
          </select>
        )
      }
    >
      <ConflictChart
        asset={asset}
        plan={plan.data}
        span={spanOf(day)}
        powersKw={after.data}
        beforeKw={beforeKw}
        ranges={[]}
        isClosed={isClosed}
        height={340}
        name={`Version ${version.version}`}
      />
      <p className="card-body note">
        In and out {decimal(mwh(beforeKw), 1)} → {decimal(mwh(after.data), 1)} MWh.
      </p>
      <Restore
        asset={asset}
        day={day}
        version={version.version}
        newest={newest}
        powersKw={after.data}
        beforeKw={beforeKw}
        isClosed={isClosed}
      />
    </Card>
  )
}

/** The day as it stood at a moment: all wholesale blocks together. */
function usePowers(asset: VirtualAsset, day: Day, at: number, isAsked: boolean) {
  const life = { start: Date.parse(asset.start), end: Date.parse(asset.end) }
  const quarters = quartersOf(day).filter((quarter) => quarter >= life.start && quarter < life.end)
  return useQuery({
    queryKey: ['virtual-assets', asset.id, 'as-of', day, at],
    queryFn: async (): Promise<number[]> => {
      const query = new URLSearchParams({
        start: instant(quarters[0] ?? 0),
        end: instant((quarters.at(-1) ?? 0) + 900_000),
        'as-of': new Date(at).toISOString(),
      })
      const blocks = await askJson<Schemas['BlockView'][]>(`${pathOf(asset)}/blocks?${query}`).catch((error) => {
        // Before it was there nothing was scheduled; any other refusal says nothing of the schedule.
        if (isRefused(error, 404)) return []
        throw error
      })
      const sums = new Map<number, number>()
      for (const block of blocks)
        if (block.market === 'WHOLESALE')
          for (const point of block.schedule) {
            const time = Date.parse(point.time)
            sums.set(time, (sums.get(time) ?? 0) + point.power)
          }
      return quarters.map((quarter) => Number((sums.get(quarter) ?? 0).toFixed(6)))
    },
    enabled: isAsked && quarters.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

interface RestoreProps {
  asset: VirtualAsset
  day: Day
  version: number
  newest: number
  powersKw: number[]
  /** What the day was before the version. */
  beforeKw: number[]
  isClosed: (index: number) => boolean
}

/** Puts the day back, as far as its gates are open: a new version, as every change. */
function Restore({ asset, day, version, newest, powersKw, beforeKw, isClosed }: RestoreProps) {
  const may = useMay('Update:schedules')
  const queries = useQueryClient()
  const plan = useDayPlan(asset, day)
  const current = plan.data
  const pointsTo = (target: number[]) =>
    (current?.quarters ?? []).flatMap((at, index) => {
      const power = target[index] ?? 0
      return isClosed(index) || isSamePower(power, current?.powersKw[index]) ? [] : [{ time: instant(at), power }]
    })
  const points = pointsTo(powersKw)
  const restore = useMutation({
    mutationFn: (schedule: typeof points) =>
      ask(`${pathOf(asset)}/schedule`, { method: 'PUT', body: { schedule }, ifMatch: current?.etag ?? '' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['virtual-assets'] }),
  })
  if (!may || !current) return null
  const isOwn = version === newest
  const undone = isOwn ? pointsTo(beforeKw) : []
  return (
    <footer className="history-restore">
      <p role="status">
        {restore.isSuccess
          ? 'Restored: it is the newest version now.'
          : points.length === 0
            ? `The day stands as version ${version} left it${isOwn ? '' : ', as far as its gates are open'}.`
            : `${plural(points.length, 'quarter-hour')} would change back; what is past its gate stays.`}
      </p>
      {restore.isError && (
        <p className="field-fault" role="alert">
          {isConflict(restore.error)
            ? 'This day was saved meanwhile and is read anew. Compare again, then restore.'
            : sentenceOf(restore.error)}
        </p>
      )}
      {undone.length > 0 && (
        <Button isBusy={restore.isPending} onClick={() => restore.mutate(undone)}>
          Undo version {version}
        </Button>
      )}
      <Button
        kind="primary"
        disabled={points.length === 0}
        isBusy={restore.isPending}
        onClick={() => restore.mutate(points)}
      >
        Restore version {version}
      </Button>
    </footer>
  )
}
