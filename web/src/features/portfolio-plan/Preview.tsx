import { decimal, euro, plural, signedEuro } from '../../shared/format'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'
import { type RowState, sumOf } from './rows'
import type { Batch } from './saving'

interface Props {
  rows: readonly RowState[]
  edited: readonly RowState[]
  refused: ReadonlyMap<string, string>
  batches: readonly Batch[]
  /** What the change is worth if all prices of the day come out low together, or high together. */
  worthAt: { p10: number; p90: number } | null
  /** Why nothing can be saved now; null where it can. */
  held: string | null
  /** How many edits came too late: their gate has passed. */
  expired: number
  said: string | null
  fault: string | null
  isSaving: boolean
  onSave: () => void
  onDrop: () => void
  onDropExpired: () => void
  onDiscard: () => void
}

/** What saving would do, before it does it. */
export function Preview(props: Props) {
  const { rows, edited, refused, batches, worthAt, held, expired, said, fault, isSaving } = props
  const isInBreach = edited.some((one) => one.isInBreach)
  const before = sumOf(rows, (row) => row.stored)
  const after = isInBreach ? null : sumOf(rows, (row) => row.worth)
  const gain = before !== null && after !== null ? after - before : null
  const quarters = edited.reduce((sum, row) => sum + row.live.size, 0)
  const alone = batches.filter((batch) => batch.portfolioID === null)
  return (
    <Card
      className="plan-preview"
      title="Preview"
      note={edited.length > 0 ? 'nothing is saved yet' : 'nothing is changed'}
    >
      <div className="plan-gain">
        <span className="note">{edited.length > 0 ? 'Expected to be worth more' : 'Stored plans, expected worth'}</span>
        <strong className={gain !== null && gain < 0 ? 'tone-danger' : 'tone-good'}>
          {isInBreach
            ? '–'
            : edited.length === 0
              ? before === null
                ? '–'
                : euro(before, 0)
              : gain === null
                ? '–'
                : signedEuro(gain)}
        </strong>
        {isInBreach && <span className="note">no figure while a plan is in breach</span>}
        {worthAt && gain !== null && edited.length > 0 && (
          <span className="note">
            P10 {signedEuro(worthAt.p10)} · P90 {signedEuro(worthAt.p90)}: of the sum, if all prices of the day come out
            low together, or high together
          </span>
        )}
      </div>
      {edited.length > 0 && (
        <Table
          columns={[
            'Battery',
            { label: 'Stored', isNumber: true },
            { label: 'New', isNumber: true },
            { label: 'Change', isNumber: true },
          ]}
        >
          <tbody>
            {edited.map((row) => (
              <tr key={row.asset.id}>
                <td>{row.asset.name}</td>
                <td className="number">{row.stored === null ? '–' : euro(row.stored, 0)}</td>
                <td className="number">{row.worth === null ? '–' : euro(row.worth, 0)}</td>
                <td className="number">
                  {row.worth === null || row.stored === null ? '–' : signedEuro(row.worth - row.stored)}
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr className="matrix-total">
              <th scope="row">All {rows.length}</th>
              <td className="number">{before === null ? '–' : euro(before, 0)}</td>
              <td className="number">{after === null ? '–' : euro(after, 0)}</td>
              <td className="number">{gain === null ? '–' : signedEuro(gain)}</td>
            </tr>
          </tfoot>
        </Table>
      )}
      <div className="plan-said">
        {refused.size > 0 && (
          <div className="verdict verdict-danger" role="alert">
            <p>
              <strong>Nothing of {refused.size === 1 ? 'its portfolio' : 'their portfolios'} was saved:</strong>{' '}
              {plural(refused.size, 'plan was', 'plans were')} refused and stay edited.
            </p>
            <Button isCompact onClick={props.onDrop}>
              Save the rest <kbd>X</kbd>
            </Button>
          </div>
        )}
        {fault && (
          <p className="form-problem" role="alert">
            {fault}
          </p>
        )}
        {expired > 0 && (
          <div className="verdict">
            <p role="status">
              <strong>{plural(expired, 'expired edit')}</strong> left out: the gate has passed.
            </p>
            <Button isCompact onClick={props.onDropExpired}>
              Drop {refused.size === 0 && <kbd>X</kbd>}
            </Button>
          </div>
        )}
        {said && <p role="status">{said}</p>}
        {edited.length > 0 && (
          <p className="plan-what">
            Saves <strong>{plural(quarters, 'quarter-hour')}</strong> of {plural(edited.length, 'battery', 'batteries')}
            {batches.length === 1 && alone.length === 0 ? ', all or none.' : '.'}
            {batches.length > alone.length && batches.length > 1 && ' Those of one portfolio all or none.'}
            {alone.length > 0 && (
              <>
                {' '}
                {plural(alone.length, 'battery is', 'batteries are')} in no{' '}
                <Link to="/virtual-batteries">portfolio</Link> and saved by itself.
              </>
            )}{' '}
            A colleague’s change meanwhile stops it and is shown.
          </p>
        )}
        {edited.length > 0 && held && <p className="tone-warning">{held}</p>}
      </div>
      <footer className="plan-save">
        <span className="plan-short">
          <strong className={gain !== null && gain < 0 ? 'tone-danger' : 'tone-good'}>
            {gain === null ? '–' : signedEuro(gain)}
          </strong>
          {before !== null && after !== null && (
            <span className="note">
              {euro(before, 0)} → {decimal(after)}
            </span>
          )}
        </span>
        <Button kind="quiet" disabled={edited.length === 0} onClick={props.onDiscard}>
          Discard
        </Button>
        <Button kind="primary" disabled={held !== null} isBusy={isSaving} onClick={props.onSave}>
          Save {edited.length > 1 ? `all ${edited.length}` : ''} <span aria-hidden="true">⌘S</span>
        </Button>
      </footer>
    </Card>
  )
}
