import { useState } from 'react'
import { decimal } from '../../shared/format'
import type { Day, Span } from '../../shared/time/marketDay'
import { weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Table } from '../../shared/ui/Table'
import { type Bucket, dayOfBucket, download, PRODUCTS, type Product, pointsPath, type Subject, TOTAL } from './data'

const MOST_ROWS = 31

interface DaysProps {
  buckets: Bucket[]
  products: readonly Product[]
  subject: Subject
  span: Span
  chosen: Day
  onChoose: (day: Day) => void
}

/** Day by day in figures, the newest first, and all of it to take along. */
export function Days({ buckets, products, subject, span, chosen, onChoose }: DaysProps) {
  const path = pointsPath(subject, span, '15-minute', [TOTAL, ...PRODUCTS.map((product) => product.key)])
  const [isWhole, setIsWhole] = useState(false)
  const newest = [...buckets].reverse()
  const rows = isWhole ? newest : newest.slice(0, MOST_ROWS)
  const columns = [...products].reverse()
  const sum = (pick: (bucket: Bucket) => number) => buckets.reduce((total, one) => total + pick(one), 0)
  return (
    <Card
      title="Days"
      note={`${buckets.length}, newest first`}
      actions={
        <>
          <Button isCompact icon="download" onClick={() => void download(path, 'text/csv', 'revenue.csv')}>
            CSV
          </Button>
          <Button
            isCompact
            icon="download"
            onClick={() => void download(path, 'application/vnd.apache.parquet', 'revenue.parquet')}
          >
            Parquet
          </Button>
        </>
      }
    >
      <Table
        className="days"
        columns={[
          'Day',
          ...columns.map(({ label }) => ({ label, isNumber: true })),
          { label: 'Total, EUR', isNumber: true },
          { label: 'EUR/MW', isNumber: true },
        ]}
      >
        <tbody>
          {rows.map((bucket) => {
            const day = dayOfBucket(bucket)
            return (
              <tr key={bucket.time} className={day === chosen ? 'is-selected' : ''}>
                <td>
                  <button type="button" className="day-link" onClick={() => onChoose(day)}>
                    {weekday(bucket.time, 'Europe/Berlin')}
                  </button>
                </td>
                {columns.map((product) => {
                  const amount = decimal(bucket.parts[product.key] ?? 0, 2)
                  return (
                    <td key={product.key} className={amount === '0.00' ? 'number note' : 'number'}>
                      {amount}
                    </td>
                  )
                })}
                <td className="number">
                  <strong>{decimal(bucket.total, 2)}</strong>
                </td>
                <td className="number">{decimal(bucket.perMw, 2)}</td>
              </tr>
            )
          })}
        </tbody>
        <tfoot>
          <tr className="days-sum">
            <th scope="row">{buckets.length} days</th>
            {columns.map((product) => (
              <td key={product.key} className="number">
                {decimal(
                  sum((bucket) => bucket.parts[product.key] ?? 0),
                  2,
                )}
              </td>
            ))}
            <td className="number">
              {decimal(
                sum((bucket) => bucket.total),
                2,
              )}
            </td>
            <td className="number">
              {decimal(
                sum((bucket) => bucket.perMw),
                2,
              )}
            </td>
          </tr>
        </tfoot>
      </Table>
      {rows.length < buckets.length && (
        <p className="card-body">
          <Button isCompact onClick={() => setIsWhole(true)}>
            Show all {buckets.length} days
          </Button>
        </p>
      )}
    </Card>
  )
}
