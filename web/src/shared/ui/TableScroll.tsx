import type { ReactNode } from 'react'

/** Around a table that may be wider than the page: it scrolls sideways, by the keyboard too. */
export function TableScroll({ children }: { children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div className="table-scroll" tabIndex={0}>
      {children}
    </div>
  )
}
