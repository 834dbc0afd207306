/** Whether a month can be issued, what is missing, and issuing it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { askJson } from '../../shared/api/client'
import { useNames } from '../../shared/api/names'
import { Refused, sentenceOf } from '../../shared/api/problem'
import { euro, percent, plural } from '../../shared/format'
import { monthInWords } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Confirmation } from '../../shared/ui/Confirmation'
import { Field } from '../../shared/ui/Field'
import { Icon } from '../../shared/ui/Icon'
import { Link } from '../../shell/router'
import {
  type Gap,
  type GapGroup,
  gapsInWords,
  gapsNow,
  KINDS,
  largestDifference,
  type Matrix,
  type Statement,
  titleOfKind,
  useGaps,
} from './data'

interface Run {
  id: string
  month: string
  status: 'RUNNING' | 'DONE' | 'FAILED'
  progress: number
  fault?: string
}

/** What organisations receive; what they pay is the same and the market's. */
const paidOut = (statements: readonly Statement[]): number =>
  statements.reduce((sum, one) => sum + Math.max(0, Number(one.total)), 0)

const documentsInWords = (statements: readonly Statement[]): string =>
  `${plural(statements.length, 'document')}, ${euro(paidOut(statements))} to be paid out in all.`

interface Props {
  month: string
  statements: Statement[]
  matrix: Matrix
  isOver: boolean
  /** While the statements of the month are computed. */
  isLoading: boolean
}

export function MonthClose({ month, statements, matrix, isOver, isLoading }: Props) {
  const queries = useQueryClient()
  const nameOf = useNames()
  const [runID, setRunID] = useState<string | null>(null)
  const [isForced, setIsForced] = useState(false)
  const [isAsked, setIsAsked] = useState(false)
  const issue = useMutation({
    mutationFn: (allowMissing: boolean) =>
      askJson<Run>('/statements', { method: 'POST', body: { month, ...(allowMissing ? { allowMissing } : {}) } }),
    onSuccess: (run) => setRunID(run.id),
  })
  const run = useQuery({
    // Apart from the statements, which are read anew when it is done.
    queryKey: ['statement-run', runID],
    queryFn: () => askJson<Run>(`/statements/runs/${runID}`),
    enabled: runID !== null,
    refetchInterval: (query) => (query.state.data && query.state.data.status !== 'RUNNING' ? false : 1000),
  })
  const isDone = run.data?.status === 'DONE'
  useEffect(() => {
    if (isDone) void queries.invalidateQueries({ queryKey: ['statements'] })
  }, [isDone, queries])
  const isIssued = !isLoading && statements.length > 0 && statements.every((one) => one.status === 'ISSUED')
  const read = useGaps(month, isOver && (isLoading || statements.length > 0) && !isIssued)
  const refused = issue.error instanceof Refused ? issue.error : null
  const missing = (refused?.problem as { missing?: Gap[] } | undefined)?.missing
  const gaps = gapsNow({ gaps: missing, at: issue.submittedAt }, { gaps: read.data, at: read.dataUpdatedAt })
  // What has been loaded since stands in the way no longer.
  const refusal = missing === undefined || gaps === missing ? refused : null
  const groups = gapsInWords(gaps, nameOf)
  // Parties that are still being computed would be missing on the other side.
  const difference = isLoading ? 0 : largestDifference(matrix)
  const state = run.data?.status
  const isBusy = issue.isPending || (runID !== null && state !== 'DONE' && state !== 'FAILED')
  const why = !isOver
    ? `${monthInWords(month)} is not over yet.`
    : isLoading
      ? 'Its statements are being computed.'
      : statements.length === 0
        ? 'No organisation has a line in it.'
        : gaps.length > 0
          ? 'All statements are issued together, or none.'
          : null
  const open = (isOver ? 0 : 1) + groups.length + (difference === 0 ? 0 : 1)
  return (
    <Card
      title="Month close"
      className="month-close"
      actions={
        isIssued ? (
          <Badge tone="good">issued</Badge>
        ) : open > 0 ? (
          <Badge tone="warning">{plural(open, 'check')} open</Badge>
        ) : undefined
      }
    >
      <ul className="checks-list">
        {groups.map((group) => (
          <Check key={group.kind} isGood={false} title={group.title} detail={group.detail} fix={group.fix}>
            {group.action && (
              <Link to={group.action.to} className="button button-compact">
                {group.action.label}
              </Link>
            )}
          </Check>
        ))}
        {!isOver && <Check isGood={false} title="Month is over" detail={`${monthInWords(month)} still runs`} />}
        {difference > 0 && <Check isGood={false} title="Lines add up to zero" detail="a line does not" />}
        {!read.data && !refusal && isOver && !isIssued && (
          <Check
            isGood={null}
            title="Prices, awards, dispatch, telemetry"
            detail={read.isFetching ? 'being checked' : 'checked when the month is issued'}
          />
        )}
        {read.data &&
          !isIssued &&
          KINDS.filter((kind) => groups.every((group) => group.kind !== kind)).map((kind) => (
            <Check key={kind} isGood title={titleOfKind(kind)} detail="nothing is missing" />
          ))}
        {isOver && <Check isGood title="Month is over" detail="all its market days have passed" />}
        {difference === 0 && (
          <Check
            isGood={isLoading ? null : true}
            title="Lines add up to zero"
            detail={isLoading ? 'being added up' : 'to the cent, every line over all parties'}
          />
        )}
      </ul>
      <div className="month-foot">
        {isIssued ? (
          <p className="verdict verdict-good" role="status">
            {plural(statements.length, 'statement is', 'statements are')} issued and will not change.
          </p>
        ) : (
          <>
            {groups.length > 0 ? (
              <p className="verdict" role={refusal ? 'alert' : 'status'}>
                Cannot be issued yet: {plural(groups.length, 'check is', 'checks are')} open.
              </p>
            ) : (
              refusal && (
                <p className="verdict" role="alert">
                  {sentenceOf(refusal)}
                </p>
              )
            )}
            {state === 'FAILED' && (
              <p className="verdict verdict-danger" role="alert">
                Issuing failed and left nothing: {run.data?.fault}
              </p>
            )}
            {isBusy && (
              <p role="status">
                Issuing: {percent(run.data?.progress ?? 0)}
                <progress value={run.data?.progress ?? 0} aria-label="Issued so far" />
              </p>
            )}
            <Button
              kind="primary"
              aria-disabled={why !== null}
              aria-describedby="why-not-issued"
              isBusy={isBusy}
              onClick={() => why === null && setIsAsked(true)}
            >
              <Icon name="check" /> Issue {isLoading ? 'the statements' : plural(statements.length, 'statement')}
            </Button>
            {isAsked && why === null && !isBusy && (
              <Confirmation
                title={`Issue ${monthInWords(month)} for good?`}
                action={`Issue ${plural(statements.length, 'statement')}`}
                onCancel={() => setIsAsked(false)}
                onConfirm={() => {
                  setIsAsked(false)
                  issue.mutate(false)
                }}
              >
                {documentsInWords(statements)} Nothing is missing. They never change afterwards.
              </Confirmation>
            )}
            <p id="why-not-issued" className="note">
              {why ?? 'Issued statements never change; what comes later is corrected in the next month.'}
            </p>
            {groups.length > 0 && !isBusy && (
              <Button kind="quiet" onClick={() => setIsForced(true)}>
                Issue without them…
              </Button>
            )}
            {isForced && groups.length > 0 && !isBusy && (
              <Forced
                month={month}
                onForce={() => issue.mutate(true)}
                what={`${documentsInWords(statements)} Missing: ${groups.map((group) => `${group.title.toLowerCase()} (${group.detail})`).join('; ')}.`}
              />
            )}
          </>
        )}
      </div>
    </Card>
  )
}

