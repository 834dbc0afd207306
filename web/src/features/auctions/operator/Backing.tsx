/** What backs a new auction: batteries of one zone, each with its share, and what of each is free while it delivers. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { askMany } from '../../../shared/api/client'
import type { PhysicalAsset } from '../../../shared/api/resources'
import { linear, stepPath } from '../../../shared/charts/scale'
import { decimal, megawatts, percent } from '../../../shared/format'
import { instant, QUARTER_MS, type Span } from '../../../shared/time/marketDay'
import { Checkbox } from '../../../shared/ui/Field'
import type { Commitment } from '../../physical-assets/data'

interface Free {
  /** kW in both directions that are in no book, by quarter-hour. */
  powersKw: number[]
  leastKw: number
  /** kWh. */
  leastEnergy: number
}

const LONGEST_MS = 31 * 24 * 3_600_000

function useFree(ids: readonly string[], span: Span) {
  const end = Math.min(span.end, span.start + LONGEST_MS)
  return useQuery({
    queryKey: ['physical-assets', 'free', ids.join(), span.start, end],
    queryFn: async () => {
      const query = new URLSearchParams({ start: instant(span.start), end: instant(end) })
      const answers = await askMany<{ commitments: Commitment[] }>(
        ids.map((id) => `/physical-assets/${id}/commitments?${query}`),
      )
      const found = new Map<string, Free>()
      ids.forEach((id, index) => {
        const points = answers[index]?.commitments
        if (points) found.set(id, freeOf(points))
      })
      return found
    },
    enabled: ids.length > 0 && end > span.start,
    placeholderData: (old) => old,
    retry: false,
  })
}

export function freeOf(points: readonly Pick<Commitment, 'charge' | 'discharge' | 'energy'>[]): Free {
  const powersKw = points.map((one) => Math.max(0, Math.min(one.charge.free, one.discharge.free)))
  return {
    powersKw,
    leastKw: Math.min(...powersKw),
    leastEnergy: Math.max(0, Math.min(...points.map((one) => one.energy.free))),
  }
}

/** In proportion of what is free of each, else of what each is rated for; together exactly 1. */
export function sharesOf(chosen: readonly PhysicalAsset[], free: ReadonlyMap<string, Free> | undefined): number[] {
  const known = chosen.map((one) => free?.get(one.id)?.leastKw ?? 0)
  const weights = known.some((kw) => kw > 0) ? known : chosen.map((one) => one.parameters.ratedDischargePower)
  const total = weights.reduce((sum, kw) => sum + kw, 0)
  const shares = weights.map((kw) => Math.round((kw / total) * 1e4) / 1e4)
  const rest = 1 - shares.slice(0, -1).reduce((sum, share) => sum + share, 0)
  return [...shares.slice(0, -1), Math.round(rest * 1e4) / 1e4]
}

interface Props {
  assets: PhysicalAsset[]
  chosen: PhysicalAsset[]
  span: Span
  /** MW of the auction; null while none is typed. */
  power: number | null
  onToggle: (id: string) => void
  onShares: (shares: { id: string; share: number }[]) => void
}

const SPARK = { width: 150, height: 34 }

export function Backing({ assets, chosen, span, power, onToggle, onShares }: Props) {
  const zone = chosen[0]?.deliveryZone
  const candidates = assets.filter((one) => one.status === 'ACTIVE' && (!zone || one.deliveryZone === zone))
  const free = useFree(
    chosen.map((one) => one.id),
    span,
  )
  const shares = sharesOf(chosen, free.data)
  const listed = chosen.map((one, index) => ({ id: one.id, share: shares[index] ?? 0 })).filter((one) => one.share > 0)
  const tell = useEffectEvent(() => onShares(listed))
  // What is sent is what is drawn.
  // biome-ignore lint/correctness/useExhaustiveDependencies: by what it says
  useEffect(() => tell(), [JSON.stringify(listed)])
  return (
    <fieldset className="field plain-fieldset">
      <legend className="note">Backed by{zone ? `, in ${zone}` : ''}; shared by what is free of each</legend>
      <ul className="backing">
        {candidates.map((one) => {
          const index = chosen.indexOf(one)
          const own = free.data?.get(one.id)
          const share = index < 0 ? null : (shares[index] ?? 0)
          const taken = share === null || power === null ? null : share * power
          const isBeyond = own !== undefined && taken !== null && taken * 1000 > own.leastKw + 0.5
          return (
            <li key={one.id}>
              <Checkbox
                label={`${one.name}, ${megawatts(one.parameters.ratedDischargePower)} MW${zone ? '' : `, ${one.deliveryZone}`}`}
                checked={index >= 0}
                onChange={() => onToggle(one.id)}
              />
              {index >= 0 && own && (
                <>
                  <FreeLine own={own} asset={one} span={span} taken={taken} />
                  <span className={`note tabular ${isBeyond ? 'tone-danger' : ''}`}>
                    {percent(share ?? 0, 1)}
                    {taken !== null && ` · ${decimal(taken, 1)}`} of {decimal(own.leastKw / 1000, 1)} MW free at least
                    {isBeyond && ', too little'}
                  </span>
                </>
              )}
            </li>
          )
        })}
      </ul>
    </fieldset>
  )
}

function FreeLine({ own, asset, span, taken }: { own: Free; asset: PhysicalAsset; span: Span; taken: number | null }) {
  const rated = Math.max(asset.parameters.ratedChargePower, asset.parameters.ratedDischargePower)
  const x = linear(span.start, span.start + own.powersKw.length * QUARTER_MS, 0, SPARK.width)
  const y = linear(0, rated, SPARK.height - 2, 2)
  const points = own.powersKw.map((kw, index) => [x(span.start + index * QUARTER_MS), y(kw)] as const)
  return (
    <svg
      width={SPARK.width}
      height={SPARK.height}
      role="img"
      aria-label={`${asset.name}: at least ${decimal(own.leastKw / 1000, 1)} MW free`}
    >
      <path d={`${stepPath(points, SPARK.width)}L${SPARK.width} ${y(0)}L0 ${y(0)}Z`} className="backing-free" />
      {taken !== null && (
        <line x1={0} x2={SPARK.width} y1={y(taken * 1000)} y2={y(taken * 1000)} className="backing-taken" />
      )}
    </svg>
  )
}
