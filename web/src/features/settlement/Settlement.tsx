import { useEffect } from 'react'
import { offers } from '../../shared/api/client'
import { useIsOperator, useMay } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { decimal, plural, words } from '../../shared/format'
import { addDays, dayOf, spanOf } from '../../shared/time/marketDay'
import { dayMonth, monthInWords, weekdayTime } from '../../shared/time/words'
import { Button, IconButton } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Icon } from '../../shared/ui/Icon'
import { Page } from '../../shared/ui/Page'
import { Empty, ProblemNote, SkeletonCard } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { TableScroll } from '../../shared/ui/TableScroll'
import { useZone } from '../../shared/zone'
import { Link, useParameter } from '../../shell/router'
import type { ScreenProps } from '../../shell/screenProps'
import {
  addMonths,
  cents,
  largestDifference,
  type Matrix,
  matrixOf,
  monthFrom,
  type Statement,
  useIssuedStatements,
  useMonthStatements,
} from './data'
import { MonthClose } from './MonthClose'
import './settlement.css'
import { lineInWords } from './words'

/** Who owes whom, does it add up, and can the month be issued? */
export default function Settlement(_: ScreenProps) {
  const isOperator = useIsOperator()
  const may = useMay('Create:settlements')
  if (!isOperator || !may || !offers('GET /statements/summary'))
    return (
      <Page title="Settlement">
        <Card>
          <Empty title="Settlement is the operator’s" action={<Link to="/revenue">To revenue and statements</Link>}>
            What your organisation keeps, and its statements, are under Revenue.
          </Empty>
        </Card>
      </Page>
    )
  return <Months />
}

function Months() {
  const now = useMinute()
  const thisMonth = dayOf(now).slice(0, 7)
  const [named, setAsked] = useParameter('month')
  const asked = monthFrom(named)
  const issued = useIssuedStatements()
  // What is to be closed first: the month after the last that was issued, but never one that has not begun.
  const last = issued.statements.reduce((latest, one) => (one.month > latest ? one.month : latest), '')
  const before = addMonths(thisMonth, -1)
  const due = last === '' ? before : addMonths(last, 1)
  // The month before is asked for while it is not known yet which is due: mostly it is that one, else it costs nothing.
  const month = asked ?? (issued.isLoading ? before : due > thisMonth ? thisMonth : due)
  const { statements, isLoading, error, retry, participants, ready } = useMonthStatements(month)
  // The month stays when it is issued; one without a line is no first question.
  const isOpen = asked === null && !issued.isLoading && !isLoading && !error
  const first = !isOpen ? null : statements.length === 0 ? thisMonth : month
  useEffect(() => {
    if (first !== null) setAsked(first)
  })
  const matrix = matrixOf(statements, participants)
  const firstDay = `${month}-01`
  const span = { start: spanOf(firstDay).start, end: spanOf(`${addMonths(month, 1)}-01`).start }
  const days = Math.round((Date.parse(`${addMonths(month, 1)}-01`) - Date.parse(firstDay)) / 86_400_000)
  return (
    <Page
      title={monthInWords(month)}
      crumb={{ label: 'Settlement', to: '/settlement' }}
      facts={[
        !isLoading && plural(statements.length, 'organisation'),
        `${decimal((span.end - span.start) / 900_000)} quarter-hours`,
        oddDay(firstDay, days),
      ]}
      aside={
        <>
          <IconButton
            name="left"
            label="The month before"
            className="icon-button bordered"
            onClick={() => setAsked(addMonths(month, -1))}
          />
          <strong className="range-name">{monthInWords(month)}</strong>
          <IconButton
            name="right"
            label="The month after"
            className="icon-button bordered"
            disabled={month >= thisMonth}
            onClick={() => setAsked(addMonths(month, 1))}
          />
        </>
      }
    >
      {error && <ProblemNote error={error} onRetry={retry} />}
      {!error && (
        <div className="settlement">
          <div className="settlement-main">
            {isLoading ? (
              <>
                <p className="note" role="status">
                  Open months are computed from the facts as they are now: {ready} of{' '}
                  {plural(participants.length, 'organisation')}.
                </p>
                <SkeletonCard height={520} />
              </>
            ) : (
              <>
                <Proof matrix={matrix} days={days} />
                <MatrixCard matrix={matrix} statements={statements} month={month} />
              </>
            )}
            {!issued.isLoading && <IssuedMonths all={[...issued.statements, ...statements]} onOpen={setAsked} />}
          </div>
          <MonthClose
            key={month}
            month={month}
            statements={statements}
            matrix={matrix}
            isOver={span.end <= now}
            isLoading={isLoading}
          />
        </div>
      )}
    </Page>
  )
}

function oddDay(first: string, days: number): string | false {
  for (let day = 0; day < days; day += 1) {
    const { start, end } = spanOf(addDays(first, day))
    const hours = Math.round((end - start) / 3_600_000)
    if (hours !== 24) return `${dayMonth(start, 'Europe/Berlin')} has ${hours} h`
  }
  return false
}

function Proof({ matrix, days }: { matrix: Matrix; days: number }) {
  const off = largestDifference(matrix)
  if (matrix.rows.length === 0) return null
  return (
    <p className={`proof ${off === 0 ? '' : 'is-broken'}`} role="status">
      <Icon name={off === 0 ? 'check' : 'warning'} />
      <span>
        <strong>{off === 0 ? 'Proof of zero holds.' : 'The lines do not add up.'}</strong>{' '}
        {plural(matrix.rows.length, 'line')} over all {plural(matrix.parties.length, 'party', 'parties')}, {days} days:
        largest difference {decimal(off / 100, 2)} €.
      </span>
    </p>
  )
}

