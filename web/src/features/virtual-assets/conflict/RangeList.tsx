import { decimal, signed } from '../../../shared/format'
import { time } from '../../../shared/time/words'
import { useZone } from '../../../shared/zone'
import type { DayPlan } from '../data'
import { startOf } from '../day/drawing'
import { energyOf, type Range, type Side, type Versions } from './merge'

interface Props {
  plan: DayPlan
  versions: Versions
  ranges: Range[]
  choices: (Side | null)[]
  result: number[]
  author: string
  onChoose: (place: number, side: Side) => void
}

export function RangeList({ plan, versions, ranges, choices, result, author, onChoose }: Props) {
  const zone = useZone()
  return (
    <ol className="ranges">
      {ranges.map((range, place) => {
        const span = `${time(startOf(plan, range.from), zone)}–${time(startOf(plan, range.to), zone)}`
        return (
          <li key={range.from}>
            <div className="range-head">
              <span
                className={`range-number ${range.changedBy === 'both' && !range.isClosed ? 'is-both' : ''}`}
                aria-hidden="true"
              >
                {place + 1}
              </span>
              <strong className="tabular">{span}</strong>
              {range.isClosed ? (
                <span className="note">gate closed</span>
              ) : (
                <Choice name={span} value={choices[place] ?? null} onChoose={(side) => onChoose(place, side)} />
              )}
            </div>
            <p className="note range-note">{describe(range, versions, author)}</p>
            {range.changedBy === 'both' && (
              <Quarters plan={plan} versions={versions} range={range} result={result} choice={choices[place] ?? null} />
            )}
          </li>
        )
      })}
    </ol>
  )
}

function describe(range: Range, { baseKw, mineKw, theirsKw }: Versions, author: string): string {
  const told = (powersKw: readonly number[]) => decimal(energyOf(powersKw, range), 2)
  if (range.isClosed) return `Theirs stands: the gate has closed, ${told(theirsKw)} MWh`
  if (range.changedBy === 'mine') return `Only you changed it: ${told(baseKw)} → ${told(mineKw)} MWh`
  if (range.changedBy === 'theirs')
    return `Only ${author === 'You' ? 'the other window' : author} changed it: ${told(baseKw)} → ${told(theirsKw)} MWh`
  return `Both changed it: yours ${told(mineKw)}, theirs ${told(theirsKw)} MWh`
}

const SIDES = [
  { value: 'mine', label: 'Keep mine' },
  { value: 'theirs', label: 'Take theirs' },
] as const

function Choice({ name, value, onChoose }: { name: string; value: Side | null; onChoose: (side: Side) => void }) {
  return (
    <fieldset className="segmented range-choice">
      <legend className="visually-hidden">{name}</legend>
      {SIDES.map((side) => (
        <label key={side.value} className={side.value === value ? 'is-chosen' : ''}>
          <input
            type="radio"
            className="visually-hidden"
            name={`range-${name}`}
            checked={side.value === value}
            onChange={() => onChoose(side.value)}
          />
          {side.label}
        </label>
      ))}
    </fieldset>
  )
}

interface QuartersProps {
  plan: DayPlan
  versions: Versions
  range: Range
  result: number[]
  choice: Side | null
}

/** Quarter-hour by quarter-hour: what was, what each made of it, what is saved. */
function Quarters({ plan, versions, range, result, choice }: QuartersProps) {
  const zone = useZone()
  const { baseKw, mineKw, theirsKw } = versions
  const cell = (power: number, before: number) => (
    <td className={`number ${power === before ? 'note' : power < 0 ? 'is-import' : 'is-export'}`}>
      {signed(power / 1000, 1)}
    </td>
  )
  return (
    <table className="range-table">
      <thead>
        <tr>
          <th scope="col">Quarter</th>
          <th scope="col">Before</th>
          <th scope="col">Mine</th>
          <th scope="col">Theirs</th>
          <th scope="col">Saved, MW</th>
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: range.to - range.from }, (_, each) => range.from + each).map((index) => {
          const before = baseKw[index] ?? 0
          return (
            <tr key={index}>
              <th scope="row">{time(startOf(plan, index), zone)}</th>
              <td className="number note">{signed(before / 1000, 1)}</td>
              {cell(mineKw[index] ?? 0, before)}
              {cell(theirsKw[index] ?? 0, before)}
              <td className="number range-saved">{choice === null ? '?' : signed((result[index] ?? 0) / 1000, 1)}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
