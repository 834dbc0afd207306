/** What a screen shows while it waits, when there is nothing, and when something went wrong. */
import type { UseQueryResult } from '@tanstack/react-query'
import type { CSSProperties, ReactNode } from 'react'
import { fieldInWords, inWords, Refused, sentenceOf, Unreachable } from '../api/problem'
import { currentZone } from '../zone'
import { Button } from './Button'
import { Icon } from './Icon'

export function Skeleton({
  height = 16,
  width = '100%',
  style,
}: {
  height?: number
  width?: number | string
  style?: CSSProperties
}) {
  return <span className="skeleton" style={{ height, width, ...style }} aria-hidden="true" />
}

/** Rows of the list or table that is to come. */
export function SkeletonRows({ rows = 5, height = 40 }: { rows?: number; height?: number }) {
  return (
    <div className="skeleton-rows" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without anything of their own
        <div key={index} style={{ height }} className="skeleton-row">
          <Skeleton width={`${60 - ((index * 13) % 30)}%`} height={12} />
          <Skeleton width={60} height={12} />
        </div>
      ))}
    </div>
  )
}

export function SkeletonCard({ height }: { height: number }) {
  return (
    <div className="card" style={{ height }} role="status" aria-label="Loading">
      <div className="card-head">
        <Skeleton width={140} height={14} />
      </div>
      <div className="skeleton-fill">
        <Skeleton height={height - 80} />
      </div>
    </div>
  )
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}

export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const isForbidden = error instanceof Refused && error.status === 403
  const title = isForbidden
    ? 'You may not see this'
    : error instanceof Unreachable
      ? 'No connection'
      : 'This could not be read'
  return (
    <div className={`problem ${isForbidden ? 'problem-quiet' : ''}`} role="alert">
      <Icon name="warning" />
      <div>
        <strong>{title}</strong>
        <p>{sentenceOf(error)}</p>
        {isForbidden && <p className="note">An admin of your organisation can change what your role may do.</p>}
        {error instanceof Refused && error.status >= 500 && error.problem.requestId && (
          <p className="note">Request {error.problem.requestId}</p>
        )}
      </div>
      {onRetry && !isForbidden && (
        <Button isCompact onClick={onRetry}>
          Retry
        </Button>
      )}
    </div>
  )
}

/** What a form's last attempt was refused with. */
export function FormProblem({ error }: { error: unknown }) {
  if (!error) return null
  const faults = error instanceof Refused ? (error.problem.errors ?? []) : []
  const zone = currentZone()
  return (
    <div className="form-problem" role="alert">
      {sentenceOf(error)}
      {faults.length > 1 && (
        <ul>
          {faults.map((fault) => (
            <li key={fault.pointer + fault.detail}>
              {fieldInWords(fault.pointer)}: {inWords(fault.detail, zone, fault.figures)}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface Loaded<T> {
  query: UseQueryResult<T>
  skeleton: ReactNode
  /** False while the answer cannot be shown without another one. */
  isShown?: boolean
  children: (data: T) => ReactNode
}

/** A query's answer, or the skeleton of it, or why there is none. */
export function Loaded<T>({ query, skeleton, isShown = true, children }: Loaded<T>) {
  if (query.data !== undefined && isShown) return <>{children(query.data)}</>
  if (query.isError) return <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
  return <>{skeleton}</>
}
