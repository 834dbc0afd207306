import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ask, askAll, askJson, type Schemas } from '../../shared/api/client'
import { isConflict, Refused } from '../../shared/api/problem'
import type { PhysicalAsset } from '../../shared/api/resources'
import { useMay } from '../../shared/api/session'
import { useMinute } from '../../shared/clock'
import { permissionInWords } from '../../shared/permissions'
import { addDays, dayOf, spanOf } from '../../shared/time/marketDay'
import { weekdayTime } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Confirmation } from '../../shared/ui/Confirmation'
import { Copy } from '../../shared/ui/Copy'
import { Checkbox, Field, SelectField } from '../../shared/ui/Field'
import { say } from '../../shared/ui/Said'
import { Empty, FormProblem, Loaded, SkeletonRows } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { useZone } from '../../shared/zone'
import { useCommitments } from './data'
import { type Ticked, ticksOf, toggled } from './granting'

type Grant = Schemas['Grant'] & { etag: string }
const OTHER = ''
const NOTHING: Ticked = new Map()

export const GRANTABLE = [
  'Read:physical-assets',
  'Read:schedules',
  'Read:monitoring',
  'Read:revenue',
  'Update:physical-assets',
  'Update:schedules',
  'Create:ancillary-bids',
  'Create:ancillary-results',
  'Create:unavailabilities',
  'Create:logbook',
  'Create:exchange-notifications',
  'Create:monitoring',
]

