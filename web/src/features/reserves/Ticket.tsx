/** Beside the table: the chosen product with its prices of past days, for what else it is placed, and the button. */
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { useMinute, useNow } from '../../shared/clock'
import { decimal, euro, plural, productInWords } from '../../shared/format'
import { addDays, type Day, spanOf } from '../../shared/time/marketDay'
import { countdown, dayMonth, time, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Checkbox } from '../../shared/ui/Field'
import { useZone } from '../../shared/zone'
import { energyOf, type Subject, type SubjectDay } from './data'
import { type Cell, type Over, offersOf } from './draft'
import type { Outcome, Target } from './placing'
import { blockLabel, gateOf, hourOf, hourSpan, isOpen, stageOf } from './products'
import { energyCheck, fared, type Past, type Step } from './steps'

interface Props {
  main: SubjectDay
  product: string
  cell: Cell | undefined
  past: Past
  targets: Target[]
  subjects: Subject[]
  over: Over[]
  held: string | null
  outcome: Outcome | null
  isBusy: boolean
  isEdited: boolean
  alsoDays: ReadonlySet<Day>
  alsoIDs: ReadonlySet<string>
  onDays: (days: ReadonlySet<Day>) => void
  onIDs: (ids: ReadonlySet<string>) => void
  onPlace: () => void
  onDiscard: () => void
}

export function Ticket(props: Props) {
  const { main, product, cell, past, targets } = props
  const steps = cell?.steps ?? []
  return (
    <Card
      title={productInWords(product)}
      className="reserves-ticket"
      actions={<Gate product={product} day={main.day} />}
    >
      <div className="reserves-part">
        {steps.length === 0 ? (
          <p className="note">Nothing is typed for this block.</p>
        ) : (
          steps.map((step) => (
            <StepLine key={`${step.capacity}@${step.price}`} {...{ step, product, past }} day={main.day} />
          ))
        )}
        {targets[0] && <EnergyCheck target={targets[0]} product={product} />}
      </div>
      <Cleared past={past} steps={steps} product={product} />
      <AlsoFor {...props} />
      <Foot {...props} />
    </Card>
  )
}

function Gate({ product, day }: { product: string; day: Day }) {
  const now = useNow()
  const zone = useZone()
  const { opens, closes } = gateOf(stageOf(product), day)
  const at = `${weekday(closes, zone)} ${time(closes, zone)}`
  if (now >= closes) return <span className="note">closed {at}</span>
  if (now < opens) return <span className="note">opens {`${weekday(opens, zone)} ${time(opens, zone)}`}</span>
  return (
    <span className="gate-closing">
      <strong role="timer">{countdown(closes - now)}</strong>
      <span className="note">gate {at}</span>
    </span>
  )
}

function StepLine({ step, product, day, past }: { step: Step; product: string; day: Day; past: Past }) {
  const how = fared(step, product, day, past)
  const isFCR = product.startsWith('NEGPOS')
  const paid = step.price * step.capacity * (isFCR ? 1 : hourSpan(product, day))
  return (
    <p className="tabular">
      <strong>
        {step.capacity} MW at {decimal(step.price, 2)}
      </strong>
      {step.energyPrice !== null && <span className="note"> · energy {decimal(step.energyPrice, 2)} EUR/MWh</span>}
      <span className="note second-line">
        {how ? `${how.accepted} of ${how.of} days accepted` : `${plural(past.length, 'past day')}: too few for a share`}{' '}
        · {isFCR ? `at least ${euro(paid, 2)}` : euro(paid, 2)} if it is
      </span>
    </p>
  )
}

/** Power alone says nothing of how long it lasts. */
function EnergyCheck({ target, product }: { target: Target; product: string }) {
  const hour = hourOf(product)
  const offers = offersOf(target, hour)
  const hours = hourSpan(product, target.of.day)
  const store = energyOf(target.of.subject)
  return (['POS', 'NEG'] as const).map((code) => {
    const mw = offers.get(code) ?? 0
    if (mw === 0) return null
    const { isBeyond, text } = energyCheck(mw, hours, store)
    return (
      <p key={code} className={isBeyond ? 'tone-warning' : 'note'}>
        {code === 'POS' ? 'Up' : 'Down'}: {text}
        {isBeyond && ': called on throughout, its store is too small'}
      </p>
    )
  })
}

