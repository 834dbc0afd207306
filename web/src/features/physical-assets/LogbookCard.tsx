import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answered, api } from '../../shared/api/client'
import { faultAt } from '../../shared/api/problem'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { clock, useMinute } from '../../shared/clock'
import { instant } from '../../shared/time/marketDay'
import { nearTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Field, SelectField } from '../../shared/ui/Field'
import { Sheet } from '../../shared/ui/Sheet'
import { Empty, FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { useZone } from '../../shared/zone'
import { Link } from '../../shell/router'
import { datedAt, type LogbookEntry, titleInWords, useLogbook, withoutIDs } from './data'

const MARKS: Record<LogbookEntry['impact'], { sign: string; tone: string; word: string }> = {
  POSITIVE: { sign: '+', tone: 'good', word: 'good' },
  NEUTRAL: { sign: '·', tone: 'quiet', word: 'neutral' },
  NEGATIVE: { sign: '−', tone: 'danger', word: 'bad' },
}

export function LogbookCard({ asset, most }: { asset: PhysicalAsset; most: number }) {
  const zone = useZone()
  const now = useMinute()
  const entries = useLogbook(asset.id, most)
  const may = useMay('Create:logbook')
  const [isWriting, setIsWriting] = useState(false)
  return (
    <Card
      title="Logbook"
      note={most <= 10 ? <Link to={`/physical-assets/${asset.id}/logbook`}>all of it</Link> : undefined}
      actions={
        may && (
          <Button isCompact icon="plus" onClick={() => setIsWriting(true)}>
            Entry
          </Button>
        )
      }
    >
      <Loaded query={entries} skeleton={<SkeletonRows rows={3} height={32} />}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nothing written yet">
              Unavailabilities, results and adjustments are written by the service; the rest by people.
            </Empty>
          ) : (
            <ul className="logbook">
              {[...list]
                .sort((a, b) => datedAt(b, now) - datedAt(a, now))
                .map((entry) => (
                  <li key={entry.id}>
                    <span className="note logbook-when">{nearTime(datedAt(entry, now), now, zone)}</span>
                    <span className={`logbook-mark badge-${MARKS[entry.impact].tone}`}>
                      <span aria-hidden="true">{MARKS[entry.impact].sign}</span>
                      <span className="visually-hidden">{MARKS[entry.impact].word}</span>
                    </span>
                    <span className="logbook-what">
                      <strong>{titleInWords(entry.title)}</strong> {withoutIDs(entry.description, zone, entry.figures)}
                    </span>
                    <span className="note">{entry.source === 'SYSTEM' ? 'system' : 'person'}</span>
                  </li>
                ))}
            </ul>
          )
        }
      </Loaded>
      {isWriting && <NewEntry asset={asset} onClose={() => setIsWriting(false)} />}
    </Card>
  )
}

function NewEntry({ asset, onClose }: { asset: PhysicalAsset; onClose: () => void }) {
  const queries = useQueryClient()
  const write = useMutation({
    mutationFn: (form: FormData) =>
      answered(
        api.POST('/physical-assets/{physicalAssetID}/logbook', {
          params: { path: { physicalAssetID: asset.id } },
          body: {
            title: String(form.get('title')),
            description: String(form.get('description')),
            type: 'OTHER',
            impact: String(form.get('impact')) as LogbookEntry['impact'],
            start: instant(clock.now()),
          },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['physical-assets', asset.id, 'logbook'] })
      onClose()
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    write.mutate(new FormData(event.currentTarget))
  }
  return (
    <Sheet title="New logbook entry" isOpen onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Title" name="title" required autoFocus fault={faultAt(write.error, '/title')} />
        <Field label="What happened" name="description" fault={faultAt(write.error, '/description')} />
        <SelectField
          label="Impact"
          name="impact"
          defaultValue="NEUTRAL"
          options={[
            { value: 'NEUTRAL', label: 'Neutral' },
            { value: 'POSITIVE', label: 'Positive' },
            { value: 'NEGATIVE', label: 'Negative' },
          ]}
        />
        <p className="note">Entries are never changed; a correction is a new entry.</p>
        <FormProblem error={write.error} />
        <div className="form-foot">
          <Button onClick={onClose}>Back</Button>
          <Button kind="primary" type="submit" isBusy={write.isPending}>
            Write it
          </Button>
        </div>
      </form>
    </Sheet>
  )
}
