/** Whether the reader's organisation trades, owns batteries, or both: the rail shows no screen that would be empty. */
import { useEffect, useMemo } from 'react'
import { useAuctions } from '../features/auctions/data'
import { usePhysicalAssets, useVirtualAssets } from '../shared/api/resources'
import { useIsOperator, useSession } from '../shared/api/session'

export interface Interests {
  trades: boolean
  owns: boolean
}

const BOTH: Interests = { trades: true, owns: true }
const keyOf = (organisation: string) => `gridloom.interests.${organisation}`

export function useInterests(): Interests {
  const isOperator = useIsOperator()
  const { organisationID } = useSession().user
  const virtual = useVirtualAssets()
  const physical = usePhysicalAssets()
  const auctions = useAuctions()
  // A list that could not be read is not an empty one.
  const isKnown = [virtual, physical, auctions].every((query) => !query.isLoading && !query.isError)
  const trades = (virtual.data ?? []).length > 0 || (auctions.data ?? []).length > 0
  const owns = (physical.data ?? []).length > 0
  // As it was the last time, until it is known: nothing comes and goes while a screen loads.
  const before = useMemo(() => readBefore(organisationID), [organisationID])
  useEffect(() => {
    if (isKnown) localStorage.setItem(keyOf(organisationID), JSON.stringify({ trades, owns }))
  }, [isKnown, organisationID, trades, owns])
  return useMemo(() => {
    if (isOperator) return BOTH
    const found = isKnown ? { trades, owns } : before
    // Who has nothing yet may become either.
    return found.trades || found.owns ? found : BOTH
  }, [isOperator, isKnown, trades, owns, before])
}

function readBefore(organisation: string): Interests {
  try {
    const found = JSON.parse(localStorage.getItem(keyOf(organisation)) ?? 'null') as Interests | null
    return found ?? BOTH
  } catch {
    return BOTH
  }
}