const PLOT = { left: 34, right: 6, top: 8, height: 110 }

/** The price at which the product cleared day by day, and the steps as lines. */
function Cleared({ past, steps, product }: { past: Past; steps: readonly Step[]; product: string }) {
  if (past.length === 0)
    return (
      <p className="card-body note">
        No clearing price of the last 30 days is published for {productInWords(product)}.
      </p>
    )
  return <ClearedPlot {...{ past, steps, product }} />
}

function ClearedPlot({ past, steps, product }: { past: Past; steps: readonly Step[]; product: string }) {
  const zone = useZone()
  const [ref, { width }] = useSize<HTMLDivElement>()
  const prices = [...past.map((one) => one.price), ...steps.map((one) => one.price)]
  const [low, high] = [Math.min(0, ...prices), Math.max(1, ...prices) * 1.08]
  const y = linear(low, high, PLOT.top + PLOT.height, PLOT.top)
  const x = linear(0, Math.max(1, past.length - 1), PLOT.left + 4, width - PLOT.right - 4)
  const [first, last] = [past[0], past.at(-1)]
  return (
    <div className="reserves-part">
      <h3>
        Clearing price{' '}
        <span className="note">
          {product.startsWith('NEGPOS') ? 'EUR/MW a block' : 'EUR/MW an hour'}, {plural(past.length, 'day')}
        </span>
      </h3>
      <div ref={ref}>
        <svg
          width={width}
          height={PLOT.top + PLOT.height + 18}
          role="img"
          aria-label={`Clearing prices of ${productInWords(product)}, last ${decimal(last?.price ?? 0, 2)}`}
        >
          {[low, high / 2, high].map((value) => (
            <g key={value}>
              <line
                x1={PLOT.left}
                x2={width - PLOT.right}
                y1={y(value)}
                y2={y(value)}
                className={value === 0 ? 'axis-line' : 'grid-line'}
              />
              <text x={PLOT.left - 5} y={y(value) + 4} textAnchor="end" className="axis">
                {decimal(value, high < 10 ? 1 : 0)}
              </text>
            </g>
          ))}
          {steps.map((step) => (
            <line
              key={step.price}
              x1={PLOT.left}
              x2={width - PLOT.right}
              y1={y(step.price)}
              y2={y(step.price)}
              className="reserves-ask"
            />
          ))}
          {past.map((one, index) => {
            const taken = steps.filter((step) => one.price >= step.price).length
            return (
              <circle
                key={one.day}
                cx={x(index)}
                cy={y(one.price)}
                r={3.5}
                className={`reserves-dot ${steps.length > 0 && taken === steps.length ? 'is-all' : taken > 0 ? 'is-some' : ''}`}
              />
            )
          })}
          <text x={PLOT.left} y={PLOT.top + PLOT.height + 14} className="axis">
            {first && dayMonth(spanOf(first.day).start, zone)}
          </text>
          <text x={width - PLOT.right} y={PLOT.top + PLOT.height + 14} textAnchor="end" className="axis">
            {last && dayMonth(spanOf(last.day).start, zone)}
          </text>
        </svg>
      </div>
      {steps.length > 0 && <p className="note">Filled: all steps accepted; grey: some; hollow: none.</p>}
    </div>
  )
}

const DAYS_AHEAD = 6

