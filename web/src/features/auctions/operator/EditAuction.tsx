import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../../shared/api/client'
import { instantFrom, localInput } from '../../../shared/time/words'
import { type EditField, EditForm } from '../../../shared/ui/EditForm'
import type { Values } from '../../../shared/ui/editing'
import { useOpeningZone, zoneName } from '../../../shared/zone'
import { type Auction, PRICE_LIMITS, readPrice } from '../data'

const fieldsIn = (zone: string): EditField[] => [
  { key: 'start', label: 'Opens', kind: 'moment', hint: `Time in ${zone}` },
  { key: 'end', label: 'Closes', kind: 'moment', hint: `Time in ${zone}` },
  {
    key: 'hurdlePrice',
    label: 'Hurdle price',
    unit: 'EUR',
    kind: 'number',
    hint: 'Empty for none',
    limits: PRICE_LIMITS,
  },
]

/** When it runs and from which price on, as long as it has not opened. */
export function EditAuction({ auction, onClose }: { auction: Auction; onClose: () => void }) {
  const queries = useQueryClient()
  const zone = useOpeningZone()
  const path = `/auctions/${auction.id}`
  const read = async () => {
    const response = await ask(path)
    const found = (await response.json()) as Auction
    const values = {
      start: localInput(Date.parse(found.start), zone),
      end: localInput(Date.parse(found.end), zone),
      storedStart: found.start,
      storedEnd: found.end,
      hurdlePrice: found.hurdlePrice ? String(found.hurdlePrice) : '',
    }
    return { values, etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, {
      method: 'PATCH',
      ifMatch,
      body: {
        start: instantFrom(values.start ?? '', values.storedStart ?? '', zone),
        end: instantFrom(values.end ?? '', values.storedEnd ?? '', zone),
        hurdlePrice: values.hurdlePrice?.trim() ? (readPrice(values.hurdlePrice).price ?? 0).toFixed(2) : null,
      },
    })
  return (
    <EditForm
      title="Change the auction"
      subject={`auctions/${auction.id}`}
      fields={fieldsIn(zoneName(zone))}
      read={read}
      save={save}
      onClose={onClose}
      onSaved={() => {
        void queries.invalidateQueries({ queryKey: ['auctions'] })
        onClose()
      }}
    />
  )
}
