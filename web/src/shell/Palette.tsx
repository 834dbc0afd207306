/** Find anything: screens, batteries, auctions and what can be done, from the keyboard. */
import { useQuery } from '@tanstack/react-query'
import {
  Autocomplete,
  Dialog,
  Input,
  Menu,
  MenuItem,
  Modal,
  ModalOverlay,
  TextField,
  useFilter,
} from 'react-aria-components'
import { allPages, type Schemas } from '../shared/api/client'
import { useMay, useSession } from '../shared/api/session'
import { clock } from '../shared/clock'
import { size } from '../shared/format'
import { Icon, type IconName } from '../shared/ui/Icon'
import { chooseZone, currentZone } from '../shared/zone'
import { go } from './router'
import type { Place } from './screens'
import { chooseTheme, currentTheme } from './theme'

interface Found {
  id: string
  label: string
  note: string
  icon: IconName
  act: () => void
}

interface Props {
  places: Place[]
  onClose: () => void
  onSignOut: () => void
}

export default function Palette({ places, onClose, onSignOut }: Props) {
  const { contains } = useFilter({ sensitivity: 'base' })
  const resources = useResources()
  const found: Found[] = [
    ...places.map((place) => ({
      id: place.path,
      label: place.label,
      note: `g ${place.letter}`,
      icon: place.icon,
      act: () => go(place.path),
    })),
    ...resources,
    {
      id: 'theme',
      label: 'Switch between light and dark',
      note: '',
      icon: 'moon',
      act: () => chooseTheme(currentTheme() === 'dark' ? 'light' : 'dark'),
    },
    {
      id: 'zone',
      label: currentZone() === 'UTC' ? "Show Berlin's time" : 'Show UTC',
      note: '',
      icon: 'clock',
      act: () => chooseZone(currentZone() === 'UTC' ? 'Europe/Berlin' : 'UTC'),
    },
    { id: 'leave', label: 'Sign out', note: '', icon: 'leave', act: onSignOut },
  ]
  const choose = (id: string | number) => {
    onClose()
    found.find((one) => one.id === id)?.act()
  }
  return (
    <ModalOverlay className="overlay overlay-top" isOpen onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className="modal palette">
        <Dialog className="dialog" aria-label="Find">
          <Autocomplete filter={contains}>
            <TextField aria-label="Find a screen, a battery or an auction" autoFocus className="palette-field">
              <Icon name="find" />
              <Input placeholder="Find a screen, a battery, an auction…" />
            </TextField>
            <Menu
              className="palette-list"
              aria-label="Found"
              items={found}
              onAction={choose}
              renderEmptyState={() => <p className="palette-none">Nothing by that name.</p>}
            >
              {(one) => (
                <MenuItem id={one.id} textValue={one.label} className="palette-item">
                  <Icon name={one.icon} />
                  <span>{one.label}</span>
                  {one.note && <span className="note">{one.note}</span>}
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function useResources(): Found[] {
  const { user } = useSession()
  const organisation = user.organisationID
  const virtual = useQuery({
    queryKey: ['virtual-assets', 'list', organisation],
    queryFn: () => allPages<Schemas['VirtualAssetView']>(`/organisations/${organisation}/virtual-assets`),
    enabled: useMay('Read:virtual-assets'),
  })
  const physical = useQuery({
    queryKey: ['physical-assets', 'list'],
    queryFn: () => allPages<Schemas['PhysicalAsset']>('/physical-assets'),
    enabled: useMay('Read:physical-assets'),
  })
  const auctions = useQuery({
    queryKey: ['auctions', 'list'],
    queryFn: () => allPages<Schemas['AuctionView']>('/auctions'),
    enabled: useMay('Read:auctions'),
  })
  const now = clock.now()
  const batteries = (isOver: boolean) =>
    (virtual.data ?? [])
      .filter((one) => Date.parse(one.end) <= now === isOver)
      .map((one) => ({
        id: one.id,
        label: one.name,
        note: `${isOver ? 'over, ' : ''}virtual, ${size(one.ratedDischargePower, one.energyCapacity)}`,
        icon: 'battery' as const,
        act: () => go(`/virtual-batteries/${one.id}`),
      }))
  return [
    ...batteries(false),
    ...(physical.data ?? []).map((one) => ({
      id: one.id,
      label: one.name,
      note: `physical, ${size(one.parameters.ratedDischargePower, one.parameters.energyCapacity)}`,
      icon: 'asset' as const,
      act: () => go(`/physical-assets/${one.id}`),
    })),
    ...(auctions.data ?? []).slice(0, 50).map((one) => ({
      id: one.id,
      label: `Auction ${size(one.item.ratedDischargePower, one.item.energyCapacity)} ${one.item.deliveryZone}`,
      note: one.status.toLowerCase().replaceAll('_', ' '),
      icon: 'auction' as const,
      act: () => go(`/auctions/${one.id}`),
    })),
    ...batteries(true),
  ]
}
