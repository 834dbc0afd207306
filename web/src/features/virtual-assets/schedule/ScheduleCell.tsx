import { memo } from 'react'
import { decimal } from '../../../shared/format'
import { type Day, hoursOf, MARKET_ZONE, QUARTER_MS } from '../../../shared/time/marketDay'
import { time } from '../../../shared/time/words'

export interface Row {
  start: number
  label: string
  cells: {
    quarter: number
    /** None where the battery does not deliver. */
    index: number | null
    name: string
  }[]
}

/** Hours by quarters: where each quarter-hour of the battery stands in the table of its day. */
export function rowsOf(day: Day, quarters: readonly number[]): Row[] {
  const place = new Map(quarters.map((start, index) => [start, index]))
  return hoursOf(day).map(({ start, label }) => ({
    start,
    label,
    cells: [0, 1, 2, 3].map((quarter) => {
      const at = start + quarter * QUARTER_MS
      return { quarter, index: place.get(at) ?? null, name: time(at, MARKET_ZONE) }
    }),
  }))
}

interface Props {
  index: number
  name: string
  powerKw: number
  /** What is being typed into it. */
  typed: string | null
  ratedKw: number
  isAt: boolean
  /** Whether Tab stops here. */
  isStop: boolean
  isIn: boolean
  isChanged: boolean
  isClosed: boolean
  /** It was changed, and its gate passed before that was saved. */
  isExpired: boolean
}

/** One quarter-hour; drawn anew only when something of it changes, so that a table of a hundred follows a hand. */
export const ScheduleCell = memo(function ScheduleCell(props: Props) {
  const { index, name, powerKw, typed, ratedKw, isAt, isStop, isIn, isChanged, isClosed, isExpired } = props
  const share = Math.round(10 + (Math.abs(powerKw) / ratedKw) * 25)
  const shade =
    powerKw === 0
      ? undefined
      : `color-mix(in srgb, var(--${powerKw > 0 ? 'discharge' : 'charge'}) ${share}%, var(--surface))`
  const marks = [
    isIn && 'is-in',
    isAt && 'is-at',
    isClosed && 'is-closed',
    isChanged && 'is-changed',
    isExpired && 'is-expired',
  ]
  return (
    <td
      role="gridcell"
      data-index={index}
      tabIndex={isStop ? 0 : -1}
      aria-selected={isIn}
      aria-label={`${name} ${decimal(powerKw / 1000, 1)} MW${isChanged ? ', changed' : ''}${isExpired ? ', edit expired' : ''}${isClosed ? ', gate closed' : ''}`}
      className={['cell', ...marks.filter(Boolean)].join(' ')}
      style={isClosed ? undefined : { backgroundColor: shade }}
    >
      {typed ?? (powerKw === 0 ? '·' : decimal(powerKw / 1000, 1))}
    </td>
  )
})
