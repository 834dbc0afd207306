import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask, askJson, type Schemas } from '../../shared/api/client'
import { faultAt } from '../../shared/api/problem'
import { useMinute } from '../../shared/clock'
import { decimal, percent, words } from '../../shared/format'
import { addDays, dayFrom, dayOf, instant, momentOf } from '../../shared/time/marketDay'
import { nearTime, weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Field } from '../../shared/ui/Field'
import { FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'

type Feed = Schemas['FeedView']
type Run = Schemas['FeedRunView']

const KEY = ['administration', 'feeds']
const TITLES: Record<string, string> = {
  smard: 'SMARD',
  'energy-charts': 'Energy-Charts',
  entsoe: 'ENTSO-E',
  regelleistung: 'regelleistung.net',
  netztransparenz: 'netztransparenz.de',
}
const SERIES: Record<string, string> = {
  DAY_AHEAD_DE_LU: 'Day-ahead price',
  REBAP_DE: 'Imbalance price',
  ID_AEP_DE: 'Intraday index ID AEP',
  LOAD_FORECAST_DE: 'Load forecast',
  WIND_FORECAST_DE: 'Wind forecast',
  SOLAR_FORECAST_DE: 'Solar forecast',
  FCR_DE: 'FCR price',
}
const seriesInWords = (name: string): string => SERIES[name] ?? words(name).replace('Afrr', 'aFRR').replace(' de', '')
const titleOf = (name: string): string => TITLES[name] ?? name

/** Which public market data the platform pulls, until when each series is complete, and what went wrong last. */
export function Feeds() {
  const [chosen, setChosen] = useState<string | null>(null)
  const feeds = useQuery({ queryKey: KEY, queryFn: () => askJson<Feed[]>('/feeds'), refetchInterval: 30_000 })
  const shown = feeds.data?.find((one) => one.name === chosen) ?? feeds.data?.[0]
  return (
    <>
      <Loaded query={feeds} skeleton={<SkeletonRows rows={5} />}>
        {(list) => (
          <Card title="Feeds" note="public market data that the platform pulls by itself">
            <Table columns={['Source', 'Complete until', 'State', { label: 'Actions', isUnseen: true }]}>
              <tbody>
                {list.map((feed) => (
                  <Row key={feed.name} feed={feed} isChosen={feed === shown} onChoose={() => setChosen(feed.name)} />
                ))}
              </tbody>
            </Table>
          </Card>
        )}
      </Loaded>
      {shown && <Series feed={shown} />}
      {shown && <Runs key={shown.name} feed={shown} />}
    </>
  )
}

function Row({ feed, isChosen, onChoose }: { feed: Feed; isChosen: boolean; onChoose: () => void }) {
  const zone = useZone()
  const queries = useQueryClient()
  const turn = useMutation({
    mutationFn: () => ask(`/feeds/${feed.name}`, { method: 'PUT', body: { enabled: !feed.enabled } }),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  })
  const until = feed.series.map((one) => one.completeUntil).filter((one): one is string => one !== null)
  const worst = STATES.find((state) => feed.series.some((one) => one.status === state))
  return (
    <tr className={isChosen ? 'is-selected' : ''}>
      <td>
        <strong>{titleOf(feed.name)}</strong>
      </td>
      <td>{until.length > 0 ? weekdayTime(Math.min(...until.map(Date.parse)), zone) : '–'}</td>
      <td>
        {!feed.configured ? (
          <Badge tone="warning">not configured</Badge>
        ) : !feed.enabled ? (
          <Badge>off</Badge>
        ) : (
          <State status={worst ?? 'COMPLETE'} />
        )}
      </td>
      <td className="number">
        <span className="ask-row">
          <FormProblem error={turn.error} />
          <Button isCompact onClick={onChoose} aria-label={`Series and runs of ${titleOf(feed.name)}`}>
            Series
          </Button>
          <Button isCompact isBusy={turn.isPending} onClick={() => turn.mutate()}>
            {feed.enabled ? 'Switch off' : 'Switch on'}
          </Button>
        </span>
      </td>
    </tr>
  )
}

/** From the worst on. */
const STATES = ['FAILED', 'LATE', 'WAITING', 'COMPLETE', 'OFF'] as const

function State({ status }: { status: string }) {
  const tone = status === 'COMPLETE' ? 'good' : status === 'FAILED' || status === 'LATE' ? 'warning' : undefined
  return <Badge {...(tone ? { tone } : {})}>{status.toLowerCase()}</Badge>
}

function Series({ feed }: { feed: Feed }) {
  const zone = useZone()
  const now = useMinute()
  return (
    <Card title={`Series of ${titleOf(feed.name)}`}>
      <Table
        columns={[
          'Series',
          'State',
          'Complete until',
          { label: 'Newest price from', isWide: true },
          { label: 'Next look', isWide: true },
        ]}
      >
        <tbody>
          {feed.series.map((one) => (
            <tr key={one.series}>
              <td>
                <strong>{seriesInWords(one.series)}</strong>
                {one.detail && <span className="note second-line">{one.detail}</span>}
              </td>
              <td>
                <State status={one.status} />
              </td>
              <td>
                {one.completeUntil ? weekdayTime(Date.parse(one.completeUntil), zone) : '–'}
                {one.firstSeenAt && (
                  <span className="note second-line">
                    first seen {nearTime(Date.parse(one.firstSeenAt), now, zone).replace('Today', 'today')}
                  </span>
                )}
              </td>
              <td className="wide-cell">{one.source ? words(one.source) : '–'}</td>
              <td className="wide-cell">{one.nextAt ? weekdayTime(Date.parse(one.nextAt), zone) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Card>
  )
}

function Runs({ feed }: { feed: Feed }) {
  const zone = useZone()
  const now = useMinute()
  const queries = useQueryClient()
  const key = [...KEY, feed.name, 'runs']
  const runs = useQuery({
    queryKey: key,
    queryFn: () => askJson<Run[]>(`/feeds/${feed.name}/runs`),
    refetchInterval: ({ state }) => (state.data?.some((one) => one.progress < 1 && !one.fault) ? 2000 : 30_000),
  })
  const [from, setFrom] = useState<string>(addDays(dayOf(now), -30))
  const [until, setUntil] = useState<string>(dayOf(now))
  const run = useMutation({
    mutationFn: (body: Schemas['NewFeedRun']) => ask(`/feeds/${feed.name}/runs`, { method: 'POST', body }),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  })
  const [first, last] = [dayFrom(from), dayFrom(until)]
  const fill = (event: FormEvent) => {
    event.preventDefault()
    if (first === null || last === null) return
    run.mutate({ start: instant(momentOf(first)), end: instant(momentOf(addDays(last, 1))) })
  }
  return (
    <Card
      title={`Runs of ${titleOf(feed.name)}`}
      actions={
        <Button isCompact isBusy={run.isPending} disabled={!feed.configured} onClick={() => run.mutate({})}>
          Run now
        </Button>
      }
    >
      <form className="card-body form" onSubmit={fill}>
        <div className="form-row">
          <Field
            label="Fill from"
            value={from}
            onChange={(event) => setFrom(event.target.value)}
            fault={first === null ? 'A day, such as 2026-10-01.' : faultAt(run.error, '/start')}
          />
          <Field
            label="To and with"
            value={until}
            onChange={(event) => setUntil(event.target.value)}
            fault={last === null ? 'A day, such as 2026-10-31.' : faultAt(run.error, '/end')}
          />
        </div>
        <div className="form-foot">
          <Button type="submit" disabled={first === null || last === null || !feed.configured} isBusy={run.isPending}>
            Fill the window
          </Button>
        </div>
      </form>
      <FormProblem error={run.error} />
      <Loaded query={runs} skeleton={<SkeletonRows rows={4} />}>
        {(list) =>
          list.length === 0 ? (
            <p className="card-body note">It was not asked yet.</p>
          ) : (
            <Table
              columns={[
                'When',
                'What was answered',
                { label: 'New', isNumber: true },
                { label: 'Changed', isNumber: true },
                { label: 'kB', isNumber: true, isWide: true },
              ]}
            >
              <tbody>
                {list.slice(0, 20).map((one) => (
                  <tr key={one.id}>
                    <td className="when">
                      {nearTime(Date.parse(one.at), now, zone)}
                      <span className="note second-line">
                        {one.byHand ? 'by hand' : 'by schedule'}
                        {one.progress < 1 && `, ${percent(one.progress)}`}
                      </span>
                    </td>
                    <td>
                      {one.fault ?? words(one.status)}
                      <span className="note second-line">
                        {one.asked}
                        {one.httpStatus !== null && `, HTTP ${one.httpStatus}`}, {decimal(one.seconds, 1)} s
                      </span>
                    </td>
                    <td className="number">{one.rowsNew}</td>
                    <td className="number">{one.rowsChanged}</td>
                    <td className="number wide-cell">{decimal(one.bytes / 1000, 1)}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}
