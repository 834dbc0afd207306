/** Which permissions are ticked in the form that gives or changes a grant: a grant replaces the one before. */
import type { Schemas } from '../../shared/api/client'

type Grant = Pick<Schemas['Grant'], 'organisationID' | 'permissions'>
export type Ticks = ReadonlySet<string>
/** What was ticked by hand, by organisation; those that have no grant yet share one. */
export type Ticked = ReadonlyMap<string, Ticks>

const NEW = ''
const FIRST: Ticks = new Set(['Read:physical-assets'])

const grantOf = (grants: readonly Grant[], organisation: string) =>
  grants.find((grant) => grant.organisationID === organisation.toLowerCase())

/** What an organisation has already, as far as nothing was ticked for it since. */
export function ticksOf(grants: readonly Grant[], ticked: Ticked, organisation: string): Ticks {
  const had = grantOf(grants, organisation)
  return ticked.get(had?.organisationID ?? NEW) ?? (had ? new Set(had.permissions) : FIRST)
}

export function toggled(grants: readonly Grant[], ticked: Ticked, organisation: string, permission: string): Ticked {
  const next = new Set(ticksOf(grants, ticked, organisation))
  if (!next.delete(permission)) next.add(permission)
  return new Map([...ticked, [grantOf(grants, organisation)?.organisationID ?? NEW, next]])
}
