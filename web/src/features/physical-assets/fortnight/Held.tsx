import { useVirtualAssets } from '../../../shared/api/resources'
import type { Scale } from '../../../shared/charts/scale'
import { megawatts, words } from '../../../shared/format'
import type { Span } from '../../../shared/time/marketDay'
import { type Commitment, runsOf } from '../data'

interface Layer {
  key: string
  label: string
  colour: string
}

const FIXED: Record<string, Layer> = {
  OWN: { key: 'own', label: 'own', colour: 'var(--tolling)' },
  OWN_SCHEDULE: { key: 'own', label: 'own', colour: 'var(--tolling)' },
  AUCTION: { key: 'auction', label: 'Auction', colour: 'var(--auction)' },
}

/** The stack of who holds export power, the steadiest at the bottom; where holders are not told, by kind. */
export function Held({ commitments, span, x, y }: { commitments: Commitment[]; span: Span; x: Scale; y: Scale }) {
  const virtual = useVirtualAssets()
  if (commitments.length === 0) return null
  const names = new Map((virtual.data ?? []).map((one) => [one.id, one.name]))
  const layers = layersOf(commitments, names)
  const floors = new Array<number>(commitments.length).fill(0)
  return layers.map((layer) => {
    const runs = runsOf(
      commitments.map((one, index) => {
        const height = amountOf(one, layer.key)
        const floor = floors[index] ?? 0
        floors[index] = floor + height
        return { time: Date.parse(one.time), value: { floor, height } }
      }),
      span.end,
      (a, b) => a.floor === b.floor && a.height === b.height,
    ).filter((run) => run.value.height > 0)
    const widest = [...runs].sort((a, b) => b.end - b.start - (a.end - a.start))[0]
    return (
      <g key={layer.key}>
        {runs.map((run) => (
          <rect
            key={run.start}
            x={x(run.start)}
            width={x(run.end) - x(run.start)}
            y={y(run.value.floor + run.value.height)}
            height={Math.max(0.5, y(run.value.floor) - y(run.value.floor + run.value.height) - 0.5)}
            style={{ fill: layer.colour }}
          />
        ))}
        {widest &&
          x(widest.end) - x(widest.start) > labelWidth(layer, widest.value.height) &&
          y(widest.value.floor) - y(widest.value.floor + widest.value.height) > 11 && (
            <text
              x={(x(widest.start) + x(widest.end)) / 2}
              y={y(widest.value.floor + widest.value.height / 2) + 4}
              textAnchor="middle"
              className="held-text"
              style={{ fill: inkOn(layer.colour) }}
            >
              {layer.label} {megawatts(widest.value.height)}
            </text>
          )}
      </g>
    )
  })
}

/** Room for a name and its MW, at 11 px. */
function labelWidth(layer: Layer, heightKw: number): number {
  return 6.4 * `${layer.label} ${megawatts(heightKw)}`.length + 8
}

/** Light holders are written on in ink, the others in what the theme writes on its brand. */
function inkOn(colour: string): string {
  return colour === 'var(--holder-2)' || colour === 'var(--holder-3)' || colour === 'var(--tolling)'
    ? 'var(--ink)'
    : 'var(--on-brand)'
}

function layersOf(commitments: Commitment[], names: Map<string, string>): Layer[] {
  if (!commitments.some((one) => one.holders))
    return [
      { key: 'promised', label: 'Promised', colour: 'var(--holder-1)' },
      { key: 'offered', label: 'Auction', colour: 'var(--auction)' },
      { key: 'ancillary', label: 'FCR, aFRR', colour: 'var(--fcr)' },
      { key: 'own', label: 'own', colour: 'var(--tolling)' },
    ]
  const found = new Map<string, Layer>()
  for (const one of commitments)
    for (const holder of one.holders ?? []) {
      if (holder.power <= 0) continue
      const key = holderKey(holder)
      if (found.has(key)) continue
      if (holder.virtualAssetID) {
        const index = [...found.values()].filter((layer) => layer.key.startsWith('virtual')).length
        const colour = ['var(--holder-1)', 'var(--holder-2)', 'var(--holder-3)'][index % 3] ?? 'var(--holder-1)'
        found.set(key, {
          key,
          label: names.get(holder.virtualAssetID) ?? holder.organisationName ?? 'Virtual battery',
          colour,
        })
      } else found.set(key, { ...(FIXED[holder.kind] ?? { label: words(holder.kind), colour: 'var(--fcr)' }), key })
    }
  const order = (layer: Layer) => (layer.key.startsWith('virtual') ? 0 : layer.key.startsWith('AUCTION') ? 1 : 2)
  return [...found.values()].sort((a, b) => order(a) - order(b))
}

type Holder = NonNullable<Commitment['holders']>[number]

function holderKey(holder: Holder): string {
  return holder.virtualAssetID ? `virtual-${holder.virtualAssetID}` : holder.kind
}

function amountOf(one: Commitment, key: string): number {
  if (one.holders)
    return one.holders
      .filter((holder) => holder.power > 0 && holderKey(holder) === key)
      .reduce((sum, holder) => sum + holder.power, 0)
  const { promised, offered, ancillary, ownSchedule } = one.discharge
  if (key === 'promised') return promised
  if (key === 'offered') return offered
  if (key === 'ancillary') return Object.values(ancillary).reduce((sum, value) => sum + value, 0)
  return ownSchedule
}
