/** Tables of bids kept under a name, in the browser of each organisation's reader. */
import { useState } from 'react'
import { useSession } from '../../shared/api/session'

export interface Template {
  texts: Record<string, string>
  energies: Record<string, string>
}

export function useTemplates() {
  const key = `gridloom.reserve-templates.${useSession().user.organisationID}`
  const [templates, setTemplates] = useState(() => read(key))
  const keep = (name: string, template: Template | null) => {
    const next = { ...templates }
    if (template) next[name] = template
    else delete next[name]
    localStorage.setItem(key, JSON.stringify(next))
    setTemplates(next)
  }
  return { templates, keep }
}

function read(key: string): Record<string, Template> {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, Template> | null) ?? {}
  } catch {
    return {}
  }
}
