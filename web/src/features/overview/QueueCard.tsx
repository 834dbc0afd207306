import { Fragment } from 'react'
import { inWords } from '../../shared/api/problem'
import { age, countdown } from '../../shared/time/words'
import { Icon } from '../../shared/ui/Icon'
import { Empty, ProblemNote, SkeletonRows } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import type { Need } from './need'

const MOST = 8

interface Props {
  needs: Need[]
  now: number
  isLoading: boolean
  error: unknown
  /** What could not be looked at. */
  unasked?: string[]
}

export function QueueCard({ needs, now, isLoading, error, unasked = [] }: Props) {
  const zone = useZone()
  return (
    <section className="card queue" aria-label="Queue by deadline">
      {needs.length === 0 && isLoading && <SkeletonRows rows={4} height={66} />}
      {needs.length === 0 && !isLoading && (error ? <ProblemNote error={error} /> : <Calm unasked={unasked} />)}
      <ol>
        {needs.slice(0, MOST).map((need, index) => (
          <li key={need.key} className="need">
            <span className="need-when tabular">
              <strong className={need.tone === 'danger' ? 'tone-danger' : ''}>
                {need.deadline !== null ? countdown(need.deadline - now) : need.since ? age(now - need.since) : 'now'}
              </strong>
              <span className="note">{need.what}</span>
            </span>
            <span className={`need-icon need-${need.tone}`}>
              <Icon name={need.icon} />
            </span>
            <span className="need-what">
              <span className="need-title">
                <Marked text={need.title} />
              </span>
              <span className="note">{inWords(need.note, zone, need.figures)}</span>
            </span>
            <Link to={need.to} className={`button ${index === 0 && need.deadline !== null ? 'button-primary' : ''}`}>
              {need.action}
              <span className="visually-hidden">: {need.title.replaceAll('**', '')}</span>
            </Link>
          </li>
        ))}
      </ol>
      {needs.length > 0 && unasked.length > 0 && (
        <p className="note queue-more">Could not be asked just now: {unasked.join(', ')}.</p>
      )}
      {needs.length > MOST && <p className="note queue-more">and {needs.length - MOST} more with later deadlines</p>}
    </section>
  )
}

function Calm({ unasked }: { unasked: string[] }) {
  if (unasked.length > 0)
    return (
      <Empty title="Nothing that could be looked at needs you">
        Could not be asked just now: {unasked.join(', ')}.
      </Empty>
    )
  return <Empty title="Nothing needs you now">What closes, drifts or breaks appears here by its deadline.</Empty>
}

/** Text in which `**` marks what is bold. */
function Marked({ text }: { text: string }) {
  return text.split('**').map((piece, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one sentence
    index % 2 ? <strong key={index}>{piece}</strong> : <Fragment key={index}>{piece}</Fragment>,
  )
}
