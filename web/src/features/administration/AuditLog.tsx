import { useInfiniteQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask } from '../../shared/api/client'
import { namedPath, shortID, useNames } from '../../shared/api/names'
import { useAllVirtualAssets } from '../../shared/api/resources'
import { actionInWords } from '../../shared/permissions'
import { timeMs, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Empty, ProblemNote, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { type AuditEntry, useMembers } from './data'

const PAGE = 50

/** Who did what to which resource, when and from where; nothing is ever taken out of it. */
export function AuditLog() {
  const zone = useZone()
  const known = useNames()
  const others = new Map((useAllVirtualAssets().data ?? []).map((one) => [one.id, one.name]))
  const nameOf = (id: string) => known(id) ?? others.get(id)
  const members = new Map((useMembers().data ?? []).map((one) => [one.username, one.displayName]))
  const [resource, setResource] = useState('')
  const log = useInfiniteQuery({
    queryKey: ['administration', 'audit-log', resource],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam }) => {
      const query = new URLSearchParams({ limit: String(PAGE) })
      if (resource) query.set('resource', resource)
      if (pageParam) query.set('cursor', pageParam)
      const response = await ask(`/audit-log?${query}`)
      const next = /[?&]cursor=([^&>]+)/.exec(response.headers.get('Link') ?? '')?.[1]
      return { entries: (await response.json()) as AuditEntry[], next: next ? decodeURIComponent(next) : null }
    },
    getNextPageParam: (page) => page.next,
  })
  const entries = log.data?.pages.flatMap((page) => page.entries) ?? []
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setResource(String(new FormData(event.currentTarget).get('resource')).trim())
  }
  return (
    <Card
      title="Audit log"
      note="newest first"
      actions={
        <form className="audit-search" onSubmit={submit}>
          <div className="input">
            <input name="resource" aria-label="Only this resource" placeholder="resource, such as /auctions/…" />
          </div>
          <Button type="submit">Show</Button>
        </form>
      }
    >
      {log.isError && <ProblemNote error={log.error} onRetry={() => void log.refetch()} />}
      {log.isLoading && <SkeletonRows rows={8} height={36} />}
      {log.data && entries.length === 0 && <Empty title="Nothing happened there" />}
      {entries.length > 0 && (
        <Table columns={['When', 'Who', 'Did', 'To', 'Answer', 'From']}>
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td className="when">
                  {weekday(Date.parse(entry.time), zone)} {timeMs(Date.parse(entry.time), zone)}
                </td>
                <td>
                  <strong title={entry.actorName ?? undefined}>
                    {members.get(entry.actorName ?? '') ?? entry.actorName ?? entry.actorKind.toLowerCase()}
                  </strong>
                  {entry.organisationID && (
                    <span className="note second-line" title={entry.organisationID}>
                      {entry.organisationName ?? nameOf(entry.organisationID) ?? shortID(entry.organisationID)}
                    </span>
                  )}
                </td>
                <td>{actionInWords(entry.action)}</td>
                <td className="audit-resource" title={entry.resource}>
                  {namedPath(entry.resource, nameOf)}
                </td>
                <td>
                  <Badge tone={entry.status < 400 ? 'good' : 'danger'}>{entry.status}</Badge>
                </td>
                <td className="note">{entry.address}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {log.hasNextPage && (
        <div className="card-body more">
          <Button isBusy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Older
          </Button>
        </div>
      )}
    </Card>
  )
}
