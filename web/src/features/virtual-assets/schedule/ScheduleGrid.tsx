/** The day as hours × quarters, for the keyboard: move, select, type, paste. */
import {
  type ClipboardEvent,
  type FocusEvent,
  type KeyboardEvent,
  type PointerEvent,
  type SyntheticEvent,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { megawatts } from '../../../shared/format'
import { readQuantity } from '../../../shared/quantity'
import type { Day } from '../../../shared/time/marketDay'
import { clamped } from './draft'
import { readPasted } from './paste'
import { rowsOf, ScheduleCell } from './ScheduleCell'

interface Props {
  day: Day
  /** Starts of the quarter-hours that can hold power. */
  quarters: number[]
  powersKw: number[]
  storedKw: number[]
  /** What is shaded most. */
  ratedKw: number
  isClosed: (index: number) => boolean
  isEditable: boolean
  /** Places of edits whose gate has passed. */
  expired: readonly number[]
  /** What each quarter-hour can take and give, kW. */
  limits: readonly ({ charge: number; discharge: number } | undefined)[]
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
  ratedKw,
  isClosed,
  isEditable,
  expired,
  limits,
  selection,
  onSelect,
  onChange,
  onFault,
}: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  const table = useRef<HTMLTableElement>(null)
  const rows = useMemo(() => rowsOf(day, quarters), [day, quarters])
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
    const chosen = inSelection().map((index) => limits[index])
    const least = -Math.min(...chosen.map((one) => one?.charge ?? Number.POSITIVE_INFINITY)) / 1000
    const most = Math.min(...chosen.map((one) => one?.discharge ?? Number.POSITIVE_INFINITY)) / 1000
    const read = readQuantity(text, 'MW', {
      least,
      leastIs: `what can be charged, ${megawatts(-least * 1000)} MW`,
      most,
      mostIs: `what can be discharged, ${megawatts(most * 1000)} MW`,
    })
    if (read.value === null) {
      onFault(read.fault)
      return false
    }
    setAll(Math.round(read.value * 1000))
    return true
  }
  /** Whether nothing is left that was typed and is not taken: what has a fault stays in its cell until it has none. */
  const finish = (): boolean => {
    if (typed === null) return true
    if (!commit(typed)) return false
    setTyped(null)
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
      if (finish()) move(cursor + step, event.shiftKey)
      return
    }
    if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault()
      if (finish()) move(event.key === 'Home' ? 0 : last, event.shiftKey)
      return
    }
    if (event.ctrlKey || event.metaKey || !isEditable) {
      // What is saved is what the table shows.
      if (event.key.toLowerCase() === 's' && !finish()) {
        event.preventDefault()
        event.stopPropagation()
      }
      return
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      if (finish()) move(cursor + 1, false)
    } else if (event.key === 'Escape') {
      setTyped(null)
    } else if (event.key === 'Delete') {
      event.preventDefault()
      setAll(0)
    } else if (event.key === 'Backspace') {
      event.preventDefault()
      if (typed !== null) setTyped(typed.slice(0, -1) || null)
      else setAll(0)
    } else if (/^[\d.,+−-]$/.test(event.key) || (typed !== null && /^[kmw ]$/i.test(event.key))) {
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
    const beyond = [...changes].find(([index, power]) => clamped(power, limits[index]) !== power)
    if (beyond) {
      onFault(`${megawatts(beyond[1])} MW is more than the battery can do then. Nothing was pasted.`)
      return
    }
    onChange(changes)
    onSelect([low, Math.min(last, low + pasted.length - 1)])
  }

  const take = (event: PointerEvent) => {
    const index = indexAt(event)
    if (index !== null && finish()) onSelect(event.shiftKey && selection ? [selection[0], index] : [index, index])
  }
  const leave = (event: FocusEvent) => {
    if (!table.current?.contains(event.relatedTarget)) finish()
  }
  const extend = (event: PointerEvent) => {
    const index = event.buttons === 1 && selection ? indexAt(event) : null
    if (index !== null && selection && index !== selection[1]) onSelect([selection[0], index])
  }
  const arrive = (event: SyntheticEvent) => {
    const index = selection === null ? indexAt(event) : null
    if (index !== null) onSelect([index, index])
  }

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
      onPointerDown={take}
      onPointerOver={extend}
      onFocus={arrive}
      onBlur={leave}
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
        {rows.map((row) => (
          <tr key={row.start}>
            <th scope="row">{row.label}</th>
            {row.cells.map(({ quarter, index, name }) => {
              if (index === null) return <td key={quarter} className="cell-none" aria-hidden="true" />
              const power = powersKw[index] ?? 0
              const isAt = index === cursor && selection !== null
              return (
                <ScheduleCell
                  key={quarter}
                  index={index}
                  name={name}
                  powerKw={power}
                  typed={isAt ? typed : null}
                  ratedKw={ratedKw}
                  isAt={isAt}
                  isStop={isAt || (selection === null && index === 0)}
                  isIn={index >= low && index <= high}
                  isChanged={power !== storedKw[index]}
                  isClosed={isClosed(index)}
                  isExpired={expired.includes(index)}
                />
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The quarter-hour of the cell at which something happened. */
function indexAt(event: SyntheticEvent): number | null {
  const cell = (event.target as Element).closest<HTMLElement>('[data-index]')
  return cell ? Number(cell.dataset.index) : null
}
