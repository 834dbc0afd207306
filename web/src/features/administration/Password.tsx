import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import { ask } from '../../shared/api/client'
import { faultAt } from '../../shared/api/problem'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Field } from '../../shared/ui/Field'
import { FormProblem } from '../../shared/ui/states'

/** One's own password; every other session of this person ends with the old one. */
export function Password() {
  const form = useRef<HTMLFormElement>(null)
  const change = useMutation({
    mutationFn: (body: { currentPassword: string; newPassword: string }) =>
      ask('/auth/password', { method: 'POST', body }),
    onSuccess: () => form.current?.reset(),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const entered = new FormData(event.currentTarget)
    change.mutate({ currentPassword: String(entered.get('current')), newPassword: String(entered.get('new')) })
  }
  return (
    <Card title="Password" className="narrow-card">
      <form ref={form} className="card-body form" onSubmit={submit}>
        <Field
          label="Current password"
          name="current"
          type="password"
          autoComplete="current-password"
          required
          fault={faultAt(change.error, '/currentPassword')}
        />
        <Field
          label="New password"
          name="new"
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          hint="At least 12 characters, and not a well-known one"
          fault={faultAt(change.error, '/newPassword')}
        />
        <FormProblem error={change.error} />
        {change.isSuccess && (
          <p className="tone-good" role="status">
            Changed. Your other sessions have ended.
          </p>
        )}
        <div className="form-foot">
          <Button kind="primary" type="submit" isBusy={change.isPending}>
            Change it
          </Button>
        </div>
      </form>
    </Card>
  )
}
