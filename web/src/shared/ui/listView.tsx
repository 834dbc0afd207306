/**
 * How a list is sorted and which columns it has. It stands in the address, as do its filters: a link shows the same,
 * and a view is kept under a name.
 */
import type { ReactNode } from 'react'
import { go, useParameter } from '../../shell/router'
import { Checkbox } from './Field'
import { Kept, useKept } from './Kept'
import { type Column, Table } from './Table'

export interface ViewColumn<T> extends Column {
  id: string
  /** Always shown. */
  isFixed?: boolean
  /** Left out until it is asked for. */
  isExtra?: boolean
  /** What it is sorted by; null stands last. Left out where it is not sorted by. */
  sortBy?: (one: T) => number | string | null
  cell: (one: T) => ReactNode
}

export interface ListView<T> {
  shown: ViewColumn<T>[]
  head: Column[]
  sorted: (list: readonly T[]) => T[]
  toggle: (id: string) => void
}

export function useListView<T>(columns: readonly ViewColumn<T>[]): ListView<T> {
  const [sort, setSort] = useParameter('sort')
  const [chosen, setChosen] = useParameter('columns')
  const ids = chosen?.split(',') ?? columns.filter((one) => !one.isExtra).map((one) => one.id)
  const shown = columns.filter((one) => one.isFixed || ids.includes(one.id))
  const by = sort?.replace(/^-/, '')
  const isDown = sort?.startsWith('-') ?? false
  const column = columns.find((one) => one.id === by)
  return {
    shown,
    head: shown.map((one): Column => {
      const head: Column = { label: one.label }
      if (one.isNumber) head.isNumber = true
      if (one.isWide) head.isWide = true
      if (one.sortBy) {
        head.onSort = () => setSort(by === one.id ? (isDown ? null : `-${one.id}`) : one.id)
        head.order = by === one.id ? (isDown ? 'descending' : 'ascending') : 'none'
      }
      return head
    }),
    sorted: (list) => (column?.sortBy ? sortedBy(list, column.sortBy, isDown) : [...list]),
    toggle: (id) => {
      const next = ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]
      setChosen(next.join(','))
    },
  }
}

/** What is not known stands last, whichever way. */
export function sortedBy<T>(list: readonly T[], by: (one: T) => number | string | null, isDown: boolean): T[] {
  return [...list].sort((a, b) => {
    const [one, other] = [by(a), by(b)]
    if (one === null || other === null) return Number(one === null) - Number(other === null)
    const order =
      typeof one === 'string' ? one.localeCompare(String(other), 'en', { numeric: true }) : one - Number(other)
    return isDown ? -order : order
  })
}

interface ListProps<T extends { id: string }> {
  className?: string
  view: ListView<T>
  /** In the order in which they are shown. */
  rows: readonly T[]
}

/** The list itself: a row each, in the columns that are shown. */
export function ListTable<T extends { id: string }>({ className = '', view, rows }: ListProps<T>) {
  return (
    <Table className={className} columns={view.head}>
      <tbody>
        {rows.map((one) => (
          <tr key={one.id}>
            {view.shown.map((column) => (
              <td
                key={column.id}
                className={[column.isNumber && 'number', column.isWide && 'wide-cell'].filter(Boolean).join(' ')}
              >
                {column.cell(one)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

/** What is sought, by the address. */
export function SearchFilter() {
  const [search, setSearch] = useParameter('q')
  return (
    <div className="input">
      <input
        type="search"
        aria-label="Search"
        placeholder="Search"
        value={search ?? ''}
        onChange={(event) => setSearch(event.target.value || null)}
      />
    </div>
  )
}

/** Whether texts hold what is sought. */
export function useSearch(): { isSought: boolean; finds: (...texts: string[]) => boolean } {
  const [search] = useParameter('q')
  const sought = (search ?? '').trim().toLowerCase()
  return { isSought: sought !== '', finds: (...texts) => texts.join(' ').toLowerCase().includes(sought) }
}

interface ChoiceProps {
  /** The parameter of the address. */
  name: string
  label: string
  /** What stands where none is chosen. */
  all: string
  options: readonly { value: string; label: string }[]
}

/** One of several, by the address; nothing to choose from is not shown. */
export function ChoiceFilter({ name, label, all, options }: ChoiceProps) {
  const [chosen, setChosen] = useParameter(name)
  if (options.length < 2) return null
  return (
    <select
      className="role-select"
      aria-label={label}
      value={chosen ?? ''}
      onChange={(event) => setChosen(event.target.value || null)}
    >
      <option value="">{all}</option>
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </select>
  )
}

/** The zones of a list, to choose from. */
export function ZoneFilter({ zones }: { zones: readonly string[] }) {
  const options = [...new Set(zones)].sort().map((one) => ({ value: one, label: one }))
  return <ChoiceFilter name="zone" label="Zone" all="All zones" options={options} />
}

interface Props<T> {
  /** What its views are kept under. */
  name: string
  columns: readonly ViewColumn<T>[]
  view: ListView<T>
}

/** Which columns, and the views that are kept. */
export function ListTools<T>({ name, columns, view }: Props<T>) {
  const { kept, keep } = useKept<string>(`views.${name}`)
  const own = location.pathname.replace(/^\/console/, '')
  return (
    <>
      <details className="list-columns">
        <summary className="button button-compact">Columns</summary>
        <fieldset className="plain-fieldset">
          <legend className="visually-hidden">Columns</legend>
          {columns
            .filter((one) => !one.isFixed)
            .map((one) => (
              <Checkbox
                key={one.id}
                label={one.label}
                checked={view.shown.includes(one)}
                onChange={() => view.toggle(one.id)}
              />
            ))}
        </fieldset>
      </details>
      <Kept
        noun="View"
        names={Object.keys(kept)}
        onTake={(one) => go(`${own}${kept[one] ?? ''}`)}
        onKeep={(one) => keep(one, location.search)}
        onForget={(one) => keep(one, null)}
      />
    </>
  )
}
