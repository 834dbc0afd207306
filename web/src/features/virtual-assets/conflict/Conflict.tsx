/** Two people changed one day: both versions side by side, and for each range whose is saved. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { ask } from '../../../shared/api/client'
import { isConflict, sentenceOf } from '../../../shared/api/problem'
import type { VirtualAsset } from '../../../shared/api/resources'
import { useSession } from '../../../shared/api/session'
import { isBalanced } from '../../../shared/balance'
import { useNow } from '../../../shared/clock'
import { decimal, euro, initials, plural, signedEuro } from '../../../shared/format'
import { instant, spanOf } from '../../../shared/time/marketDay'
import { age, timeS } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { Card } from '../../../shared/ui/Card'
import { Icon } from '../../../shared/ui/Icon'
import { useZone } from '../../../shared/zone'
import { Link } from '../../../shell/router'
import { type DayPlan, type PriceSource, pathOf } from '../data'
import { projectionOf, value } from '../projection'
import { spanOfPlan } from './ChangedPlanNotice'
import { ConflictChart } from './ConflictChart'
import './conflict.css'
import { type Choice, choiceOf, isChoiceStale, merged, rangesOf, type Side, withChoice } from './merge'
import { RangeList } from './RangeList'
import { useChangeSince } from './versions'

interface Props {
  asset: VirtualAsset
  /** The version that editing began with. */
  base: DayPlan
  /** What is stored now. */
  theirs: DayPlan
  mineKw: number[]
  prices: (number | null)[]
  source: PriceSource
  isClosed: (index: number) => boolean
  onBack: () => void
  onSaved: () => void
  /** Go on editing with what was chosen, on top of what is stored, and have the rest balanced. */
  onTake: (edits: Map<number, number>) => void
}

const PRICED: Record<PriceSource, string> = {
  published: 'at the day-ahead price',
  forecast: 'at the median price',
  both: 'at published and expected prices',
}

export function Conflict(props: Props) {
  const { asset, base, theirs, mineKw, prices, isClosed, onBack, onSaved, onTake } = props
  const { user } = useSession()
  const queries = useQueryClient()
  const change = useChangeSince(asset, base.version, theirs.version, spanOfPlan(theirs))
  const author = change.data?.author ?? 'A colleague'
  const span = useMemo(() => spanOf(theirs.day), [theirs.day])
  const versions = useMemo(
    () => ({ baseKw: base.powersKw, mineKw, theirsKw: theirs.powersKw }),
    [base.powersKw, mineKw, theirs.powersKw],
  )
  const ranges = useMemo(() => rangesOf(versions, isClosed), [versions, isClosed])
  const [chosen, setChosen] = useState<readonly Choice[]>([])
  const choices = ranges.map((range) => (range.isClosed ? 'theirs' : choiceOf(range, versions, chosen)))
  const dropped = ranges.filter((range) => isChoiceStale(range, versions, chosen))
  const choose = (places: number[], side: Side) =>
    setChosen((old) =>
      places.reduce((all, place) => (ranges[place] ? withChoice(all, ranges[place], versions, side) : all), old),
    )
  const all = ranges.map((_, place) => place)
  const result = merged(versions, ranges, choices)
  const projected = {
    mine: projectionOf(asset, base, mineKw),
    theirs: projectionOf(asset, theirs, theirs.powersKw),
    result: projectionOf(asset, theirs, result),
  }
  const edits = new Map(result.flatMap((power, index) => (power === theirs.powersKw[index] ? [] : [[index, power]])))
  const open = choices.filter((choice) => choice === null).length
  const { breach } = projected.result

  const save = useMutation({
    mutationFn: async () => {
      if (edits.size === 0) return
      const schedule = [...edits].map(([index, power]) => ({ time: instant(theirs.quarters[index] ?? 0), power }))
      await ask(`${pathOf(asset)}/schedule`, { method: 'PUT', body: { schedule }, ifMatch: theirs.etag })
    },
    onSuccess: onSaved,
    // Saved again meanwhile: the newest is compared, and what was chosen stays chosen where nothing moved.
    onSettled: () => queries.invalidateQueries({ queryKey: ['virtual-assets'] }),
  })
  const maySave = open === 0 && breach === null && !save.isPending
  const { mutate } = save
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== 's') return
      event.preventDefault()
      if (maySave) mutate()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [maySave, mutate])

  const worth = value(result, prices)
  const stored = value(theirs.powersKw, prices)
  const chart = { asset, plan: theirs, span, ranges, isClosed }
  const isYou = author === 'You'
  return (
    <>
      <ConflictBanner asset={asset} author={author} version={theirs.version} savedAt={change.data?.savedAt} />
      <div className="conflict">
        <div className="conflict-charts">
          <VersionCard
            who={user.displayName || 'You'}
            title="Yours"
            note={`not saved, from version ${base.version}`}
            worth={projected.mine.breach ? null : value(mineKw, prices)}
            priced={PRICED[props.source]}
          >
            <ConflictChart
              {...chart}
              name="Yours"
              height={290}
              powersKw={mineKw}
              beforeKw={base.powersKw}
              energiesKwh={projected.mine.energiesKwh}
            />
          </VersionCard>
          <VersionCard
            who={author}
            title={isYou ? 'Saved in another window' : `${author}’s`}
            note={`version ${theirs.version}`}
            worth={stored}
            priced={PRICED[props.source]}
          >
            <ConflictChart
              {...chart}
              name={`${author}’s`}
              height={290}
              powersKw={theirs.powersKw}
              beforeKw={base.powersKw}
              energiesKwh={projected.theirs.energiesKwh}
            />
          </VersionCard>
          <Card className="conflict-result" label="What will be saved">
            <header className="card-head">
              <h2>What will be saved</h2>
              <span className="note">
                {edits.size === 0 ? `version ${theirs.version} stays` : `version ${theirs.version + 1}`} · ticks:
                version {theirs.version}
              </span>
              {worth !== null && stored !== null && breach === null && open === 0 && (
                <div className="card-actions">
                  <strong className="conflict-worth">{euro(worth, 0)}</strong>
                  <span className="note">
                    {signedEuro(worth - stored)} on version {theirs.version}
                  </span>
                </div>
              )}
            </header>
            <ConflictChart
              {...chart}
              name="What will be saved"
              height={290}
              powersKw={result}
              beforeKw={theirs.powersKw}
              energiesKwh={projected.result.energiesKwh}
            />
          </Card>
        </div>
        <Card className="conflict-ranges" label="Ranges that differ">
          <header className="card-head">
            <h2>{plural(ranges.length, 'range differs', 'ranges differ')}</h2>
            <span className="note">
              {plural(
                ranges.reduce((sum, one) => sum + one.to - one.from, 0),
                'quarter',
              )}
            </span>
            <div className="card-actions">
              <Button isCompact onClick={() => choose(all, 'mine')}>
                All mine
              </Button>
              <Button isCompact onClick={() => choose(all, 'theirs')}>
                All theirs
              </Button>
            </div>
          </header>
          <RangeList
            plan={theirs}
            versions={versions}
            ranges={ranges}
            choices={choices}
            result={result}
            author={author}
            onChoose={(place, side) => choose([place], side)}
          />
          {dropped.length > 0 && (
            <p className="verdict conflict-verdict" role="alert">
              {plural(dropped.length, 'choice was', 'choices were')} dropped: {author} moved{' '}
              {dropped.length === 1 ? 'that range' : 'those ranges'} again after you chose.
            </p>
          )}
          <Verdict
            asset={asset}
            open={open}
            endKwh={projected.result.endKwh}
            breachKwh={breach?.kwh ?? null}
            onBalance={() => onTake(edits)}
          />
          {save.isError && (
            <p className="form-problem" role="alert">
              {isConflict(save.error)
                ? 'Saved once more meanwhile: this is the newest. Look again, then save.'
                : sentenceOf(save.error)}
            </p>
          )}
          <footer className="conflict-foot">
            <Button kind="quiet" onClick={onBack}>
              Back to editing
            </Button>
            <Button kind="primary" disabled={!maySave} isBusy={save.isPending} onClick={() => save.mutate()}>
              {edits.size === 0 ? `Keep version ${theirs.version}` : `Save version ${theirs.version + 1}`}{' '}
              <span aria-hidden="true">⌘S</span>
            </Button>
          </footer>
        </Card>
      </div>
    </>
  )
}

