import { type ReactNode, useEffect } from 'react'
import { Link } from '../../shell/router'

interface Props {
  title: string
  crumb?: { label: string; to: string }
  facts?: (string | null | undefined | false)[]
  aside?: ReactNode
  children: ReactNode
}

/** A screen: its title, the facts beside it, and what can be done at its right. */
export function Page({ title, crumb, facts = [], aside, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Gridloom`
  }, [title])
  const shown = facts.filter((fact): fact is string => Boolean(fact))
  return (
    <div className="page">
      <header className="page-head">
        <div>
          {crumb && (
            <nav className="crumb" aria-label="Breadcrumb">
              <Link to={crumb.to}>{crumb.label}</Link>
              <span aria-hidden="true"> /</span>
            </nav>
          )}
          <div className="page-title">
            <h1>{title}</h1>
            {shown.length > 0 && (
              <ul className="facts">
                {shown.map((fact) => (
                  <li key={fact}>{fact}</li>
                ))}
              </ul>
            )}
          </div>
        </div>
        {aside && <div className="page-aside">{aside}</div>}
      </header>
      {children}
    </div>
  )
}
