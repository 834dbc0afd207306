import { useEffect, useState } from 'react'
import { useMay } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { euro, plural, signed } from '../../shared/format'
import { addDays, type Day, dayFrom, dayOf, type Span } from '../../shared/time/marketDay'
import { dayInWords, dayMonth } from '../../shared/time/words'
import { IconButton } from '../../shared/ui/Button'
import { Card, type Figure, Figures } from '../../shared/ui/Card'
import { Page } from '../../shared/ui/Page'
import { Segmented } from '../../shared/ui/Segmented'
import { Empty, Loaded, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { go, goWithin, useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { StatementsCard } from '../settlement/StatementsCard'
import { BatteriesCard } from './BatteriesCard'
import { BenchmarkCard } from './BenchmarkCard'
import { ByProduct } from './ByProduct'
import { Days } from './Days'
import {
  type Bucket,
  comparisonOf,
  DAYS,
  dayOfBucket,
  type Kind,
  keptOf,
  PRODUCTS,
  type Product,
  type Range,
  SETTLED,
  type Statement,
  type Subject,
  spanBefore,
  statementPath,
  useBuckets,
  useStatement,
  useSubjects,
} from './data'
import { HeatMap } from './HeatMap'
import { Quarters } from './Quarters'
import './revenue.css'
import { StatementCard } from './StatementCard'
import { linesOf, useVolumes, type Volumes } from './statement'

const RANGES = [
  { value: 'day', label: 'Day' },
  { value: 'week', label: '7 days' },
  { value: 'month', label: '30 days' },
  { value: 'year', label: 'Year' },
] as const

const KINDS: Kind[] = ['organisations', 'fleets', 'portfolios', 'virtual-assets', 'physical-assets']
const GROUPS: Record<Kind, string> = {
  organisations: 'all together',
  fleets: 'fleets',
  portfolios: 'portfolios',
  'virtual-assets': 'virtual batteries',
  'physical-assets': 'batteries',
}

/** What did I earn, from what, per MW, after what I paid? */
export default function Revenue({ values }: ScreenProps) {
  const may = useMay('Read:revenue')
  const { whole, subjects, isLoading, error } = useSubjects()
  const isWhole = values.kind === undefined || values.subject === whole.id
  const asked = isLoading && isWhole ? whole : subjects.find((one) => isThis(one, values.kind, values.subject))
  const first = subjects[0]
  const isFirst = values.kind === undefined || !asked
  useEffect(() => {
    if (isFirst && first && !isLoading) goWithin('/revenue', `/revenue/${first.kind}/${first.id}${location.search}`)
  }, [isFirst, first, isLoading])
  if (!may)
    return (
      <Page title="Revenue">
        <Card>
          <Empty title="Your role may not read revenue">A trader or an admin of your organisation can.</Empty>
        </Card>
      </Page>
    )
  if (!asked)
    return (
      <Page title="Revenue">
        {isLoading ? (
          <SkeletonCard height={400} />
        ) : error ? (
          <ProblemNote error={error} />
        ) : (
          <Card>
            <Empty title="There is nothing to report on yet">
              Revenue is reported for virtual batteries, portfolios, batteries and fleets.
            </Empty>
          </Card>
        )}
      </Page>
    )
  return <Report key={`${asked.kind}/${asked.id}`} subject={asked} subjects={subjects} isReady={!isLoading} />
}

const isThis = (one: Subject, kind: string | undefined, id: string | undefined) => one.kind === kind && one.id === id

interface ReportProps {
  subject: Subject
  subjects: Subject[]
  /** Whether it is known what the subject holds and owns: its figures are asked for before that. */
  isReady: boolean
}

function Report({ subject, subjects, isReady }: ReportProps) {
  const now = useMinute()
  const [rangeText, setRange] = useParameter('range')
  const [until, setUntil] = useParameter('until')
  const range = RANGES.find((one) => one.value === rangeText)?.value ?? 'month'
  const today = dayOf(now)
  const last = dayFrom(until) ?? today
  const span = spanBefore(last, range)
  const before: Span = spanBefore(addDays(last, -DAYS[range]), range)
  const daily = useBuckets(subject, span, 'daily')
  const earlier = useBuckets(subject, before, 'daily')
  const statement = useStatement(subject, span)
  const volumes = useVolumes(subject, span)
  const hours = useBuckets(subject, span, 'hourly')
  const [chosen, setChosen] = useState<Day | null>(null)
  const [viewText, setView] = useParameter('view')
  const view = viewText === 'earned' ? 'earned' : 'kept'
  const move = (days: number) => setUntil(addDays(last, days))
  return (
    <Page
      title={subject.label.replace(/,[^,]*$/, '')}
      {...(subject.kind === 'organisations' ? {} : { crumb: { label: 'Revenue', to: '/revenue' } })}
      facts={[subject.label.replace(/^.*,\s*/, ''), view === 'kept' ? 'what you keep' : 'what it earned']}
      aside={
        <>
          <select
            className="role-select subject-select"
            aria-label="Revenue of"
            value={`${subject.kind}/${subject.id}`}
            onChange={(event) => go(`/revenue/${event.target.value}${location.search}`)}
          >
            {KINDS.map((kind) => {
              const members = subjects.filter((one) => one.kind === kind)
              return members.length === 0 ? null : (
                <optgroup key={kind} label={GROUPS[kind]}>
                  {members.map((one) => (
                    <option key={one.id} value={`${one.kind}/${one.id}`}>
                      {one.label.replace(/,[^,]*$/, '')}
                    </option>
                  ))}
                </optgroup>
              )
            })}
          </select>
          <Segmented label="How long" options={RANGES} value={range} onChange={(next) => setRange(next)} />
          <span className="range-walk">
            <IconButton
              name="left"
              label="Earlier"
              className="icon-button bordered"
              onClick={() => move(-DAYS[range])}
            />
            <strong className="range-name">{rangeInWords(span)}</strong>
            <IconButton
              name="right"
              label="Later"
              className="icon-button bordered"
              disabled={last >= today}
              onClick={() => move(DAYS[range])}
            />
          </span>
        </>
      }
    >
      <Loaded query={daily} isShown={isReady} skeleton={<SkeletonCard height={600} />}>
        {(earned) => {
          const isKept = view === 'kept' && statement.data !== undefined
          const buckets = isKept ? keptOf(statement.data, earned) : earned
          const products = present(buckets, isKept ? [...PRODUCTS, SETTLED] : PRODUCTS)
          const best = [...buckets].sort((a, b) => b.total - a.total)[0]
          const shown =
            chosen && buckets.some((one) => dayOfBucket(one) === chosen) ? chosen : best ? dayOfBucket(best) : last
          return (
            <>
              <Figures
                figures={figuresOf(earned, earlier.data, statement.data, {
                  range,
                  isHeld: subject.isHeld,
                  volumes: volumes.data,
                })}
              />
              <div className="revenue">
                <div className="revenue-main">
                  <ByProduct
                    buckets={buckets}
                    products={products}
                    view={isKept ? 'kept' : 'earned'}
                    onView={statement.data ? setView : null}
                    chosen={shown}
                    onChoose={setChosen}
                  />
                  <div className="revenue-pair">
                    <Loaded query={hours} skeleton={<SkeletonCard height={230} />}>
                      {(list) => <HeatMap hours={list} span={span} chosen={shown} />}
                    </Loaded>
                    {/* Which day was the best is known with the statement. */}
                    {statement.isLoading ? <SkeletonCard height={230} /> : <Quarters subject={subject} day={shown} />}
                  </div>
                  <Days
                    buckets={buckets}
                    products={products}
                    subject={subject}
                    span={span}
                    chosen={shown}
                    onChoose={setChosen}
                  />
                  <BatteriesCard subject={subject} span={span} />
                  <BenchmarkCard subject={subject} span={span} />
                </div>
                <div className="revenue-side">
                  <StatementCard statement={statement} volumes={volumes.data} path={statementPath(subject, span)} />
                  <StatementsCard isAsked={!statement.isLoading && !hours.isLoading} />
                </div>
              </div>
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

/** Only what there is something of; where there is nothing at all, everything that there could be. */
function present(buckets: Bucket[], products: readonly Product[]): readonly Product[] {
  const found = products.filter(({ key }) => buckets.some((one) => Math.abs(one.parts[key] ?? 0) >= 0.005))
  return found.length > 0 ? found : products
}

/** `17 Oct – 15 Nov 2026` */
function rangeInWords({ start, end }: Span): string {
  const last = dayInWords(dayOf(end - 1))
  if (dayOf(start) === dayOf(end - 1)) return last
  const [first, year] = [dayMonth(start, 'Europe/Berlin'), dayOf(start).slice(0, 4)]
  return `${year === last.slice(-4) ? first : `${first} ${year}`} – ${last.replace(/^\w+, /, '')}`
}

/** What the reader keeps comes first: it is what is paid in the end. */
function figuresOf(
  buckets: Bucket[],
  earlier: Bucket[] | undefined,
  statement: Statement | undefined,
  { range, isHeld, volumes }: { range: Range; isHeld: boolean; volumes: Volumes | undefined },
): Figure[] {
  const sum = (list: Bucket[]) => list.reduce((total, one) => total + one.total, 0)
  const total = sum(buckets)
  const perMw = buckets.reduce((all, one) => all + one.perMw, 0)
  const days = DAYS[range]
  const compared = comparisonOf(buckets, earlier, days)
  const figures: Figure[] = [
    {
      label: isHeld ? 'Earned in the markets' : 'Earned by the batteries',
      value: euro(total, 0),
      below: `${euro(total / days, 0)} a day`,
    },
    {
      label: 'Earned per MW and year',
      value: euro((perMw / days) * 365, 0),
      below: `${euro(perMw, 0)} per MW in ${days === 1 ? 'a day' : `${days} days`}`,
    },
    {
      label: days === 1 ? 'Against the day before' : `Against the ${days} days before`,
      value: compared?.change == null ? '–' : signed(compared.change * 100, 1),
      unit: compared?.change == null ? '' : '%',
      below: !compared
        ? 'not read yet'
        : compared.change !== null || compared.known === 0
          ? `${euro(compared.past, 0)} earned then`
          : `only ${plural(compared.known, 'day')} of them earned`,
    },
  ]
  if (!statement) return figures
  // The income and the cost of the statement beside it.
  const came = linesOf(statement, volumes).income.reduce((all, line) => all + line.amount, 0)
  const kept: Figure = {
    label: 'What you keep',
    value: euro(statement.total, 0),
    below: `${euro(came, 0)} came in, ${euro(came - statement.total, 0)} was paid`,
  }
  return [kept, ...figures]
}
