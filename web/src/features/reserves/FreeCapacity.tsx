import { Hatch } from '../../shared/charts/panes'
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { decimal } from '../../shared/format'
import type { Held, SubjectDay } from './data'
import { offersOf } from './draft'
import type { Target } from './placing'
import { BLOCKS, blockLabel, hourOf, productOf } from './products'
import { megawattsOf } from './steps'

const EDGES = { left: 44, right: 8 }
const HEIGHT = 220

interface Part {
  label: string
  power: number
  fill: string
  ink: string
}

const HOLDERS = ['var(--holder-1)', 'var(--holder-2)', 'var(--holder-3)']
const INKS = ['var(--on-brand)', 'var(--ink)', 'var(--ink)']

/** Who holds a battery's power in each block, what is typed on top of it, and what is left: up discharges. */
export function FreeCapacity({
  main,
  target,
  chosen,
}: {
  main: SubjectDay
  target: Target | undefined
  chosen: string
}) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const reach = Math.max(1, ...main.blocks.flatMap(({ up, down }) => [up.rated, down.rated]))
  const y = linear(-reach, reach, HEIGHT - 24, 8)
  const step = (width - EDGES.left - EDGES.right) / BLOCKS.length
  return (
    <div ref={ref} className="reserves-chart">
      <svg width={width} height={HEIGHT} role="img" aria-label={describe(main, target)}>
        <defs>
          <Hatch name="reserves-lost" tone="var(--danger)" />
        </defs>
        {[-reach, -reach / 2, 0, reach / 2, reach].map((value) => (
          <g key={value}>
            <line
              x1={EDGES.left}
              x2={width - EDGES.right}
              y1={y(value)}
              y2={y(value)}
              className={value === 0 ? 'axis-line' : 'grid-line'}
            />
            <text x={EDGES.left - 6} y={y(value) + 4} textAnchor="end" className="axis">
              {value > 0 ? '+' : value < 0 ? '−' : ''}
              {decimal(Math.abs(value), Number.isInteger(value) ? 0 : 1)}
            </text>
          </g>
        ))}
        {main.blocks.map((block) => {
          const left = EDGES.left + BLOCKS.indexOf(block.hour as (typeof BLOCKS)[number]) * step
          const isChosen = hourOf(chosen) === block.hour
          return (
            <g key={block.hour}>
              {(['up', 'down'] as const).map((direction) => (
                <Stack
                  key={direction}
                  parts={partsOf(main, target, block.hour, block[direction], direction)}
                  lost={block[direction].lost}
                  rated={block[direction].rated}
                  sign={direction === 'up' ? 1 : -1}
                  {...{ left: left + 1, width: Math.max(1, step - 2), y }}
                />
              ))}
              {isChosen && (
                <rect
                  x={left}
                  width={Math.max(1, step)}
                  y={4}
                  height={HEIGHT - 26}
                  rx={5}
                  className="reserves-chosen"
                />
              )}
              <text
                x={left + step / 2}
                y={HEIGHT - 6}
                textAnchor="middle"
                className={isChosen ? 'axis axis-strong' : 'axis'}
              >
                {blockLabel(block.hour)}
              </text>
            </g>
          )
        })}
      </svg>
    </div>
  )
}

function partsOf(
  main: SubjectDay,
  target: Target | undefined,
  hour: number,
  held: Held,
  direction: 'up' | 'down',
): Part[] {
  const own = (code: string) =>
    megawattsOf((main.bids.get(productOf(code, hour)) ?? []).filter((one) => one.status === 'OFFERED'))
  const code = direction === 'up' ? 'POS' : 'NEG'
  const offers = target ? offersOf(target, hour) : new Map<string, number>()
  let virtual = 0
  const parts = held.layers.map(({ label, kind, power }): Part => {
    if (kind === 'virtual') {
      const index = virtual++ % HOLDERS.length
      return { label, power, fill: HOLDERS[index] ?? '', ink: INKS[index] ?? '' }
    }
    if (kind === 'auction') return { label, power, fill: 'var(--auction)', ink: 'var(--on-brand)' }
    if (kind === 'own') return { label, power, fill: 'var(--tolling)', ink: 'var(--ink)' }
    const accepted = Math.max(0, power - own('NEGPOS') - own(code))
    return { label: 'accepted', power: accepted, fill: 'var(--fcr)', ink: 'var(--on-brand)' }
  })
  parts.push({ label: 'FCR', power: offers.get('NEGPOS') ?? 0, fill: 'var(--fcr)', ink: 'var(--on-brand)' })
  parts.push({
    label: direction === 'up' ? 'aFRR up' : 'aFRR down',
    power: offers.get(code) ?? 0,
    fill: 'var(--afrr-capacity)',
    ink: 'var(--on-brand)',
  })
  return parts.filter((part) => part.power > 0)
}

interface StackProps {
  parts: Part[]
  lost: number
  rated: number
  sign: 1 | -1
  left: number
  width: number
  y: (value: number) => number
}

function Stack({ parts, lost, rated, sign, left, width, y }: StackProps) {
  let floor = 0
  return (
    <>
      {lost > 0 && (
        <rect
          x={left}
          width={width}
          y={Math.min(y(sign * rated), y(sign * (rated - lost)))}
          height={Math.abs(y(rated) - y(rated - lost))}
          fill="url(#reserves-lost)"
        />
      )}
      {parts.map(({ label, power, fill, ink }) => {
        const from = floor
        floor += power
        const [top, bottom] = [y(sign * from), y(sign * floor)].sort((a, b) => a - b) as [number, number]
        const mw = decimal(power, Number.isInteger(power) ? 0 : 1)
        const text = [`${label} ${mw}`, label, mw].find((one) => width > 6.4 * one.length + 6) ?? ''
        return (
          <g key={label}>
            <rect x={left} width={width} y={top} height={Math.max(0.5, bottom - top - 0.5)} style={{ fill }} />
            {bottom - top > 12 && text && (
              <text
                x={left + width / 2}
                y={(top + bottom) / 2 + 4}
                textAnchor="middle"
                className="reserves-label"
                style={{ fill: ink }}
              >
                {text}
              </text>
            )}
          </g>
        )
      })}
    </>
  )
}

function describe(main: SubjectDay, target: Target | undefined): string {
  const said = main.blocks.map((block) => {
    const offers = target ? offersOf(target, block.hour) : new Map<string, number>()
    return `${blockLabel(block.hour)}: ${decimal(block.up.free, 1)} MW free up, ${decimal(block.down.free, 1)} down, ${offers.get('NEGPOS') ?? 0} MW FCR`
  })
  return `Free capacity of ${main.subject.name}. ${said.join('; ')}`
}
