/** A form for what several people may change: it names the version it began with, and lists fields that both changed. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { useAuthor } from '../api/names'
import { faultAt, isConflict } from '../api/problem'
import type { Limits } from '../quantity'
import { useOpeningZone } from '../zone'
import { Button } from './Button'
import { ChangedNotice } from './ChangedNotice'
import { type ColleagueChange, type Stored, useColleagueChange } from './colleagues'
import { differencesOf, mergedValues, type Side, startingSide, unreadable, type Values } from './editing'
import { Checkbox, Field, SelectField } from './Field'
import { say } from './Said'
import { Segmented } from './Segmented'
import { Sheet } from './Sheet'
import { FormProblem, ProblemNote, SkeletonRows } from './states'

export interface EditField {
  key: string
  label: string
  unit?: string
  hint?: string
  kind?: 'text' | 'number' | 'moment' | 'select' | 'checks'
  options?: readonly { value: string; label: string }[]
  /** In the body of a request, where the service points at faults. */
  pointer?: string
  /** How many of the service's units one of the field's is. */
  factor?: number
  /** Of a number, in the field's unit. */
  limits?: Limits
}

interface Props {
  title: string
  fields: readonly EditField[]
  /** What is stored, with its ETag. */
  read: () => Promise<Stored>
  save: (values: Values, etag: string) => Promise<unknown>
  /** Of the events about it; none for what is not stored yet. */
  subject?: string
  onClose: () => void
  onSaved: () => void
  action?: string
}

export function EditForm({ title, read, onClose, ...rest }: Props) {
  // What editing begins with: read once, and not anew behind the reader's back.
  const [session] = useState(() => crypto.randomUUID())
  const stored = useQuery({
    queryKey: ['editing', session],
    queryFn: read,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  return (
    <Sheet title={title} isOpen onClose={onClose}>
      {stored.isError && <ProblemNote error={stored.error} onRetry={() => void stored.refetch()} />}
      {stored.isLoading && <SkeletonRows rows={rest.fields.length} />}
      {stored.data && <Fields {...rest} base={stored.data} read={read} onClose={onClose} />}
    </Sheet>
  )
}

function Fields({
  base: first,
  fields,
  read,
  save,
  subject,
  onClose,
  onSaved,
  action = 'Save',
}: Omit<Props, 'title'> & { base: Stored }) {
  const [base, setBase] = useState(first)
  const [mine, setMine] = useState(first.values)
  const [theirs, setTheirs] = useState<Stored | null>(null)
  const [chosen, setChosen] = useState<Record<string, Side>>({})
  const keys = fields.map(({ key }) => key)
  const differing = theirs ? differencesOf(keys, base.values, mine, theirs.values) : []
  const sides = new Map(differing.map((one) => [one.key, chosen[one.key] ?? startingSide(one)]))
  const isUndecided = [...sides.values()].includes(null)
  const result = theirs ? mergedValues(theirs.values, mine, sides) : mine
  const isChanged = keys.some((key) => result[key] !== (theirs ?? base).values[key])
  const [change, forgetChange] = useColleagueChange(subject, read, (theirs ?? base).etag)
  const compareWith = (stored: Stored) => {
    if (theirs) setBase(theirs)
    setMine(result)
    setChosen({})
    setTheirs(stored)
    forgetChange()
  }
  const send = useMutation({
    mutationFn: async () => {
      if (isChanged) await save(result, (theirs ?? base).etag)
    },
    onSuccess: () => {
      if (isChanged) say('Saved.')
      onSaved()
    },
    onError: async (error) => {
      if (!isConflict(error)) return
      compareWith(await read())
    },
  })
  const isUntouched = !theirs && keys.every((key) => mine[key] === base.values[key])
  const [takenOver, setTakenOver] = useState<ColleagueChange | null>(null)
  useEffect(() => {
    // Nothing was typed yet: editing begins with what is stored now.
    if (!change || !isUntouched || send.isPending) return
    setBase(change.stored)
    setMine(change.stored.values)
    setTakenOver(change)
  }, [change, isUntouched, send.isPending])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isUndecided && isReadable) send.mutate()
  }
  const set = (key: string) => (value: string) => setMine((old) => ({ ...old, [key]: value }))
  const zone = useOpeningZone()
  const textFault = ({ key, kind = 'text', unit, limits }: EditField) =>
    result[key] === (theirs ?? base).values[key] ? undefined : unreadable(kind, result[key] ?? '', unit, zone, limits)
  const isReadable = !fields.some(textFault)
  const faultOf = ({ key, pointer = `/${key}`, factor, unit = '' }: EditField) =>
    faultAt(send.error, pointer, factor === undefined ? undefined : { factor, unit: unit.split(' ')[0] ?? '' })
  const faulty = theirs ? [] : fields.filter((field) => faultOf(field))
  return (
    <form className="form" onSubmit={submit}>
      {theirs && (
        <section className="edit-conflict" aria-label="Changed meanwhile">
          <p role="alert">
            <strong>Another version was saved while you were editing.</strong> Nothing is lost or overwritten: choose
            for each field, then save.
          </p>
          {differing.length === 0 && <p className="note">It touches no field of yours.</p>}
          <dl>
            {differing.map((one) => {
              const field = fields.find(({ key }) => key === one.key)
              return (
                <div key={one.key}>
                  <dt>{field?.label}</dt>
                  <dd>
                    <span className="note">before {shown(field, base.values[one.key])}</span>
                    <span>
                      mine <strong>{shown(field, mine[one.key])}</strong>, theirs{' '}
                      <strong>{shown(field, theirs.values[one.key])}</strong>
                    </span>
                    <Segmented
                      label={field?.label ?? one.key}
                      options={SIDES}
                      value={sides.get(one.key) ?? ''}
                      onChange={(side) => side !== '' && setChosen((old) => ({ ...old, [one.key]: side }))}
                    />
                  </dd>
                </div>
              )
            })}
          </dl>
        </section>
      )}
      {!theirs &&
        fields.map((field) => (
          <Input
            key={field.key}
            field={field}
            value={mine[field.key] ?? ''}
            fault={textFault(field) ?? faultOf(field)}
            onChange={set(field.key)}
          />
        ))}
      {!isConflict(send.error) && faulty.length === 0 && <FormProblem error={send.error} />}
      {faulty.length > 0 && (
        <div className="form-problem" role="alert">
          Not saved. {faulty.map((field) => `${field.label}: ${faultOf(field)?.replace(/\.$/, '')}`).join('; ')}.
        </div>
      )}
      <div className="form-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="primary"
          type="submit"
          isBusy={send.isPending}
          disabled={isUndecided || !isReadable || (!theirs && !isChanged)}
        >
          {theirs && !isChanged && !isUndecided ? 'Keep theirs' : action}
        </Button>
      </div>
      {/* Behind the buttons: what a colleague does moves none of them under a hand. */}
      {change && !isUntouched && !send.isPending && (
        <ChangeNote
          change={change}
          fields={fields}
          before={theirs ?? base}
          onCompare={() => compareWith(change.stored)}
        />
      )}
      {takenOver && !change && !theirs && <ChangeNote change={takenOver} fields={fields} />}
    </form>
  )
}

