import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react'

interface Around {
  label: ReactNode
  hint?: ReactNode
  fault?: string | undefined
  suffix?: ReactNode
}

export function Field({ label, hint, fault, suffix, ...input }: Around & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  const note = fault ?? hint
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className={`input ${fault ? 'is-wrong' : ''}`}>
        <input
          id={id}
          {...input}
          aria-invalid={fault ? true : undefined}
          aria-describedby={note ? `${id}-note` : undefined}
        />
        {suffix && <span className="suffix">{suffix}</span>}
      </div>
      {note && (
        <p id={`${id}-note`} className={fault ? 'field-fault' : 'note'}>
          {note}
        </p>
      )}
    </div>
  )
}

export function SelectField({
  label,
  hint,
  fault,
  options,
  ...select
}: Around & SelectHTMLAttributes<HTMLSelectElement> & { options: readonly { value: string; label: string }[] }) {
  const id = useId()
  const note = fault ?? hint
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className={`input ${fault ? 'is-wrong' : ''}`}>
        <select id={id} {...select} aria-describedby={note ? `${id}-note` : undefined}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      </div>
      {note && (
        <p id={`${id}-note`} className={fault ? 'field-fault' : 'note'}>
          {note}
        </p>
      )}
    </div>
  )
}

export function Checkbox({ label, ...input }: { label: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className="checkbox">
      <input type="checkbox" {...input} />
      <span>{label}</span>
    </label>
  )
}
