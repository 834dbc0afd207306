import { decimal, words } from '../../../shared/format'
import { Card } from '../../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../../shared/ui/states'
import { useUsage } from './data'

/** How much of its shares of the platform the organisation uses now. */
export function Usage() {
  const usage = useUsage()
  return (
    <Card title="Usage of shares" note="now">
      <Loaded query={usage} skeleton={<SkeletonRows rows={5} />}>
        {(shares) => (
          <ul className="usage">
            {shares.map((one) => {
              const part = one.limit ? Math.min(1, one.used / one.limit) : 0
              return (
                <li key={one.name}>
                  <span>
                    {words(one.name)}
                    <span className="note">
                      {' '}
                      <strong>{decimal(one.used)}</strong>
                      {one.limit === null ? '' : ` of ${decimal(one.limit)}`} {one.unit}
                    </span>
                  </span>
                  {one.limit !== null && (
                    <meter
                      value={part}
                      min={0}
                      max={1}
                      high={0.8}
                      aria-label={`${words(one.name)}, ${Math.round(part * 100)} %`}
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
