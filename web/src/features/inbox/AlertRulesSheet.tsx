import { useState } from 'react'
import { plainNumber, readQuantity } from '../../shared/quantity'
import { Button } from '../../shared/ui/Button'
import { Checkbox, Field } from '../../shared/ui/Field'
import { Sheet } from '../../shared/ui/Sheet'
import { KINDS, type Kind, useAlertRules } from './rules'

/** Which kinds of messages the reader wants, and from what size. */
export function AlertRulesSheet({ onClose }: { onClose: () => void }) {
  const [rules, change] = useAlertRules()
  const [off, setOff] = useState<ReadonlySet<Kind>>(new Set(rules.off))
  const [text, setText] = useState(plainNumber(rules.leastMwh))
  const least = readQuantity(text, 'MWh', { least: 0 })
  const toggle = (kind: Kind) => {
    const next = new Set(off)
    if (!next.delete(kind)) next.add(kind)
    setOff(next)
  }
  return (
    <Sheet title="What you are told" isOpen onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (least.value === null) return
          change({ off: [...off], leastMwh: least.value })
          onClose()
        }}
      >
        <fieldset className="checks">
          <legend>Kinds</legend>
          {(Object.keys(KINDS) as Kind[]).map((kind) => (
            <Checkbox key={kind} label={KINDS[kind]} checked={!off.has(kind)} onChange={() => toggle(kind)} />
          ))}
        </fieldset>
        <Field
          label="Cuts and deviations from"
          suffix="MWh"
          inputMode="decimal"
          value={text}
          onChange={(event) => setText(event.target.value)}
          fault={least.fault ?? undefined}
        />
        <p className="note">
          Yours alone, in this browser. What is left out here still happens, and stands on its screen.
        </p>
        <div className="form-foot">
          <Button onClick={onClose}>Back</Button>
          <Button kind="primary" type="submit" disabled={least.value === null}>
            Save
          </Button>
        </div>
      </form>
    </Sheet>
  )
}
