/** The table of bids: products down, blocks across, each a field for price steps. */
import type { KeyboardEvent } from 'react'
import { decimal, percent } from '../../shared/format'
import { Badge, Card } from '../../shared/ui/Card'
import { Kept } from '../../shared/ui/Kept'
import { TableScroll } from '../../shared/ui/TableScroll'
import type { Bid, SubjectDay } from './data'
import { type Cell, type Draft, type Over, offersOf, roomOf } from './draft'
import type { Target } from './placing'
import { BLOCKS, blockLabel, type ProductRow, productOf, ROWS } from './products'
import { FEWEST_DAYS, fared, type Past } from './steps'

interface Props {
  main: SubjectDay
  cells: Map<string, Cell>
  shown: Draft
  past: Map<string, Past> | undefined
  over: Over[]
  target: Target | undefined
  chosen: string
  mayBid: boolean
  templates: Record<string, Draft>
  onChoose: (product: string) => void
  onType: (product: string, text: string) => void
  onPrice: (code: string, text: string) => void
  onTemplate: (template: Draft) => void
  onKeep: (name: string, isKept: boolean) => void
}

export function Grid(props: Props) {
  const { main, cells, past, over, target } = props
  const isPhysical = main.subject.kind === 'physical'
  return (
    <Card
      title={isPhysical ? 'Bids' : 'Offers'}
      note={isPhysical ? 'type MW@price, such as 8@9.8 6@14.5' : 'type MW@price, such as 8@9.8'}
      actions={<Templates {...props} />}
    >
      <TableScroll>
        <table className="table reserves-grid" onKeyDown={walk}>
          <thead>
            <tr>
              <th scope="col">Product</th>
              {BLOCKS.map((hour) => (
                <th key={hour} scope="col">
                  {blockLabel(hour)}
                </th>
              ))}
              <th scope="col" className="number">
                Expected, EUR
              </th>
            </tr>
          </thead>
          <tbody>
            {ROWS.map((row) => (
              <ProductLine key={row.code} row={row} {...props} />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Free after</th>
              {BLOCKS.map((hour) => (
                <td key={hour}>{target && <FreeAfter target={target} hour={hour} over={over} />}</td>
              ))}
              <td />
            </tr>
          </tfoot>
        </table>
      </TableScroll>
      <p className="card-body note">
        A percentage is the share of the last days on which the clearing price was at least the step’s;{' '}
        {past === undefined || [...past.values()].every((days) => days.length < FEWEST_DAYS)
          ? 'there are fewer than ten to say so. '
          : ''}
        FCR is priced for the block and pays what cleared, aFRR by the hour and pays what was asked; its energy price
        stands at the row, or after a slash: 8@9.8/120. {cells.size > 0 && 'Arrows walk, Ctrl+Enter places.'}
      </p>
    </Card>
  )
}

/** Arrows up and down walk between products; left and right leave a field at its ends. */
function walk(event: KeyboardEvent<HTMLTableElement>): void {
  const field = event.target
  if (!(field instanceof HTMLInputElement) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
  const [row = 0, column = 0] = (field.dataset.place ?? '').split(' ').map(Number)
  const isAtStart = field.selectionStart === 0 && field.selectionEnd === 0
  const isAtEnd = field.selectionStart === field.value.length
  const step: [number, number] | null =
    event.key === 'ArrowUp'
      ? [-1, 0]
      : event.key === 'ArrowDown' || event.key === 'Enter'
        ? [1, 0]
        : event.key === 'ArrowLeft' && isAtStart
          ? [0, -1]
          : event.key === 'ArrowRight' && isAtEnd
            ? [0, 1]
            : null
  if (!step || !field.dataset.place) return
  const next = event.currentTarget.querySelector<HTMLInputElement>(
    `input[data-place="${row + step[0]} ${column + step[1]}"]`,
  )
  if (!next) return
  event.preventDefault()
  next.focus()
  next.select()
}

function ProductLine({ row, ...props }: Props & { row: ProductRow }) {
  const { main, cells, shown, past, mayBid } = props
  const index = ROWS.indexOf(row)
  const hasEnergy = row.code !== 'NEGPOS'
  const isAnyOpen = BLOCKS.some((hour) => cells.get(productOf(row.code, hour))?.isOpen)
  let expected: number | null = null
  let isKnown = true
  for (const hour of BLOCKS) {
    const product = productOf(row.code, hour)
    for (const step of cells.get(product)?.steps ?? []) {
      const how = fared(step, product, main.day, past?.get(product) ?? [])
      isKnown &&= how !== null
      expected = (expected ?? 0) + (how?.expected ?? 0)
    }
  }
  return (
    <tr>
      <th scope="row">
        <span className="reserves-product">
          <span className="dot" style={{ color: row.colour }} aria-hidden="true" />
          <span>
            <strong>{row.label}</strong>
            <span className="note second-line">{row.unit}</span>
            {hasEnergy && (
              <span className="reserves-energy">
                <input
                  aria-label={`${row.label}, energy price, EUR/MWh`}
                  placeholder="energy"
                  value={shown.energies[row.code] ?? ''}
                  disabled={!isAnyOpen || !mayBid}
                  onChange={(event) => props.onPrice(row.code, event.target.value)}
                />
                <span className="note">EUR/MWh</span>
              </span>
            )}
          </span>
        </span>
      </th>
      {BLOCKS.map((hour, column) => (
        <Field key={hour} row={row} hour={hour} place={`${index} ${column}`} {...props} />
      ))}
      <td className="number">{expected === null || !isKnown ? '–' : decimal(expected, 2)}</td>
    </tr>
  )
}

interface FieldProps extends Props {
  row: ProductRow
  hour: number
  place: string
}

function Field({ row, hour, place, main, cells, shown, past, over, chosen, mayBid, onChoose, onType }: FieldProps) {
  const product = productOf(row.code, hour)
  const cell = cells.get(product)
  const bids = main.bids.get(product) ?? []
  const days = past?.get(product) ?? []
  const isBeyond =
    (cell?.steps?.length ?? 0) > 0 &&
    over.some(
      (one) => one.hour === hour && (row.code === 'NEGPOS' || (row.code === 'POS') === (one.direction === 'up')),
    )
  const label = `${row.label} ${blockLabel(hour)}`
  if (!cell?.isOpen)
    return (
      <td className={product === chosen ? 'is-chosen' : undefined}>
        {bids.length === 0 ? <span className="note">–</span> : bids.map((bid) => <Decided key={bid.id} bid={bid} />)}
        <Last days={days} />
      </td>
    )
  const stands = main.subject.kind === 'physical' ? null : bids[0]
  return (
    <td className={product === chosen ? 'is-chosen' : undefined}>
      <input
        className={`reserves-field ${cell.fault || isBeyond ? 'is-wrong' : ''}`}
        aria-label={label}
        aria-invalid={cell.fault !== null || isBeyond || undefined}
        placeholder="+ bid"
        data-place={place}
        value={shown.texts[product] ?? ''}
        disabled={!mayBid}
        onFocus={() => onChoose(product)}
        onChange={(event) => onType(product, event.target.value)}
      />
      {cell.fault && <span className="field-fault second-line">{cell.fault}</span>}
      {(cell.steps ?? []).map((step) => {
        const how = fared(step, product, main.day, days)
        return (
          <span key={`${step.capacity}@${step.price}`} className="reserves-step tabular">
            {step.capacity} at {decimal(step.price, 2)}
            {how && (
              <strong className={how.accepted * 2 >= how.of ? 'tone-good' : 'tone-warning'}>
                {percent(how.accepted / how.of)}
              </strong>
            )}
          </span>
        )
      })}
      {stands && stands.status !== 'OFFERED' && <Decided bid={stands} />}
      <Last days={days} />
    </td>
  )
}

function Last({ days }: { days: Past }) {
  const last = days.at(-1)
  return last ? <span className="note second-line tabular">last {decimal(last.price, 2)}</span> : null
}

function Decided({ bid }: { bid: Bid }) {
  const isWaiting = bid.status === 'OFFERED'
  return (
    <span className="second-line tabular">
      {bid.accepted === null ? bid.capacity : `${bid.accepted} of ${bid.capacity}`} at{' '}
      {decimal(bid.paid ?? bid.price, 2)}{' '}
      <Badge tone={isWaiting ? 'warning' : bid.accepted ? 'good' : 'quiet'}>
        {isWaiting ? 'waits' : bid.accepted ? 'accepted' : 'rejected'}
      </Badge>
    </span>
  )
}

function FreeAfter({ target, hour, over }: { target: Target; hour: number; over: Over[] }) {
  const offers = offersOf(target, hour)
  const left = (direction: 'up' | 'down') =>
    roomOf(target, hour, direction) -
    (offers.get('NEGPOS') ?? 0) -
    (offers.get(direction === 'up' ? 'POS' : 'NEG') ?? 0)
  const wrong = over.filter((one) => one.hour === hour)
  return (
    <span className="tabular">
      {(['up', 'down'] as const).map((direction) => {
        const beyond = wrong.find((one) => one.direction === direction)
        return beyond ? (
          <strong key={direction} className="tone-danger second-line">
            {decimal(Math.ceil(beyond.by - 1e-6))} MW too many {direction}
          </strong>
        ) : (
          <span key={direction} className="second-line">
            {decimal(Math.max(0, Math.floor(left(direction) + 1e-6)))} {direction}
          </span>
        )
      })}
    </span>
  )
}

function Templates({ templates, mayBid, onTemplate, onKeep }: Props) {
  if (!mayBid) return null
  return (
    <Kept
      noun="Template"
      names={Object.keys(templates)}
      onTake={(name) => {
        const found = templates[name]
        if (found) onTemplate(found)
      }}
      onKeep={(name) => onKeep(name, true)}
      onForget={(name) => onKeep(name, false)}
    />
  )
}
