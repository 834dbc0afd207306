import type { ReactNode } from 'react'
import { TableScroll } from './TableScroll'

export interface Column {
  label: string
  isNumber?: boolean
  /** Said to who does not see the column: what is in it speaks for itself. */
  isUnseen?: boolean
  /** Left out on a phone, as are its cells, which are called `wide-cell`. */
  isWide?: boolean
  /** The table can be sorted by it. */
  onSort?: () => void
  order?: 'ascending' | 'descending' | 'none'
}

interface Props {
  /** A word is a column of words. */
  columns: readonly (string | Column)[]
  className?: string
  /** The rows, in their `tbody`. */
  children: ReactNode
}

/** A table with its head, which scrolls sideways where it has no room. */
export function Table({ columns, className = '', children }: Props) {
  return (
    <TableScroll>
      <table className={`table ${className}`}>
        <thead>
          <tr>
            {columns.map((column) => {
              const { label, isNumber, isUnseen, isWide, onSort, order }: Column =
                typeof column === 'string' ? { label: column } : column
              return (
                <th
                  key={label}
                  scope="col"
                  aria-sort={order}
                  className={[isNumber && 'number', isWide && 'wide-cell'].filter(Boolean).join(' ') || undefined}
                >
                  {onSort ? (
                    <button type="button" className="sort" onClick={onSort}>
                      {label}
                      <span aria-hidden="true">
                        {order === 'ascending' ? ' ↑' : order === 'descending' ? ' ↓' : ''}
                      </span>
                    </button>
                  ) : isUnseen ? (
                    <span className="visually-hidden">{label}</span>
                  ) : (
                    label
                  )}
                </th>
              )
            })}
          </tr>
        </thead>
        {children}
      </table>
    </TableScroll>
  )
}
