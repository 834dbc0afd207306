import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../../shared/api/client'
import { nearTime } from '../../../shared/time/words'
import { Button } from '../../../shared/ui/Button'
import { Badge, Card } from '../../../shared/ui/Card'
import { Confirmation } from '../../../shared/ui/Confirmation'
import { FormProblem, Loaded, SkeletonRows } from '../../../shared/ui/states'
import { Table } from '../../../shared/ui/Table'
import { useZone } from '../../../shared/zone'
import { type SignedIn, useSessions } from './data'

/** Where the reader is signed in, and ending what is not known. */
export function Sessions() {
  const zone = useZone()
  const queries = useQueryClient()
  const sessions = useSessions()
  /** Those that would be ended; empty while nothing is asked. */
  const [asked, setAsked] = useState<readonly SignedIn[]>([])
  const end = useMutation({
    mutationFn: (id: string | null) =>
      ask(id === null ? '/auth/sessions' : `/auth/sessions/${id}`, { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'sessions'] }),
  })
  const others = (sessions.data ?? []).filter((one) => !one.current)
  return (
    <Card
      title="Where you are signed in"
      note={sessions.data ? String(sessions.data.length) : undefined}
      actions={
        others.length > 0 && (
          <Button kind="danger" isCompact isBusy={end.isPending} onClick={() => setAsked(others)}>
            {others.length === 1 ? 'End the other' : `End the ${others.length} others`}
          </Button>
        )
      }
    >
      <FormProblem error={end.error} />
      {asked.length > 0 && (
        <Confirmation
          key={asked.map(({ id }) => id).join()}
          title={asked.length === 1 ? 'End that session?' : `End the ${asked.length} other sessions?`}
          action={asked.length === 1 ? 'End it' : 'End them'}
          onCancel={() => setAsked([])}
          onConfirm={() => {
            setAsked([])
            end.mutate(asked.length === 1 ? (asked[0]?.id ?? null) : null)
          }}
        >
          Signed out at once:{' '}
          {asked.map((one) => `${agentInWords(one)}, ${one.network ?? 'address unknown'}`).join('; ')}.
        </Confirmation>
      )}
      <Loaded query={sessions} skeleton={<SkeletonRows rows={3} />}>
        {(list) => (
          <Table columns={['Where', 'Last used', { label: 'Actions', isUnseen: true }]}>
            <tbody>
              {[...list]
                .sort(
                  (a, b) =>
                    Number(b.current) - Number(a.current) || Date.parse(b.lastUsedAt) - Date.parse(a.lastUsedAt),
                )
                .map((one) => (
                  <tr key={one.id}>
                    <td>
                      <strong>{agentInWords(one)}</strong>
                      <span className="note second-line">{one.network ?? 'address unknown'}</span>
                    </td>
                    <td>
                      {/* Sessions run on real time, whatever the sandbox's clock shows. */}
                      {one.current ? 'now' : nearTime(Date.parse(one.lastUsedAt), Date.now(), zone)}
                      <span className="note second-line">
                        since {nearTime(Date.parse(one.createdAt), Date.now(), zone).replace('Today', 'today')}
                      </span>
                    </td>
                    <td className="number">
                      {one.current ? (
                        <Badge tone="good">you</Badge>
                      ) : (
                        <Button
                          kind="danger"
                          isCompact
                          aria-label={`End ${agentInWords(one)}`}
                          onClick={() => setAsked([one])}
                        >
                          End
                        </Button>
                      )}
                    </td>
                  </tr>
                ))}
            </tbody>
          </Table>
        )}
      </Loaded>
      <p className="card-body note">
        A session of the console ends after 12 hours, or two without use. A new password ends the others.
      </p>
    </Card>
  )
}

/** `Chromium on Linux`, `Command line, token` */
export function agentInWords({ userAgent, kind }: Pick<SignedIn, 'userAgent' | 'kind'>): string {
  const text = userAgent ?? ''
  const browser = [
    [/Edg\//, 'Edge'],
    [/Firefox\//, 'Firefox'],
    [/(Chrome|Chromium|HeadlessChrome)\//, 'Chromium'],
    [/Safari\//, 'Safari'],
  ].find(([pattern]) => (pattern as RegExp).test(text))?.[1]
  const system = [
    [/Android/, 'Android'],
    [/iPhone|iPad/, 'iOS'],
    [/Windows/, 'Windows'],
    [/Mac OS X|Macintosh/, 'macOS'],
    [/Linux/, 'Linux'],
  ].find(([pattern]) => (pattern as RegExp).test(text))?.[1]
  if (browser) return system ? `${browser} on ${system}` : String(browser)
  if (kind === 'TOKEN') return text ? `${text.split(/[/ ]/)[0]}, token` : 'A program, token'
  return text.split('/')[0] || 'A browser'
}
