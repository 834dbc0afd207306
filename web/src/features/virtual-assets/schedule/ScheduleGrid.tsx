/** The day as hours × quarters, for the keyboard: move, select, type, paste. */
import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { decimal } from '../../../shared/format'
import { type Day, HOUR_MS, hoursOf, QUARTER_MS } from '../../../shared/time/marketDay'
import { time } from '../../../shared/time/words'
import { readNumber, readPasted } from './paste'

interface Props {
  day: Day
  /** Starts of the quarter-hours that can hold power. */
  quarters: number[]
  powersKw: number[]
  storedKw: number[]
  isClosed: (index: number) => boolean
  isEditable: boolean
  selection: [number, number] | null
  onSelect: (selection: [number, number]) => void
  onChange: (changes: Map<number, number>) => void
  onFault: (sentence: string) => void
}

const NUDGE_KW = 100

export function ScheduleGrid({
  day,
  quarters,
  powersKw,
  storedKw,
  isClosed,
  isEditable,
  selection,
  onSelect,
  onChange,
  onFault,
}: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  const table = useRef<HTMLTableElement>(null)
  const place = new Map(quarters.map((start, index) => [start, index]))
  const cursor = selection?.[1] ?? 0
  const [low, high] = selection ? [Math.min(...selection), Math.max(...selection)] : [-1, -1]
  const last = quarters.length - 1

  useEffect(() => {
    if (!table.current?.contains(document.activeElement)) return
    table.current.querySelector<HTMLElement>(`[data-index="${cursor}"]`)?.focus()
  }, [cursor])

  const inSelection = (): number[] =>
    Array.from({ length: high - low + 1 }, (_, each) => low + each).filter((index) => !isClosed(index))
  const setAll = (powerKw: number) => onChange(new Map(inSelection().map((index) => [index, powerKw])))
  const move = (to: number, doesExtend: boolean) => {
    const next = Math.min(last, Math.max(0, to))
    onSelect(doesExtend && selection ? [selection[0], next] : [next, next])
  }
  const commit = (text: string): boolean => {
    const value = readNumber(text)
    if (value === null) {
      onFault(`“${text}” is not a power in MW.`)
      return false
    }
    setAll(Math.round(value * 1000))
    return true
  }

  const press = (event: KeyboardEvent) => {
    if (!selection) return
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -4, ArrowDown: 4 }
    if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown') && isEditable) {
      event.preventDefault()
      const by = event.key === 'ArrowUp' ? NUDGE_KW : -NUDGE_KW
      onChange(new Map(inSelection().map((index) => [index, (powersKw[index] ?? 0) + by])))
      return
    }
    const step = steps[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (typed !== null && commit(typed)) setTyped(null)
      move(cursor + step, event.shiftKey)
      return
    }
    if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault()
      move(event.key === 'Home' ? 0 : last, event.shiftKey)
      return
    }
    if (event.ctrlKey || event.metaKey || !isEditable) return
    if (event.key === 'Enter') {
      event.preventDefault()
      if (typed !== null && commit(typed)) setTyped(null)
      move(cursor + 1, false)
    } else if (event.key === 'Escape') {
      setTyped(null)
    } else if (event.key === 'Delete') {
      event.preventDefault()
      setAll(0)
    } else if (event.key === 'Backspace') {
      event.preventDefault()
      if (typed !== null) setTyped(typed.slice(0, -1) || null)
      else setAll(0)
    } else if (/^[\d.,+−-]$/.test(event.key)) {
      event.preventDefault()
      setTyped((typed ?? '') + event.key)
    }
  }

  const copy = (event: ClipboardEvent) => {
    if (!selection) return
    event.preventDefault()
    const rows = Array.from({ length: high - low + 1 }, (_, each) => String((powersKw[low + each] ?? 0) / 1000))
    event.clipboardData.setData('text/plain', rows.join('\n'))
  }
  const paste = (event: ClipboardEvent) => {
    if (!selection || !isEditable) return
    event.preventDefault()
    const { powersKw: pasted, fault } = readPasted(event.clipboardData.getData('text/plain'))
    if (fault) {
      onFault(fault)
      return
    }
    const changes = new Map<number, number>()
    pasted.forEach((power, offset) => {
      const index = low + offset
      if (power !== null && index <= last && !isClosed(index)) changes.set(index, power)
    })
    onChange(changes)
    onSelect([low, Math.min(last, low + pasted.length - 1)])
  }

  const largest = Math.max(1, ...powersKw.map(Math.abs))
  return (
    <table
      ref={table}
      role="grid"
      className="schedule-grid"
      aria-label="Schedule in MW, hours by quarters"
      aria-readonly={!isEditable}
      aria-multiselectable="true"
      onKeyDown={press}
      onCopy={copy}
      onPaste={paste}
    >
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Hour</span>
          </th>
          {[':00', ':15', ':30', ':45'].map((quarter) => (
            <th key={quarter} scope="col">
              {quarter}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {hoursOf(day).map((hour) => (
          <tr key={hour.start}>
            <th scope="row">{hour.label}</th>
            {[0, 1, 2, 3].map((quarter) => {
              const start = hour.start + quarter * QUARTER_MS
              const index = place.get(start)
              if (index === undefined || start >= hour.start + HOUR_MS)
                return <td key={quarter} className="cell-none" aria-hidden="true" />
              const power = powersKw[index] ?? 0
              const isAt = index === cursor && selection !== null
              const isIn = index >= low && index <= high
              const shade =
                power === 0
                  ? undefined
                  : `color-mix(in srgb, var(--${power > 0 ? 'discharge' : 'charge'}) ${10 + (Math.abs(power) / largest) * 25}%, var(--surface))`
              const isChanged = power !== storedKw[index]
              return (
                <td
                  key={quarter}
                  role="gridcell"
                  data-index={index}
                  tabIndex={isAt || (selection === null && index === 0) ? 0 : -1}
                  aria-selected={isIn}
                  aria-label={`${time(start, 'Europe/Berlin')} ${decimal(power / 1000, 1)} MW${isChanged ? ', changed' : ''}${isClosed(index) ? ', gate closed' : ''}`}
                  className={`cell ${isIn ? 'is-in' : ''} ${isAt ? 'is-at' : ''} ${isClosed(index) ? 'is-closed' : ''} ${isChanged ? 'is-changed' : ''}`}
                  style={isClosed(index) ? undefined : { backgroundColor: shade }}
                  onFocus={() => selection === null && onSelect([index, index])}
                  onPointerDown={(event) =>
                    onSelect(event.shiftKey && selection ? [selection[0], index] : [index, index])
                  }
                  onPointerEnter={(event) => event.buttons === 1 && selection && onSelect([selection[0], index])}
                >
                  {isAt && typed !== null ? typed : power === 0 ? '·' : decimal(power / 1000, 1)}
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
