/** Things kept under a name in the reader's browser: taken up again, kept anew, forgotten. */
import { useState } from 'react'
import { useSession } from '../api/session'
import { Button } from './Button'

/** Of one kind, of the reader's organisation. */
export function useKept<T>(kind: string) {
  const key = `gridloom.${kind}.${useSession().user.organisationID}`
  const [kept, setKept] = useState(() => read<T>(key))
  const keep = (name: string, value: T | null) => {
    const next = { ...kept }
    if (value === null) delete next[name]
    else next[name] = value
    localStorage.setItem(key, JSON.stringify(next))
    setKept(next)
  }
  return { kept, keep }
}

function read<T>(key: string): Record<string, T> {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, T> | null) ?? {}
  } catch {
    return {}
  }
}

interface Props {
  /** `Template`, `View` */
  noun: string
  names: readonly string[]
  onTake: (name: string) => void
  onKeep: (name: string) => void
  onForget: (name: string) => void
}

export function Kept({ noun, names, onTake, onKeep, onForget }: Props) {
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState('')
  const choose = (one: string) => {
    setChosen(one)
    if (one) onTake(one)
  }
  return (
    <>
      {names.length > 0 && (
        <select
          className="role-select"
          aria-label={noun}
          value={chosen}
          onChange={(event) => choose(event.target.value)}
        >
          <option value="">{noun}</option>
          {[...names].sort().map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
      {chosen && (
        <Button
          isCompact
          onClick={() => {
            onForget(chosen)
            setChosen('')
          }}
        >
          Forget it
        </Button>
      )}
      <input
        className="role-select kept-name"
        aria-label={`Name of a ${noun.toLowerCase()}`}
        placeholder="Keep as …"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button
        isCompact
        disabled={name.trim() === ''}
        onClick={() => {
          onKeep(name.trim())
          setChosen(name.trim())
          setName('')
        }}
      >
        Keep
      </Button>
    </>
  )
}
