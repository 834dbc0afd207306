import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask } from '../../../shared/api/client'
import { letsIn, networkOf } from '../../../shared/networks'
import { Button, IconButton } from '../../../shared/ui/Button'
import { Card } from '../../../shared/ui/Card'
import { Loaded, SkeletonRows } from '../../../shared/ui/states'
import { type Held, useOwnOrganisation, useSessions } from './data'
import { SignInAgain } from './SecondFactor'

/** From where members may come in; a list that would lock the reader out cannot be saved. */
export function Networks() {
  const held = useOwnOrganisation()
  return (
    <Card title="Allowed networks" note={held.data?.organisation.allowedNetworks.length === 0 ? 'any' : undefined}>
      <Loaded query={held} skeleton={<SkeletonRows rows={3} />}>
        {/* Another change of the organisation, such as one beside it, leaves what was typed here. */}
        {(found) => <List key={found.organisation.allowedNetworks.join()} held={found} />}
      </Loaded>
    </Card>
  )
}

function List({ held }: { held: Held }) {
  const queries = useQueryClient()
  const sessions = useSessions()
  const own = sessions.data?.find((one) => one.current)?.network ?? null
  const [networks, setNetworks] = useState<string[]>(held.organisation.allowedNetworks)
  const [typed, setTyped] = useState('')
  const save = useMutation({
    mutationFn: () =>
      ask(`/organisations/${held.organisation.id}`, {
        method: 'PATCH',
        body: { allowedNetworks: networks },
        ifMatch: held.etag,
      }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'] }),
  })
  const isIn = letsIn(networks, own)
  const outside = (sessions.data ?? []).filter((one) => !one.current && !letsIn(networks, one.network ?? null)).length
  const isChanged = networks.join() !== held.organisation.allowedNetworks.join()
  const fault = typed !== '' && !networkOf(typed) ? 'Such as 203.0.113.0/24 or 2001:db8::/48.' : null
  const add = (event: FormEvent) => {
    event.preventDefault()
    if (!networkOf(typed)) return
    setNetworks([...new Set([...networks, typed.trim()])])
    setTyped('')
  }
  return (
    <div className="card-body form">
      <ul className="networks">
        {networks.map((one) => (
          <li key={one}>
            <span className="code">{one}</span>
            <IconButton
              name="close"
              label={`Remove ${one}`}
              onClick={() => setNetworks(networks.filter((each) => each !== one))}
            />
          </li>
        ))}
        {networks.length === 0 && <li className="note">From anywhere.</li>}
      </ul>
      <form className="ask-row" onSubmit={add}>
        <span className={`input ${fault ? 'is-wrong' : ''}`}>
          <input
            aria-label="Network"
            placeholder="203.0.113.0/24"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </span>
        <Button type="submit" icon="plus" disabled={typed === '' || fault !== null}>
          Network
        </Button>
      </form>
      {fault && <p className="field-fault">{fault}</p>}
      {own && (
        <p className={`verdict ${isIn ? 'verdict-good' : 'verdict-danger'}`} role="status">
          {isIn
            ? `You come from ${own}, inside.${outside > 0 ? ` ${outside} of your other sessions ${outside === 1 ? 'does' : 'do'} not: refused once you save.` : ''}`
            : `You come from ${own}: with this list you would lock yourself out, so it cannot be saved.`}
        </p>
      )}
      <SignInAgain error={save.error} />
      <div>
        <Button kind="primary" disabled={!isChanged || !isIn} isBusy={save.isPending} onClick={() => save.mutate()}>
          Save the networks
        </Button>
      </div>
    </div>
  )
}
