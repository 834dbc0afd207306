/** A row of the inbox, and what it is made of. */
import type { PlatformEvent } from '../../shared/api/live'
import type { IconName } from '../../shared/ui/Icon'

export interface Item {
  key: string
  time: number
  icon: IconName
  tone: 'good' | 'warning' | 'danger' | 'quiet'
  /** `**` marks what is bold. */
  title: string
  note: string
  /** How much it is about, where that is known. */
  sizeMwh?: number
  /** What happened, in sentences. */
  told: string
  /** Rows of a small table: when, before, after. */
  rows?: { time: number; before: number; after: number }[]
  place: { label: string; to: string }
  fix: { title: string; detail: string; label: string; to: string } | null
}

export interface Names {
  battery: (id: string) => string
  auction: (id: string) => { what: string; price: number | null; virtualAssetID: string | null; end: number } | null
  /** Who made a version of a schedule; null where it was the reader or is unknown. */
  author: (assetID: string, version: number) => string | null
  /** Whether somebody has planned a virtual battery. */
  isPlanned: (assetID: string) => boolean
  now: number
  tellTime: (ms: number) => string
  /** The end of a span: midnight is 24:00. */
  tellEnd: (ms: number) => string
  tellDay: (ms: number) => string
}

/** An event in the order of its organisation. */
export type Placed = PlatformEvent

export type Maker = (event: Placed, names: Names) => Item | null
