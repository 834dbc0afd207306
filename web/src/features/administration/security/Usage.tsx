import { decimal, words } from '../../../shared/format'
import { Card } from '../../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../../shared/ui/states'
import { type Share, useUsage } from './data'

const NAMES: Record<string, string> = {
  'api-keys': 'API keys',
  'body-bytes': 'Uploads under way',
  computations: 'Places in the solver',
  'event-streams': 'Event streams',
  jobs: 'Jobs running',
  requests: 'Requests',
  'stored-telemetry': 'Stored telemetry',
}
const nameOf = ({ share }: Share): string => NAMES[share] ?? words(share)

/** How much of its shares of the platform an organisation uses now: the reader's, or the one that is named. */
export function Usage({ of }: { of?: string }) {
  const usage = useUsage(of)
  return (
    <Card title="Usage of shares" note="now">
      <Loaded query={usage} skeleton={<SkeletonRows rows={5} />}>
        {(shares) => (
          <ul className="usage">
            {shares.map((one) => {
              const part = one.limit ? Math.min(1, one.used / one.limit) : 0
              return (
                <li key={one.share}>
                  <span>
                    {nameOf(one)}
                    <span className="note">
                      <strong>{amount(one.used, one)}</strong>
                      {one.limit === null ? ', no limit' : ` of ${amount(one.limit, one)}`}
                      {one.perMinute ? ` at once, at most ${decimal(one.perMinute)} a minute` : ''}
                      {one.waiting ? `, ${decimal(one.waiting)} waiting` : ''}
                    </span>
                  </span>
                  {one.limit !== null && (
                    <meter
                      value={part}
                      min={0}
                      max={1}
                      high={0.8}
                      aria-label={`${nameOf(one)}, ${Math.round(part * 100)} %`}
                    />
                  )}
                </li>
              )
            })}
          </ul>
        )}
      </Loaded>
    </Card>
  )
}

function amount(value: number, { unit }: Share): string {
  if (unit !== 'BYTES') return decimal(value)
  return value >= 1e9 ? `${decimal(value / 1e9, 1)} GB` : `${decimal(value / 1e6, 1)} MB`
}
