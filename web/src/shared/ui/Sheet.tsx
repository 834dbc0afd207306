/** A dialog at the side or in the middle, on react-aria's: focus stays inside, Escape leaves. */
import type { ReactNode } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { IconButton } from './Button'

interface Props {
  title: string
  isOpen: boolean
  onClose: () => void
  children: ReactNode
  width?: number
}

export function Sheet({ title, isOpen, onClose, children, width = 440 }: Props) {
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className="modal" style={{ width }}>
        <Dialog className="dialog">
          <header className="dialog-head">
            <Heading slot="title">{title}</Heading>
            <IconButton name="close" label="Close" onClick={onClose} />
          </header>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
