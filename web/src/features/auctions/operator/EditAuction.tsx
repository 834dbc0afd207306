import { useQueryClient } from '@tanstack/react-query'
import { ask } from '../../../shared/api/client'
import { instant } from '../../../shared/time/marketDay'
import { localInput, momentFrom } from '../../../shared/time/words'
import { type EditField, EditForm } from '../../../shared/ui/EditForm'
import type { Values } from '../../../shared/ui/editing'
import { useZone } from '../../../shared/zone'
import type { Auction } from '../data'

const FIELDS: EditField[] = [
  { key: 'start', label: 'Opens', kind: 'moment' },
  { key: 'end', label: 'Closes', kind: 'moment' },
  { key: 'hurdlePrice', label: 'Hurdle price', unit: 'EUR', kind: 'number', hint: 'Empty for none' },
]

/** When it runs and from which price on, as long as it has not opened. */
export function EditAuction({ auction, onClose }: { auction: Auction; onClose: () => void }) {
  const queries = useQueryClient()
  const zone = useZone()
  const path = `/auctions/${auction.id}`
  const read = async () => {
    const response = await ask(path)
    const found = (await response.json()) as Auction
    const values = {
      start: localInput(Date.parse(found.start), zone),
      end: localInput(Date.parse(found.end), zone),
      hurdlePrice: found.hurdlePrice ? String(found.hurdlePrice) : '',
    }
    return { values, etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, {
      method: 'PATCH',
      ifMatch,
      body: {
        start: instant(momentFrom(values.start ?? '', zone)),
        end: instant(momentFrom(values.end ?? '', zone)),
        hurdlePrice: values.hurdlePrice ? values.hurdlePrice.replace(',', '.') : null,
      },
    })
  return (
    <EditForm
      title="Change the auction"
      subject={`auctions/${auction.id}`}
      fields={FIELDS}
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
