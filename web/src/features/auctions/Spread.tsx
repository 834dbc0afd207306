/** How this window's value is spread, by how past ones came out against what they were thought to be worth. */
import { linear } from '../../shared/charts/scale'
import { useSize } from '../../shared/charts/size'
import { percent } from '../../shared/format'
import { binsOf, chanceOfMore, type Valuation } from './data'

const HEIGHT = 112
const TOP = 20
const BOTTOM = 20

export function Spread({ valuation, price }: { valuation: Valuation; price: number }) {
  const [ref, { width }] = useSize<HTMLDivElement>()
  const bins = binsOf(valuation)
  if (bins === null) return null
  const x = linear(bins.low, bins.high, 0, width)
  const y = linear(0, Math.max(...bins.counts), HEIGHT - BOTTOM, TOP + 6)
  const step = (bins.high - bins.low) / bins.counts.length
  const at = Math.min(width, Math.max(0, x(price)))
  const chance = chanceOfMore(price, valuation)
  const [less, more] =
    chance === null
      ? price < valuation.p10
        ? ['under 10 % less', 'over 90 % more']
        : ['over 90 % less', 'under 10 % more']
      : [`${percent(1 - chance)} less`, `${percent(chance)} more`]
  return (
    <div ref={ref} className="spread">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`Worth less than this price: ${less}; ${more}.`}>
          {bins.counts.map((count, index) => {
            const from = bins.low + index * step
            const left = x(from)
            const right = x(from + step) - 1
            const cut = Math.min(right, Math.max(left, at))
            return (
              <g key={from}>
                <rect x={left} width={cut - left} y={y(count)} height={y(0) - y(count)} className="spread-less" />
                <rect x={cut} width={right - cut} y={y(count)} height={y(0) - y(count)} className="spread-more" />
              </g>
            )
          })}
          <line x1={0} x2={width} y1={y(0)} y2={y(0)} className="axis-line" />
          {(['p10', 'p50', 'p90'] as const).map((key) => (
            <g key={key}>
              <line x1={x(valuation[key])} x2={x(valuation[key])} y1={TOP + 6} y2={y(0)} className="spread-quantile" />
              <text x={x(valuation[key])} y={HEIGHT - 5} textAnchor="middle" className="axis">
                {key.toUpperCase()}
              </text>
            </g>
          ))}
          <line x1={at} x2={at} y1={TOP - 2} y2={y(0)} className="spread-bid" />
          <text
            x={Math.max(104, Math.min(at, width - 104)) - 6}
            y={12}
            textAnchor="end"
            className="spread-text tone-less"
          >
            {less}
          </text>
          <text x={Math.max(104, Math.min(at, width - 104)) + 6} y={12} className="spread-text tone-more">
            {more}
          </text>
        </svg>
      )}
    </div>
  )
}
