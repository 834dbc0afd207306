import type { UseQueryResult } from '@tanstack/react-query'
import { decimal, words } from '../../shared/format'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { ProblemNote, SkeletonRows } from '../../shared/ui/states'
import { type Line, linesOf, type Statement } from './data'

/** From the reader's side: what came in, what was paid, and what is left. */
export function StatementCard({ statement }: { statement: UseQueryResult<Statement> }) {
  return (
    <Card
      className="statement"
      title="Statement"
      actions={
        statement.data && (
          <Button isCompact icon="download" onClick={() => save(statement.data)}>
            CSV
          </Button>
        )
      }
    >
      {statement.isLoading && <SkeletonRows rows={6} />}
      {statement.isError && <ProblemNote error={statement.error} onRetry={() => void statement.refetch()} />}
      {statement.data && <Lines statement={statement.data} />}
    </Card>
  )
}

function Lines({ statement }: { statement: Statement }) {
  const { income, cost } = linesOf(statement)
  const sum = (lines: Line[]) => lines.reduce((total, line) => total + line.amount, 0)
  return (
    <>
      <Part title="Income, EUR" lines={income} sumTitle="Income" sum={sum(income)} />
      <Part title="Cost, EUR" lines={cost} sumTitle="Cost" sum={sum(cost)} />
      <p className="statement-net">
        <strong>Net</strong>
        <strong className="tabular">{decimal(statement.total, 2)}</strong>
      </p>
      <p className="card-body note statement-note">Over all parties the lines add up to 0.00.</p>
    </>
  )
}

function Part({ title, lines, sumTitle, sum }: { title: string; lines: Line[]; sumTitle: string; sum: number }) {
  return (
    <table className="statement-part">
      <caption>{title}</caption>
      <tbody>
        {lines.map((line) => (
          <tr key={line.line}>
            <th scope="row">
              {words(line.line).replace(/\b(fcr|afrr)\b/gi, (name) => (name.toLowerCase() === 'fcr' ? 'FCR' : 'aFRR'))}
            </th>
            <td>{decimal(line.amount, 2)}</td>
          </tr>
        ))}
        {lines.length === 0 && (
          <tr>
            <td colSpan={2} className="note">
              nothing in this time
            </td>
          </tr>
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">{sumTitle}</th>
          <td>{decimal(sum, 2)}</td>
        </tr>
      </tfoot>
    </table>
  )
}

function save(statement: Statement): void {
  const rows = statement.lines.map((line) => [line.time, line.line, line.amount, line.counterparty].join(','))
  const link = document.createElement('a')
  link.href = URL.createObjectURL(
    new Blob([['time,line,amountEur,counterparty', ...rows].join('\n')], { type: 'text/csv' }),
  )
  link.download = 'statement.csv'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
