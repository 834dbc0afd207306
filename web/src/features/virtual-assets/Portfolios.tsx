import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { allPages, ask, type Schemas } from '../../shared/api/client'
import type { VirtualAsset } from '../../shared/api/resources'
import { useMay, useSession } from '../../shared/api/session'
import { megawatts, plural } from '../../shared/format'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { EditForm } from '../../shared/ui/EditForm'
import type { Values } from '../../shared/ui/editing'
import { ProblemNote } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { Link } from '../../shell/router'

type Portfolio = Schemas['PortfolioView']

/** Groups of virtual batteries, planned and reported on together. */
export function Portfolios({ assets }: { assets: VirtualAsset[] }) {
  const organisation = useSession().user.organisationID
  const may = useMay('Update:schedules')
  /** Its id; empty for one to be made. */
  const [edited, setEdited] = useState<string | null>(null)
  const path = `/organisations/${organisation}/portfolios`
  const portfolios = useQuery({
    queryKey: ['portfolios', organisation],
    queryFn: () => allPages<Portfolio>(path),
  })
  const list = portfolios.data ?? []
  if (!may && list.length === 0) return null
  const power = (one: Portfolio) =>
    assets
      .filter((asset) => one.virtualAssetIDs.includes(asset.id))
      .reduce((sum, asset) => sum + asset.ratedDischargePower, 0)
  return (
    <Card
      title="Portfolios"
      note={portfolios.data && plural(list.length, 'group')}
      actions={
        may && (
          <Button isCompact icon="plus" onClick={() => setEdited('')}>
            Portfolio
          </Button>
        )
      }
    >
      {portfolios.isLoadingError && <ProblemNote error={portfolios.error} onRetry={() => void portfolios.refetch()} />}
      {list.length > 0 && (
        <Table
          columns={[
            'Portfolio',
            { label: 'Batteries', isNumber: true },
            { label: 'MW, of those shown', isNumber: true },
            { label: 'Actions', isUnseen: true },
          ]}
        >
          <tbody>
            {list.map((one) => (
              <tr key={one.id}>
                <td>
                  <Link to={`/revenue/portfolios/${one.id}`}>
                    <strong>{one.name}</strong>
                  </Link>
                </td>
                <td className="number">{one.virtualAssetIDs.length}</td>
                <td className="number">{megawatts(power(one))}</td>
                <td className="number">
                  {may && (
                    <Button kind="quiet" isCompact onClick={() => setEdited(one.id)} aria-label={`Edit ${one.name}`}>
                      Edit
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {edited !== null && <Edit path={path} id={edited} assets={assets} onClose={() => setEdited(null)} />}
    </Card>
  )
}

interface EditProps {
  path: string
  id: string
  assets: VirtualAsset[]
  onClose: () => void
}

function Edit({ path: list, id, assets, onClose }: EditProps) {
  const path = id ? `${list}/${id}` : list
  const queries = useQueryClient()
  const read = async () => {
    if (!id) return { values: { name: '', virtualAssetIDs: '' }, etag: '' }
    const response = await ask(path)
    const found = (await response.json()) as Portfolio
    const values = { name: found.name, virtualAssetIDs: [...found.virtualAssetIDs].sort().join(',') }
    return { values, etag: response.headers.get('ETag') ?? '' }
  }
  const save = (values: Values, ifMatch: string) =>
    ask(path, {
      method: id ? 'PATCH' : 'POST',
      ifMatch: ifMatch || undefined,
      body: { name: values.name, virtualAssetIDs: values.virtualAssetIDs ? values.virtualAssetIDs.split(',') : [] },
    })
  return (
    <EditForm
      title={id ? 'Edit the portfolio' : 'New portfolio'}
      subject={id ? path.slice(1) : undefined}
      fields={[
        { key: 'name', label: 'Name' },
        {
          key: 'virtualAssetIDs',
          label: 'Virtual batteries',
          kind: 'checks',
          options: assets.map((asset) => ({ value: asset.id, label: asset.name })),
        },
      ]}
      read={read}
      save={save}
      onClose={onClose}
      onSaved={() => {
        void queries.invalidateQueries({ queryKey: ['portfolios'] })
        void queries.invalidateQueries({ queryKey: ['virtual-assets'] })
        onClose()
      }}
    />
  )
}