/** What other organisations may do with this battery. */
export function Grants({ asset }: { asset: PhysicalAsset }) {
  const zone = useZone()
  const mayManage = useMay('Manage:organisation')
  const queries = useQueryClient()
  const [ending, setEnding] = useState<Grant | null>(null)
  const grants = useQuery({
    queryKey: ['physical-assets', asset.id, 'grants'],
    queryFn: () => readGrants(asset.id),
  })
  const end = useMutation({
    mutationFn: (grant: Grant) =>
      ask(grantPath(asset.id, grant.organisationID), { method: 'DELETE', ifMatch: grant.etag }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['physical-assets', asset.id, 'grants'] }),
  })
  return (
    <>
      <Card title="Grants" note="what other organisations may do with this battery">
        {isConflict(end.error) ? <ChangedMeanwhile /> : <FormProblem error={end.error} />}
        {ending && (
          <Confirmation
            title={`Take back what ${ending.organisationName} may do?`}
            action="Take back"
            isBusy={end.isPending}
            onCancel={() => setEnding(null)}
            onConfirm={() => {
              setEnding(null)
              end.mutate(ending)
            }}
          >
            It loses at once: {ending.permissions.map(permissionInWords).join('; ')}.
          </Confirmation>
        )}
        <Loaded query={grants} skeleton={<SkeletonRows rows={3} />}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No other organisation has access">
                Give an organisation, such as the operator, what it needs below.
              </Empty>
            ) : (
              <Table
                columns={[
                  'Organisation',
                  'May',
                  { label: 'Since', isWide: true },
                  { label: 'Actions', isUnseen: true },
                ]}
              >
                <tbody>
                  {list.map((grant) => (
                    <tr key={grant.organisationID}>
                      <td>
                        <strong>{grant.organisationName}</strong>{' '}
                        <Copy text={grant.organisationID} what={grant.organisationName} />
                      </td>
                      <td className="grant-permissions">{grant.permissions.map(permissionInWords).join('; ')}</td>
                      <td className="when wide-cell">{weekdayTime(Date.parse(grant.updatedAt), zone)}</td>
                      <td className="number">
                        {mayManage && (
                          <Button kind="danger" isCompact isBusy={end.isPending} onClick={() => setEnding(grant)}>
                            Take back
                          </Button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </Table>
            )
          }
        </Loaded>
      </Card>
      {/* What is given replaces what was: before that is read, nothing can be ticked. */}
      {mayManage && grants.data && <NewGrant asset={asset} grants={grants.data} />}
    </>
  )
}

const grantPath = (asset: string, organisation: string) =>
  `/physical-assets/${asset}/grants/${encodeURIComponent(organisation)}`

/** Each with the version that a change of it names. */
async function readGrants(asset: string): Promise<Grant[]> {
  const list = await askJson<Schemas['Grant'][]>(`/physical-assets/${asset}/grants`)
  const read = await askAll(list.map((one) => grantPath(asset, one.organisationID)))
  return read.flatMap(({ status, body, etag }) =>
    status < 300 ? [{ ...(body as Schemas['Grant']), etag: etag ?? '' }] : [],
  )
}

/** Over the version that is named; where there was none, only while there still is none. */
async function putGrant(asset: string, organisation: string, permissions: string[], ifMatch: string | undefined) {
  const path = grantPath(asset, organisation)
  const [now] = ifMatch ? [] : await askAll([path])
  if (now && now.status < 300)
    throw new Refused({ type: 'about:blank', title: 'The resource has changed', status: 412 })
  return ask(path, { method: 'PUT', body: { permissions }, ...(ifMatch ? { ifMatch } : {}) })
}

function ChangedMeanwhile() {
  return (
    <p className="form-problem" role="alert">
      Another administrator changed this grant meanwhile; the list shows it as it is now. Nothing of yours was saved,
      and what you ticked is kept: the same button saves it over theirs.
    </p>
  )
}

/** An organisation that is known by name, or another by its ID; what it has already is ticked. */
function NewGrant({ asset, grants }: { asset: PhysicalAsset; grants: Grant[] }) {
  const queries = useQueryClient()
  const known = useKnownOrganisations(asset, grants)
  const [picked, setPicked] = useState(OTHER)
  const [typed, setTyped] = useState('')
  const [ticked, setTicked] = useState<Ticked>(NOTHING)
  /** The version on which an organisation's first tick was made; undefined where it had no grant. */
  const [bases, setBases] = useState<ReadonlyMap<string, string | undefined>>(new Map())
  const organisation = picked === OTHER ? typed.trim() : picked
  const chosen = ticksOf(grants, ticked, organisation)
  const stored = grants.find((one) => one.organisationID === organisation.toLowerCase())?.etag
  const give = useMutation({
    mutationFn: () =>
      putGrant(asset.id, organisation, [...chosen], bases.has(organisation) ? bases.get(organisation) : stored),
    onSuccess: () => {
      say('Saved.')
      setTicked(NOTHING)
    },
    // What was ticked stays, and is given over the version that the list shows next.
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ['physical-assets', asset.id, 'grants'] })
      setBases(new Map())
    },
  })
  const tick = (permission: string) => {
    if (!bases.has(organisation)) setBases(new Map([...bases, [organisation, stored]]))
    setTicked(toggled(grants, ticked, organisation, permission))
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    give.mutate()
  }
  return (
    <Card title="Give or change a grant">
      <form className="card-body form" onSubmit={submit}>
        <SelectField
          label="Organisation"
          value={picked}
          onChange={(event) => setPicked(event.target.value)}
          options={[
            ...known.map(([id, name]) => ({ value: id, label: name })),
            { value: OTHER, label: 'Another, by its ID' },
          ]}
        />
        {picked === OTHER && (
          <Field
            label="Its ID"
            required
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            hint="An organisation copies its ID under Administration."
          />
        )}
        <fieldset className="plain-fieldset permission-grid">
          <legend className="note">May</legend>
          {GRANTABLE.map((permission) => (
            <Checkbox
              key={permission}
              label={permissionInWords(permission)}
              checked={chosen.has(permission)}
              onChange={() => tick(permission)}
            />
          ))}
        </fieldset>
        {isConflict(give.error) ? <ChangedMeanwhile /> : <FormProblem error={give.error} />}
        <div className="form-foot">
          <Button kind="primary" type="submit" isBusy={give.isPending} disabled={chosen.size === 0}>
            Give
          </Button>
        </div>
      </form>
    </Card>
  )
}

/** Those that have a grant already or hold a part of the battery, by name. */
function useKnownOrganisations(asset: PhysicalAsset, grants: Grant[]): [string, string][] {
  const today = dayOf(useMinute())
  const commitments = useCommitments(asset.id, { start: spanOf(today).start, end: spanOf(addDays(today, 7)).start })
  const names = new Map(grants.map((grant) => [grant.organisationID, grant.organisationName]))
  for (const one of commitments.data?.commitments ?? [])
    for (const { organisationID, organisationName } of one.holders ?? [])
      if (organisationID && organisationName) names.set(organisationID, organisationName)
  names.delete(asset.organisationID)
  return [...names].sort(([, a], [, b]) => a.localeCompare(b))
}
