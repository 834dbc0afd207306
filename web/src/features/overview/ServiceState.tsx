import { plural } from '../../shared/format'
import type { Operations } from './operator'

/** Whether all parts of the service work; each that does not is in the queue by itself. */
export function ServiceState({ operations }: { operations: Operations }) {
  const { checks } = operations
  if (checks.length === 0) return null
  const wrong = checks.filter((one) => one.status !== 'OK')
  return (
    <p className="service-state">
      <span className={`end-state ${wrong.length > 0 ? 'tone-warning' : 'tone-good'}`}>
        <span className="dot" />
      </span>
      <span>
        <strong>
          {wrong.length > 0 ? `${plural(wrong.length, 'part')} of the service disturbed` : 'Service in order'}
        </strong>{' '}
        <span className="note">
          {wrong.length > 0 ? wrong.map((one) => one.name).join(', ') : `${plural(checks.length, 'part')} checked`}
        </span>
      </span>
    </p>
  )
}