function AlsoFor({ main, subjects, alsoDays, alsoIDs, onDays, onIDs, targets }: Props) {
  const now = useMinute()
  const zone = useZone()
  const days = Array.from({ length: DAYS_AHEAD }, (_, index) => addDays(main.day, index + 1)).filter(
    (day) => isOpen('FCR', day, now) || isOpen('AFRR', day, now),
  )
  const batteries = subjects.filter((one) => one.id !== main.subject.id)
  if (days.length + batteries.length === 0) return null
  const flip = <T,>(set: ReadonlySet<T>, one: T): ReadonlySet<T> => {
    const next = new Set(set)
    if (!next.delete(one)) next.add(one)
    return next
  }
  return (
    <fieldset className="reserves-part plain-fieldset reserves-also">
      <legend>
        <h3>Also for</h3>
      </legend>
      {days.map((day) => (
        <Checkbox
          key={day}
          label={weekday(spanOf(day).start, zone)}
          checked={alsoDays.has(day)}
          onChange={() => onDays(flip(alsoDays, day))}
        />
      ))}
      {batteries.map((one) => (
        <Checkbox
          key={one.id}
          label={one.name}
          checked={alsoIDs.has(one.id)}
          onChange={() => onIDs(flip(alsoIDs, one.id))}
        />
      ))}
      {targets.length > 1 && (
        <p className="note">
          All that stands in the table is placed there; what is empty here stays as it is there, and a product whose
          gate is not open is left out.
        </p>
      )}
    </fieldset>
  )
}

/** Rounded down: what is not there is not promised. */
const shownRoom = (room: number): string => {
  const hundredths = Math.floor(room * 100 + 1e-6)
  return decimal(hundredths / 100, hundredths % 100 === 0 ? 0 : 2)
}

function Foot({ main, targets, over, held, outcome, isBusy, isEdited, onPlace, onDiscard }: Props) {
  const zone = useZone()
  const isPhysical = main.subject.kind === 'physical'
  const filled = targets.flatMap((one) => [...one.wanted.values()].filter((steps) => steps.length > 0))
  const emptied = targets.reduce(
    (sum, one) => sum + [...one.wanted.values()].filter((steps) => steps.length === 0).length,
    0,
  )
  const steps = filled.reduce((sum, one) => sum + one.length, 0)
  const places = new Set(
    targets.filter((one) => one.wanted.size > 0).map((one) => `${one.of.subject.id} ${one.of.day}`),
  ).size
  const noun = isPhysical ? 'bid' : 'offer'
  const name = (one: SubjectDay) => `${one.subject.name}, ${weekday(spanOf(one.day).start, zone)}`
  return (
    <div className="reserves-foot">
      {over.length > 0 && (
        <ul className={isPhysical ? 'form-problem' : 'note tone-warning'}>
          {over.slice(0, 6).map((one) => (
            <li key={`${one.of.subject.id} ${one.of.day} ${one.hour} ${one.direction}`}>
              {name(one.of)}, {blockLabel(one.hour)}: {decimal(Math.ceil(one.by - 1e-6))} MW too many {one.direction},
              where {shownRoom(one.room)} MW are free
            </li>
          ))}
          {over.length > 6 && <li>and {over.length - 6} more</li>}
        </ul>
      )}
      {filled.length + emptied > 0 && (
        <p className="gate-says">
          <strong>
            {plural(steps, 'step')} in {plural(filled.length, noun)}
          </strong>
          {places > 1 && ` for ${places} days of batteries`}
          {emptied > 0 && `, ${emptied} taken back`}.{' '}
          {isPhysical
            ? 'Of each battery all or none; they hold power and energy from now until their result. Change or take back until each gate.'
            : 'One order a stage, battery and day; it holds power and energy until its result, and can be taken back until the gate.'}
        </p>
      )}
      {outcome && outcome.refused.length > 0 && (
        <div className="form-problem" role="alert">
          {outcome.placed > 0 ? `${plural(outcome.placed, noun)} placed; not taken:` : 'None was taken:'}
          <ul>
            {outcome.refused.map((one) => (
              <li key={`${one.name} ${one.day} ${one.why}`}>
                {one.name}, {weekday(spanOf(one.day).start, zone)}: {one.why}
              </li>
            ))}
          </ul>
        </div>
      )}
      {held && isEdited && <p className="note tone-warning">{held}</p>}
      <div className="form-foot">
        <Button kind="quiet" disabled={!isEdited} onClick={onDiscard}>
          Discard
        </Button>
        <Button kind="primary" disabled={held !== null} isBusy={isBusy} onClick={onPlace}>
          {filled.length === 0 && emptied > 0
            ? `Take back ${plural(emptied, noun)}`
            : `Place ${plural(filled.length, noun)}`}{' '}
          <span aria-hidden="true">⌘↵</span>
        </Button>
      </div>
    </div>
  )
}