const amount = (value: number | undefined) => (value === undefined || value === 0 ? '–' : decimal(value / 100, 2))

/** An organisation's amount leads to its days. */
function Cell(props: { value: number | undefined; statement: Statement | undefined; line: string }) {
  const { value, statement, line } = props
  if (!value || !statement) return amount(value)
  return (
    <Link to={`/statements/${statement.organisationID}/${statement.id}?line=${line}`} className="cell-link">
      {amount(value)}
      <span className="visually-hidden"> by day</span>
    </Link>
  )
}

function MatrixCard({ matrix, statements, month }: { matrix: Matrix; statements: Statement[]; month: string }) {
  const { parties, rows, totals } = matrix
  return (
    <Card
      title="By organisation and line"
      note="EUR, net; what is due to a party is positive"
      actions={
        <Button isCompact icon="download" disabled={rows.length === 0} onClick={() => save(matrix, month)}>
          CSV
        </Button>
      }
    >
      {rows.length === 0 ? (
        <Empty title="No lines in this month">A line appears with the first trade, award, toll or auction.</Empty>
      ) : (
        <TableScroll>
          <table className="table matrix">
            <thead>
              <tr>
                <th scope="col">Party</th>
                {rows.map((row) => (
                  <th key={row.line} scope="col" className="number">
                    {lineInWords(row.line)}
                  </th>
                ))}
                <th scope="col" className="number">
                  Total
                </th>
              </tr>
            </thead>
            <tbody>
              {parties.map((one) => {
                const statement = statements.find((each) => each.organisationID === one.id)
                return (
                  <tr key={one.id} className={one.isOutside ? 'is-outside' : undefined}>
                    <th scope="row">
                      {one.name}
                      {statement && (
                        <Link to={`/statements/${one.id}/${statement.id}`} className="second-line">
                          {statement.number ?? words(statement.status).toLowerCase()}
                          <span className="visually-hidden"> of {one.name}</span>
                        </Link>
                      )}
                    </th>
                    {rows.map((row) => (
                      <td key={row.line} className="number">
                        <Cell value={row.cells.get(one.id)} statement={statement} line={row.line} />
                      </td>
                    ))}
                    <td className="number">
                      <strong>{decimal((totals.get(one.id) ?? 0) / 100, 2)}</strong>
                    </td>
                  </tr>
                )
              })}
            </tbody>
            <tfoot>
              <tr className="matrix-total">
                <th scope="row">All parties</th>
                {rows.map((row) => (
                  <td key={row.line} className={row.sum === 0 ? 'number tone-good' : 'number tone-danger'}>
                    {decimal(row.sum / 100, 2)}
                  </td>
                ))}
                <td className="number">
                  {decimal([...totals.values()].reduce((sum, each) => sum + each, 0) / 100, 2)}
                </td>
              </tr>
            </tfoot>
          </table>
        </TableScroll>
      )}
    </Card>
  )
}

function IssuedMonths({ all, onOpen }: { all: Statement[]; onOpen: (month: string) => void }) {
  const zone = useZone()
  const each = all.filter((one, index) => all.findIndex((other) => other.id === one.id) === index)
  const issued = each.filter((one) => one.status === 'ISSUED')
  const months = [...new Set(issued.map((one) => one.month))].sort().reverse()
  return (
    <Card title="Issued months" note="frozen; a changed fact becomes a correction of the next open month">
      {months.length === 0 ? (
        <p className="card-body note">None yet: the first month that is issued sets where statements begin.</p>
      ) : (
        <Table
          columns={[
            'Month',
            'Issued',
            { label: 'Statements', isNumber: true },
            { label: 'Due to organisations, EUR', isNumber: true },
            'Corrected since',
            { label: 'Open', isUnseen: true },
          ]}
        >
          <tbody>
            {months.map((month) => {
              const some = issued.filter((one) => one.month === month)
              const due = some.reduce((sum, one) => sum + Math.max(0, cents(one.total)), 0)
              const later = each.filter((one) => one.corrects.some((each) => each.month === month))
              return (
                <tr key={month}>
                  <th scope="row">{monthInWords(month)}</th>
                  <td className="when">{some[0]?.issuedAt ? weekdayTime(Date.parse(some[0].issuedAt), zone) : ''}</td>
                  <td className="number">{some.length}</td>
                  <td className="number">{decimal(due / 100, 2)}</td>
                  <td>
                    {later.length === 0 ? (
                      <span className="note">no</span>
                    ) : (
                      <Badge tone="warning">{plural(later.length, 'statement')}</Badge>
                    )}
                  </td>
                  <td className="number">
                    <Button
                      kind="quiet"
                      isCompact
                      onClick={() => onOpen(month)}
                      aria-label={`Open ${monthInWords(month)}`}
                    >
                      Open
                    </Button>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </Table>
      )}
    </Card>
  )
}

function save({ parties, rows }: Matrix, month: string): void {
  const head = ['line', ...parties.map((one) => one.name.replaceAll(',', ' ')), 'allParties'].join(',')
  const body = rows.map((row) =>
    [
      row.line,
      ...parties.map((one) => ((row.cells.get(one.id) ?? 0) / 100).toFixed(2)),
      (row.sum / 100).toFixed(2),
    ].join(','),
  )
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([[head, ...body].join('\n')], { type: 'text/csv' }))
  link.download = `settlement-${month}.csv`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
