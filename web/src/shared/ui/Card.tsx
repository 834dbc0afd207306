import type { ReactNode } from 'react'

interface Props {
  title?: ReactNode
  note?: ReactNode
  actions?: ReactNode
  children?: ReactNode
  className?: string
  label?: string
}

/** A surface with a title, what the title does not say, and what can be done. */
export function Card({ title, note, actions, children, className = '', label }: Props) {
  return (
    <section className={`card ${className}`} aria-label={label ?? (typeof title === 'string' ? title : undefined)}>
      {(title || actions) && (
        <header className="card-head">
          {title && <h2>{title}</h2>}
          {note && <span className="note">{note}</span>}
          {actions && <div className="card-actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

export function Badge({
  tone = 'quiet',
  children,
}: {
  tone?: 'good' | 'quiet' | 'warning' | 'danger'
  children: ReactNode
}) {
  return <span className={`badge badge-${tone}`}>{children}</span>
}

export interface Figure {
  label: string
  value: ReactNode
  unit?: string
  below?: ReactNode
  tone?: 'good' | 'warning' | 'danger'
}

/** The row of large figures at the head of a screen. */
export function Figures({ figures }: { figures: Figure[] }) {
  return (
    <dl className="card figures">
      {figures.map((one) => (
        <div key={one.label} className="figure">
          <dt>{one.label}</dt>
          <dd>
            <span className="figure-value">
              {one.value}
              {one.unit && <span className="figure-unit"> {one.unit}</span>}
            </span>
            {one.below !== undefined && (
              <span className={`figure-below ${one.tone ? `tone-${one.tone}` : ''}`}>
                {one.tone && <span className="dot" aria-hidden="true" />}
                {one.below}
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

export interface LegendItem {
  label: string
  /** A CSS colour. */
  color: string
  kind?: 'box' | 'line' | 'dashed' | 'dot' | 'outline' | 'hatch'
}

export function Legend({ items }: { items: LegendItem[] }) {
  return (
    <ul className="legend">
      {items.map((item) => (
        <li key={item.label}>
          <span className={`swatch swatch-${item.kind ?? 'box'}`} style={{ color: item.color }} aria-hidden="true" />
          {item.label}
        </li>
      ))}
    </ul>
  )
}
