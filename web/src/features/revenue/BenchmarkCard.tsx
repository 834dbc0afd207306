/** Day by day: what was earned of what foresight could have, beside the rest of the fleet and the platform's peers. */
import { useQuery } from '@tanstack/react-query'
import { allPages, askMany, offers, type Schemas } from '../../shared/api/client'
import { useMay } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { decimal, percent } from '../../shared/format'
import { instant, type Span } from '../../shared/time/marketDay'
import { dayInWords } from '../../shared/time/words'
import { Card } from '../../shared/ui/Card'
import { useSeen } from '../../shared/ui/seen'
import { Empty, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import type { Subject } from './data'

type Day = Schemas['BenchmarkDayView']

interface Benchmark {
  days: Day[]
  /** Of the fleet or portfolio that it belongs to, where it is a part of one. */
  group: { name: string; days: Map<string, Day> } | null
}

export function BenchmarkCard({ subject, span }: { subject: Subject; span: Span }) {
  const now = useMinute()
  const [ref, isSeen] = useSeen()
  const mayPhysical = useMay('Read:physical-assets')
  const until = Math.min(span.end, now)
  const isOffered = offers('GET /revenue-reporting/physical-assets/{physicalAssetID}/benchmark')
  const found = useQuery({
    queryKey: ['revenue', 'benchmark', subject.kind, subject.id, span.start, span.end],
    queryFn: () => readBenchmark(subject, { start: span.start, end: until }, mayPhysical),
    enabled: isSeen && isOffered && subject.kind !== 'organisations' && until > span.start,
    staleTime: 5 * 60_000,
  })
  if (!isOffered || subject.kind === 'organisations') return null
  return (
    <div ref={ref}>
      <Card title="Share of foresight" note="earned, of the best day-ahead schedule at the prices that came">
        {isSeen ? (
          <Loaded query={found} skeleton={<SkeletonRows rows={4} />}>
            {(benchmark) => <Days {...benchmark} />}
          </Loaded>
        ) : (
          <div className="batteries-unseen" />
        )}
      </Card>
    </div>
  )
}

async function readBenchmark(subject: Subject, span: Span, mayPhysical: boolean): Promise<Benchmark> {
  const fleet =
    subject.kind === 'physical-assets' && mayPhysical
      ? (await allPages<Schemas['Fleet']>('/fleets')).find((one) => one.physicalAssetIDs.includes(subject.id))
      : undefined
  const query = new URLSearchParams({ start: instant(span.start), end: instant(span.end) })
  const paths = [`${subject.kind}/${subject.id}`, ...(fleet ? [`fleets/${fleet.id}`] : [])]
  const [days, others] = await askMany<Day[]>(paths.map((path) => `/revenue-reporting/${path}/benchmark?${query}`))
  return {
    days: days ?? [],
    group: fleet && others ? { name: fleet.name, days: new Map(others.map((one) => [one.day, one])) } : null,
  }
}

const shareOf = (share: number | null | undefined): string => (share == null ? '–' : percent(share, 1))

/** Of the days of which both are known; null where there is none. */
export function meanShare(days: readonly Pick<Day, 'earned' | 'foresight'>[]): number | null {
  const known = days.filter((one) => one.foresight !== null && one.foresight > 0)
  const best = known.reduce((sum, one) => sum + (one.foresight ?? 0), 0)
  return best > 0 ? known.reduce((sum, one) => sum + one.earned, 0) / best : null
}

function Days({ days, group }: Benchmark) {
  if (days.length === 0)
    return <Empty title="Nothing to compare yet">A whole day with published prices is compared.</Empty>
  const hasPeers = days.some((one) => one.peers)
  return (
    <>
      <Table
        columns={[
          'Day',
          { label: 'Earned, EUR', isNumber: true },
          { label: 'Foresight, EUR', isNumber: true, isWide: true },
          { label: 'Share', isNumber: true },
          ...(group ? [{ label: group.name, isNumber: true }] : []),
          { label: 'EUR per MW', isNumber: true },
          ...(hasPeers ? [{ label: 'Peers, EUR per MW', isNumber: true, isWide: true }] : []),
        ]}
      >
        <tbody>
          {[...days].reverse().map((one) => (
            <tr key={one.day}>
              <th scope="row" className="nowrap">
                {dayInWords(one.day)}
              </th>
              <td className="number">{decimal(one.earned, 2)}</td>
              <td className="number wide-cell">{one.foresight === null ? '–' : decimal(one.foresight, 2)}</td>
              <td className="number">
                <strong>{shareOf(one.share)}</strong>
              </td>
              {group && <td className="number">{shareOf(group.days.get(one.day)?.share)}</td>}
              <td className="number">{one.perMW === null ? '–' : decimal(one.perMW, 2)}</td>
              {hasPeers && (
                <td className="number wide-cell">
                  {one.peers ? (
                    <>
                      {decimal(one.peers.median, 2)}{' '}
                      <span className="note">
                        ({decimal(one.peers.quartiles.lower, 0)}–{decimal(one.peers.quartiles.upper, 0)})
                      </span>
                    </>
                  ) : (
                    '–'
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr className="days-sum">
            <th scope="row">Together</th>
            <td className="number">
              {decimal(
                days.reduce((sum, one) => sum + one.earned, 0),
                2,
              )}
            </td>
            <td className="number wide-cell" />
            <td className="number">{shareOf(meanShare(days))}</td>
            {group && <td className="number">{shareOf(meanShare([...group.days.values()]))}</td>}
            <td className="number" />
            {hasPeers && <td className="number wide-cell" />}
          </tr>
        </tfoot>
      </Table>
      <p className="card-body note">
        Above 100 % other markets paid more than the day-ahead auction.
        {hasPeers ? ' Peers: the platform’s other batteries of its duration; median and middle half.' : ''} Where a
        price is missing nothing is compared.
      </p>
    </>
  )
}
