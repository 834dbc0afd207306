import type { UseQueryResult } from '@tanstack/react-query'
import { decimal } from '../../shared/format'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { ProblemNote, SkeletonRows } from '../../shared/ui/states'
import { download, type Statement } from './data'
import { type Line, linesOf, type Volumes } from './statement'

interface Props {
  statement: UseQueryResult<Statement>
  volumes?: Volumes | undefined
  /** Where the service writes it, also as CSV. */
  path: string
}

/** From the reader's side: what came in, what was paid, and what is left. */
export function StatementCard({ statement, volumes, path }: Props) {
  return (
    <Card
      className="statement"
      title="Statement"
      actions={
        statement.data && (
          <Button isCompact icon="download" onClick={() => void download(path, 'text/csv', 'statement.csv')}>
            CSV
          </Button>
        )
      }
    >
      {statement.isLoading && <SkeletonRows rows={6} />}
      {statement.isError && <ProblemNote error={statement.error} onRetry={() => void statement.refetch()} />}
      {statement.data && <Lines statement={statement.data} volumes={volumes} />}
    </Card>
  )
}

function Lines({ statement, volumes }: { statement: Statement; volumes: Volumes | undefined }) {
  const { income, cost } = linesOf(statement, volumes)
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
          <tr key={line.label}>
            <th scope="row">
              <span className="statement-line">
                {line.colour && (
                  <span className="swatch swatch-box" style={{ color: line.colour }} aria-hidden="true" />
                )}
                {line.label}
              </span>
              {line.note && <span className="note">{line.note}</span>}
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
