/** What the gates earned, market by market, with what nets between them. */
import { decimal } from '../../shared/format'
import { Card } from '../../shared/ui/Card'
import { Empty } from '../../shared/ui/states'
import { Table } from '../../shared/ui/Table'
import { nettingOf, type StageSums, volumesOf } from './data'
import { stageInWords } from './words'

export function Earned({ stages }: { stages: readonly StageSums[] }) {
  const shown = stages.filter((one) => Math.abs(one.earned) >= 0.005 || one.traded.bought + one.traded.sold > 0)
  return (
    <Card title="Earned" note="sales less purchases and awards, EUR, without fees">
      {shown.length === 0 ? (
        <Empty title="Nothing yet">What a gate earned stands here once it has its result.</Empty>
      ) : (
        <Table
          columns={[
            'Market',
            { label: 'Buys', isNumber: true },
            { label: 'Sells', isNumber: true },
            { label: 'Earned', isNumber: true },
          ]}
        >
          <tbody>
            {shown.map((one) => (
              <tr key={one.stage}>
                <td>{stageInWords(one.stage)}</td>
                <td className="number">{decimal(one.traded.bought, 1)}</td>
                <td className="number">{decimal(one.traded.sold, 1)}</td>
                <td className="number">{decimal(one.earned, 2)}</td>
              </tr>
            ))}
          </tbody>
          <EarnedFoot shown={shown} stands={stages.at(-1)?.position ?? []} />
        </Table>
      )}
    </Card>
  )
}

function EarnedFoot({ shown, stands }: { shown: readonly StageSums[]; stands: readonly number[] }) {
  const gross = {
    bought: shown.reduce((sum, one) => sum + one.traded.bought, 0),
    sold: shown.reduce((sum, one) => sum + one.traded.sold, 0),
  }
  const net = volumesOf(stands)
  const nets = nettingOf(gross, net)
  return (
    <tfoot>
      {nets >= 0.05 && (
        <tr>
          <th scope="row">Nets between them</th>
          <td className="number">−{decimal(nets, 1)}</td>
          <td className="number">−{decimal(nets, 1)}</td>
          <td />
        </tr>
      )}
      <tr className="matrix-total">
        <th scope="row">Stands</th>
        <td className="number">{decimal(net.bought, 1)}</td>
        <td className="number">{decimal(net.sold, 1)}</td>
        <td className="number">
          <strong>
            {decimal(
              shown.reduce((sum, one) => sum + one.earned, 0),
              2,
            )}
          </strong>
        </td>
      </tr>
    </tfoot>
  )
}
