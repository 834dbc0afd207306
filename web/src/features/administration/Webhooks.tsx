import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask, askJson, type Schemas } from '../../shared/api/client'
import { EVENT_TYPES } from '../../shared/api/live'
import { faultAt } from '../../shared/api/problem'
import { plural } from '../../shared/format'
import { timeMs, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Badge, Card } from '../../shared/ui/Card'
import { Checkbox, Field } from '../../shared/ui/Field'
import { Sheet } from '../../shared/ui/Sheet'
import { Empty, FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { type Delivery, useDeliveries, useWebhooks, type Webhook } from './data'
import { Shown } from './Shown'

/** Addresses that are called for each event, and the log of those calls. */
export function Webhooks() {
  const webhooks = useWebhooks()
  const [isMaking, setIsMaking] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const shown = webhooks.data?.find((one) => one.id === chosen) ?? webhooks.data?.[0]
  return (
    <>
      <Card
        title="Webhooks"
        actions={
          <Button isCompact icon="plus" onClick={() => setIsMaking(true)}>
            Webhook
          </Button>
        }
      >
        <Loaded query={webhooks} skeleton={<SkeletonRows rows={3} />}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No webhook yet" action={<Button onClick={() => setIsMaking(true)}>Set one up</Button>}>
                An address of yours is called for each event, signed, and again for three days until it answers.
              </Empty>
            ) : (
              <Table columns={['Address', 'Events', 'State', { label: 'Actions', isUnseen: true }]}>
                <tbody>
                  {list.map((one) => (
                    <Row
                      key={one.id}
                      webhook={one}
                      isChosen={one.id === shown?.id}
                      onChoose={() => setChosen(one.id)}
                    />
                  ))}
                </tbody>
              </Table>
            )
          }
        </Loaded>
      </Card>
      {shown && <Deliveries webhook={shown} />}
      {isMaking && <NewWebhook onClose={() => setIsMaking(false)} />}
    </>
  )
}

function Row({ webhook, isChosen, onChoose }: { webhook: Webhook; isChosen: boolean; onChoose: () => void }) {
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['administration', 'webhooks'] })
  const toggle = useMutation({
    mutationFn: () => ask(`/webhooks/${webhook.id}`, { method: 'PATCH', body: { enabled: !webhook.enabled } }),
    onSettled: refresh,
  })
  const [isAsked, setIsAsked] = useState(false)
  const remove = useMutation({
    mutationFn: () => ask(`/webhooks/${webhook.id}`, { method: 'DELETE' }),
    onSettled: refresh,
  })
  return (
    <tr className={isChosen ? 'is-selected' : ''}>
      <td>
        <strong className="code">{webhook.url}</strong>
        {webhook.description && <p className="note">{webhook.description}</p>}
        {webhook.format === 'CLOUDEVENTS' && <p className="note">CloudEvents</p>}
      </td>
      <td>{webhook.types.length === 0 ? 'all' : webhook.types.join(', ')}</td>
      <td>
        <Badge tone={webhook.enabled ? 'good' : 'warning'}>{webhook.enabled ? 'on' : 'off'}</Badge>
        {webhook.disabledBecause && <p className="note">{webhook.disabledBecause}</p>}
      </td>
      <td className="number">
        <span className="ask-row">
          <FormProblem error={toggle.error ?? remove.error} />
          <Button isCompact onClick={onChoose} aria-label={`Deliveries to ${webhook.url}`}>
            Deliveries
          </Button>
          <Button isCompact isBusy={toggle.isPending} onClick={() => toggle.mutate()}>
            {webhook.enabled ? 'Switch off' : 'Switch on'}
          </Button>
          <Button
            kind="danger"
            isCompact
            isBusy={remove.isPending}
            onClick={() => (isAsked ? remove.mutate() : setIsAsked(true))}
            {...(isAsked ? {} : { 'aria-label': `Remove ${webhook.url}` })}
          >
            {isAsked ? 'Remove it for good' : 'Remove'}
          </Button>
        </span>
      </td>
    </tr>
  )
}

function Deliveries({ webhook }: { webhook: Webhook }) {
  const zone = useZone()
  const deliveries = useDeliveries(webhook.id)
  const queries = useQueryClient()
  const replay = useMutation({
    mutationFn: (delivery: Delivery) =>
      ask(`/webhooks/${webhook.id}/deliveries/${delivery.id}/replay`, { method: 'POST' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'webhooks', webhook.id] }),
  })
  return (
    <Card title="Deliveries" note={`to ${webhook.url}, newest first`}>
      <FormProblem error={replay.error} />
      <Loaded query={deliveries} skeleton={<SkeletonRows rows={4} />}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nothing delivered yet">The next event of these types is sent at once.</Empty>
          ) : (
            <Table columns={['Event', 'When', 'State', 'Attempts', { label: 'Actions', isUnseen: true }]}>
              <tbody>
                {list.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <strong>{one.type}</strong> <span className="note">{one.sequence}</span>
                    </td>
                    <td>
                      {weekday(Date.parse(one.createdAt), zone)} {timeMs(Date.parse(one.createdAt), zone)}
                    </td>
                    <td>
                      <Badge tone={one.state === 'DELIVERED' ? 'good' : one.state === 'FAILED' ? 'danger' : 'warning'}>
                        {one.state.toLowerCase()}
                      </Badge>
                    </td>
                    <td>{plural(one.attempts.length, 'attempt')}</td>
                    <td className="number">
                      <Button
                        isCompact
                        isBusy={replay.isPending}
                        onClick={() => replay.mutate(one)}
                        aria-label={`Send ${one.type} ${one.sequence} again`}
                      >
                        Send again
                      </Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}

function NewWebhook({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [types, setTypes] = useState<ReadonlySet<string>>(new Set())
  const [isCloudEvents, setCloudEvents] = useState(false)
  const make = useMutation({
    mutationFn: (body: Schemas['NewWebhook']) =>
      askJson<Schemas['WebhookWithSecret']>('/webhooks', { method: 'POST', body }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'webhooks'] }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    make.mutate({
      url: String(form.get('url')),
      types: [...types],
      description: String(form.get('description')) || null,
      format: isCloudEvents ? 'CLOUDEVENTS' : 'GRIDLOOM',
    })
  }
  const toggle = (type: string) => {
    const next = new Set(types)
    if (!next.delete(type)) next.add(type)
    setTypes(next)
  }
  return (
    <Sheet title="New webhook" isOpen onClose={onClose} width={520}>
      {make.data ? (
        <div className="form">
          <Shown
            title="Its signing secret"
            secret={make.data.secret}
            note="Shown once. Check each call’s signature with it (Standard Webhooks)."
          />
          <div className="form-foot">
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <form className="form" onSubmit={submit}>
          <Field
            label="Address"
            name="url"
            type="url"
            required
            placeholder="https://…"
            fault={faultAt(make.error, '/url')}
          />
          <Field label="Description" name="description" />
          <Checkbox
            label="As CloudEvents 1.0.2"
            checked={isCloudEvents}
            onChange={() => setCloudEvents(!isCloudEvents)}
          />
          <fieldset className="plain-fieldset permission-grid">
            <legend className="note">Events; none chosen means all</legend>
            {EVENT_TYPES.map((type) => (
              <Checkbox key={type} label={type} checked={types.has(type)} onChange={() => toggle(type)} />
            ))}
          </fieldset>
          <FormProblem error={make.error} />
          <div className="form-foot">
            <Button onClick={onClose}>Back</Button>
            <Button kind="primary" type="submit" isBusy={make.isPending}>
              Set it up
            </Button>
          </div>
        </form>
      )}
    </Sheet>
  )
}
