import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { ask } from '../../shared/api/client'
import { sentenceOf } from '../../shared/api/problem'
import { useSession } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { decimal, euro, plural, signedEuro } from '../../shared/format'
import { dayOf } from '../../shared/time/marketDay'
import { dayInWords, monthInWords, weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { hand } from '../../shared/ui/hand'
import { Page } from '../../shared/ui/Page'
import { Loaded, SkeletonCard } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import { cents, partyInWords, type Statement, type StatementLine, useStatement } from './data'
import './settlement.css'
import { StatementFigures } from './StatementFigures'
import { inOrder, lineInWords } from './words'

/** A statement as its document says it, and to take along. */
export default function StatementDocument({ values }: ScreenProps) {
  const organisation = values.organisation ?? ''
  const statement = useStatement(organisation, values.statement)
  const isOwn = useSession().user.organisationID === organisation
  return (
    <Loaded
      query={statement}
      skeleton={
        <div className="page">
          <SkeletonCard height={700} />
        </div>
      }
    >
      {(found) => (
        <Page
          title={`Statement, ${monthInWords(found.month)}`}
          crumb={
            isOwn
              ? { label: 'Revenue', to: '/revenue' }
              : { label: 'Settlement', to: `/settlement?month=${found.month}` }
          }
          facts={[
            found.organisationName,
            found.number,
            found.status === 'ISSUED' ? 'issued, never changes' : 'preliminary',
          ]}
          aside={<Downloads statement={found} />}
        >
          <Document statement={found} />
        </Page>
      )}
    </Loaded>
  )
}

/** What the service writes: the same columns and figures wherever a statement is read. */
const RENDERINGS = [
  { accept: 'application/pdf', suffix: 'pdf' },
  { accept: 'text/csv', suffix: 'csv' },
] as const

function Downloads({ statement }: { statement: Statement }) {
  const name = `statement-${statement.number ?? statement.month}`
  const load = useMutation({
    mutationFn: async ({ accept, suffix }: (typeof RENDERINGS)[number]) => {
      const path = `/organisations/${statement.organisationID}/statements/${statement.id}`
      hand(await (await ask(path, { accept })).blob(), `${name}.${suffix}`)
    },
  })
  return (
    <>
      {load.isError && <span className="tone-danger">{sentenceOf(load.error)}</span>}
      {RENDERINGS.map((rendering) => (
        <Button
          key={rendering.suffix}
          icon="download"
          isBusy={load.isPending && load.variables?.suffix === rendering.suffix}
          onClick={() => load.mutate(rendering)}
        >
          {rendering.suffix.toUpperCase()}
        </Button>
      ))}
    </>
  )
}

function Document({ statement }: { statement: Statement }) {
  const zone = useZone()
  const now = useMinute()
  const total = Number(statement.total)
  const toDate = statement.toDate === undefined ? null : Number(statement.toDate)
  const sum = toDate ?? total
  const lines = new Map<string, number>()
  for (const line of statement.lines) lines.set(line.line, (lines.get(line.line) ?? 0) + cents(line.amount))
  const days = [...new Set(statement.lines.map((line) => line.day))].sort()
  const corrections = statement.lines.filter((line) => line.corrects)
  return (
    <>
      <Card label="Document" className="document">
        <div className="document-head">
          <div>
            <span className="note">To</span>
            <p>
              <strong>{statement.organisationName}</strong>
              {statement.address && <span className="note second-line">{statement.address}</span>}
            </p>
          </div>
          <dl className="document-facts">
            <dt className="note">Number</dt>
            <dd>
              <strong>{statement.number ?? <Badge tone="warning">preliminary</Badge>}</strong>
            </dd>
            <dt className="note">Month</dt>
            <dd>{monthInWords(statement.month)}, Berlin</dd>
            {statement.issuedAt && (
              <>
                <dt className="note">Issued</dt>
                <dd>{weekdayTime(Date.parse(statement.issuedAt), zone)}</dd>
              </>
            )}
            {statement.asOf && (
              <>
                <dt className="note">Facts as of</dt>
                <dd>{weekdayTime(Date.parse(statement.asOf), zone)}</dd>
              </>
            )}
          </dl>
        </div>
        <div className="document-total">
          <span>
            <strong>
              {sum >= 0 ? `Paid to ${statement.organisationName}` : `To be paid by ${statement.organisationName}`}
              {toDate !== null && ', until now'}
            </strong>
            <span className="note second-line">net of all lines and corrections</span>
            {toDate !== null && (
              <span className="note second-line">{restInWords(statement, total, total - toDate, dayOf(now))}</span>
            )}
          </span>
          <strong className="tabular">{euro(Math.abs(sum))}</strong>
        </div>
        <h2 className="document-part">Totals by line</h2>
        <Table columns={['Line', { label: 'EUR', isNumber: true }]}>
          <tbody>
            {inOrder(lines.keys()).map((line) => (
              <tr key={line}>
                <td>{lineInWords(line)}</td>
                <td className="number">{decimal((lines.get(line) ?? 0) / 100, 2)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            {toDate !== null && (
              <>
                <tr>
                  <th scope="row">Until now</th>
                  <td className="number">{decimal(toDate, 2)}</td>
                </tr>
                <tr>
                  <th scope="row">Of the days ahead</th>
                  <td className="number">{decimal(total - toDate, 2)}</td>
                </tr>
              </>
            )}
            <tr className="matrix-total">
              <th scope="row">{toDate === null ? 'Total' : 'The whole month'}</th>
              <td className="number">{decimal(total, 2)}</td>
            </tr>
          </tfoot>
        </Table>
        {corrections.length > 0 && (
          <>
            <h2 className="document-part">Corrections</h2>
            <Table columns={['To number', 'Month', 'Day', 'Line', { label: 'EUR', isNumber: true }]}>
              <tbody>
                {corrections.map((line) => (
                  <tr key={`${line.day}${line.counterparty}${line.corrects?.month}${line.corrects?.line}`}>
                    <td>
                      <strong>{line.corrects?.number ?? 'none'}</strong>
                    </td>
                    <td>{monthInWords(line.corrects?.month ?? statement.month)}</td>
                    <td className="when">{dayInWords(line.day)}</td>
                    <td>{lineInWords(line.corrects?.line ?? line.line)}</td>
                    <td className="number">{decimal(cents(line.amount) / 100, 2)}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
          </>
        )}
      </Card>
      {statement.figures && <StatementFigures statement={statement} figures={statement.figures} />}
      <ByDay statement={statement} days={days} />
    </>
  )
}

/** What a preliminary statement has beyond what has been: prices and tolls that are agreed for days to come. */
function restInWords(statement: Statement, total: number, rest: number, today: string): string {
  if (Math.abs(rest) < 0.005) return 'Nothing is agreed for the days ahead.'
  const ahead = new Set(statement.lines.filter(({ day }) => day >= today).map(({ line }) => line))
  const names = inOrder(ahead).map(lineInWords)
  const what = names.length > 0 ? ` (${names.join(', ')})` : ''
  return `With what is agreed for the days ahead${what}, ${signedEuro(rest, 2)}, the month comes to ${euro(total)}.`
}

interface Column {
  key: string
  label: string
  isOf: (line: StatementLine) => boolean
}

/** Every line of a day; of one line, chosen where the reader came from, every counterparty. */
function ByDay({ statement, days }: { statement: Statement; days: string[] }) {
  const [asked, setAsked] = useParameter('line')
  const card = useRef<HTMLDivElement>(null)
  const kinds = inOrder(new Set(statement.lines.map((line) => line.line)))
  const chosen = asked !== null && kinds.includes(asked) ? asked : null
  useEffect(() => {
    if (chosen !== null) card.current?.scrollIntoView()
  }, [chosen])
  const columns = chosen === null ? kinds.map(columnOfLine) : columnsOfCounterparties(statement, chosen)
  const shown = days.filter((day) => chosen === null || statement.lines.some((one) => isOn(one, day, chosen)))
  return (
    <div ref={card}>
      <Card
        title={chosen === null ? 'Lines by day' : `${lineInWords(chosen)} by day`}
        note={plural(shown.length, 'market day')}
        actions={
          chosen !== null && (
            <Button isCompact onClick={() => setAsked(null)}>
              All lines
            </Button>
          )
        }
      >
        <Table
          columns={[
            'Day',
            ...columns.map(({ label }) => ({ label, isNumber: true })),
            { label: 'Total, EUR', isNumber: true },
          ]}
        >
          <tbody>
            {shown.map((day) => (
              <DayRow key={day} day={day} lines={statement.lines.filter((one) => one.day === day)} columns={columns} />
            ))}
          </tbody>
        </Table>
      </Card>
    </div>
  )
}

const isOn = (one: StatementLine, day: string, line: string) => one.day === day && one.line === line

const columnOfLine = (kind: string): Column => ({
  key: kind,
  label: lineInWords(kind),
  isOf: ({ line }) => line === kind,
})

function columnsOfCounterparties({ lines }: Statement, kind: string): Column[] {
  const own = lines.filter(({ line }) => line === kind)
  const others = new Map(own.map((one) => [one.counterparty, one.counterpartyName ?? partyInWords(one.counterparty)]))
  return [...others].map(([key, label]) => ({
    key,
    label,
    isOf: ({ line, counterparty }) => line === kind && counterparty === key,
  }))
}

function DayRow({ day, lines, columns }: { day: string; lines: StatementLine[]; columns: Column[] }) {
  const sums = columns.map(({ isOf }) => lines.filter(isOf).reduce((all, one) => all + cents(one.amount), 0))
  return (
    <tr>
      <td className="when">{dayInWords(day)}</td>
      {columns.map(({ key }, index) => {
        const sum = sums[index] ?? 0
        return (
          <td key={key} className={sum === 0 ? 'number note' : 'number'}>
            {sum === 0 ? '–' : decimal(sum / 100, 2)}
          </td>
        )
      })}
      <td className="number">
        <strong>{decimal(sums.reduce((all, each) => all + each, 0) / 100, 2)}</strong>
      </td>
    </tr>
  )
}