function ConflictBanner({
  asset,
  author,
  version,
  savedAt,
}: {
  asset: VirtualAsset
  author: string
  version: number
  savedAt: number | undefined
}) {
  const now = useNow()
  const zone = useZone()
  return (
    <div className="changed-notice" role="alert">
      <Icon name="warning" />
      <p>
        <strong>
          {author === 'You' ? 'You saved this day in another window' : `${author} saved this day`} while you were
          editing.
        </strong>{' '}
        <span className="note">
          Version {version}
          {savedAt ? `, ${timeS(savedAt, zone)}, ${age(now - savedAt)} ago` : ''}. Nothing is lost or overwritten:
          choose for each range, then save.
        </span>
      </p>
      <Link to={`/virtual-batteries/${asset.id}/history`} className="button button-compact">
        History
      </Link>
    </div>
  )
}

interface VersionProps {
  who: string
  title: string
  note: string
  worth: number | null
  priced: string
  children: React.ReactNode
}

function VersionCard({ who, title, note, worth, priced, children }: VersionProps) {
  return (
    <Card label={title} className="conflict-version">
      <header className="conflict-head">
        <span className="avatar" aria-hidden="true">
          {initials(who)}
        </span>
        <span className="conflict-name">
          <strong>{title}</strong>
          <span className="note">{note}</span>
        </span>
        {worth !== null && (
          <span className="conflict-value">
            <strong>{euro(worth, 0)}</strong>
            <span className="note">{priced}</span>
          </span>
        )}
      </header>
      {children}
    </Card>
  )
}

interface VerdictProps {
  asset: VirtualAsset
  open: number
  endKwh: number
  breachKwh: number | null
  onBalance: () => void
}

function Verdict({ asset, open, endKwh, breachKwh, onBalance }: VerdictProps) {
  if (open > 0)
    return (
      <p className="verdict conflict-verdict" role="status">
        {plural(open, 'range was', 'ranges were')} changed by both: choose, then save.
      </p>
    )
  if (breachKwh !== null)
    return (
      <p className="verdict verdict-danger conflict-verdict" role="status">
        Together the store would be{' '}
        <strong>
          {decimal(Math.abs(breachKwh) / 1000, 2)} MWh {breachKwh > 0 ? 'above its capacity' : 'below empty'}.
        </strong>
      </p>
    )
  const off = endKwh - 0.5 * asset.energyCapacity
  const percent = `${decimal((endKwh / asset.energyCapacity) * 100, 1)} %`
  if (isBalanced(asset, off))
    return (
      <p className="verdict verdict-good conflict-verdict" role="status">
        Together they end at <strong>{percent}</strong>, within the tolerance.
      </p>
    )
  return (
    <div className="verdict conflict-verdict">
      <p role="status">
        Together they end at <strong>{percent}</strong>: {off < 0 ? 'charge' : 'discharge'}{' '}
        <strong>{decimal(Math.abs(off) / 1000, 2)} MWh</strong> more to reach 50 %.
      </p>
      <Button isCompact onClick={onBalance}>
        Balance the rest
      </Button>
    </div>
  )
}