interface ChangeNoteProps {
  change: ColleagueChange
  fields: readonly EditField[]
  /** What the form knows; left out where it took the change over. */
  before?: Stored
  onCompare?: () => void
}

function ChangeNote({ change, fields, before, onCompare }: ChangeNoteProps) {
  const author = useAuthor(change.authorID)
  const changed = before ? fields.filter(({ key }) => change.stored.values[key] !== before.values[key]) : []
  const what = changed.map(({ label }) => label).join(', ')
  return (
    <ChangedNotice author={author} did={`changed ${what || 'this'}`} at={change.at} onCompare={onCompare}>
      {before ? 'Your changes are kept.' : 'The form shows it.'}
    </ChangedNotice>
  )
}

const SIDES: readonly { value: Side | ''; label: string }[] = [
  { value: 'mine', label: 'Keep mine' },
  { value: 'theirs', label: 'Take theirs' },
]

function shown(field: EditField | undefined, value: string | undefined): string {
  if (!value) return 'none'
  if (field?.kind === 'checks') {
    const labels = value.split(',').map((one) => field.options?.find((option) => option.value === one)?.label ?? one)
    return labels.join(', ')
  }
  const label = field?.options?.find((option) => option.value === value)?.label ?? value
  return field?.unit ? `${label} ${field.unit}` : label
}

interface InputProps {
  field: EditField
  value: string
  fault: string | undefined
  onChange: (value: string) => void
}

function Input({ field, value, fault, onChange }: InputProps) {
  const { kind = 'text', label, hint, unit, options = [] } = field
  if (kind === 'select')
    return (
      <SelectField
        label={label}
        hint={hint}
        fault={fault}
        options={options}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  if (kind === 'checks') {
    const picked = new Set(value ? value.split(',') : [])
    const toggle = (id: string) => {
      const next = new Set(picked)
      if (!next.delete(id)) next.add(id)
      onChange([...next].sort().join(','))
    }
    return (
      <fieldset className="checks">
        <legend>{label}</legend>
        {options.map((option) => (
          <Checkbox
            key={option.value}
            label={option.label}
            checked={picked.has(option.value)}
            onChange={() => toggle(option.value)}
          />
        ))}
        {fault && <p className="field-fault">{fault}</p>}
      </fieldset>
    )
  }
  return (
    <Field
      label={label}
      hint={hint}
      fault={fault}
      suffix={unit}
      placeholder={kind === 'moment' ? '2026-11-17 08:00' : undefined}
      inputMode={kind === 'number' ? 'decimal' : undefined}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