/** What cannot be taken back is typed, not clicked. */
function Forced({ month, what, onForce }: { month: string; what: string; onForce: () => void }) {
  const [typed, setTyped] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typed.trim() === month) onForce()
  }
  return (
    <form className="form" onSubmit={submit}>
      <p>
        <strong>Issue {monthInWords(month)} for good without them?</strong> {what}
      </p>
      <Field
        label={`Type ${month} to issue it without them`}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        hint="Each missing fact becomes a correction of a later month."
      />
      <Button kind="danger" type="submit" disabled={typed.trim() !== month}>
        Issue {monthInWords(month)} all the same
      </Button>
    </form>
  )
}

interface CheckProps {
  /** Null while it is not known. */
  isGood: boolean | null
  title: string
  detail: string
  fix?: GapGroup['fix']
  children?: React.ReactNode
}

function Check({ isGood, title, detail, fix, children }: CheckProps) {
  return (
    <li>
      <span className={`check-mark ${isGood === null ? 'is-open' : isGood ? 'is-good' : 'is-bad'}`} aria-hidden="true">
        <Icon name={isGood === null ? 'more' : isGood ? 'check' : 'close'} size={12} />
      </span>
      <span className="check-what">
        <strong>{title}</strong>
        <span className="note">{detail}</span>
        {fix && (
          <span className="note">
            Load them: <code>{fix.command}</code>. {fix.note}
          </span>
        )}
      </span>
      <span className="visually-hidden">{isGood === null ? 'not known yet' : isGood ? 'good' : 'open'}</span>
      {children}
    </li>
  )
}
