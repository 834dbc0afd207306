/** From values to pixels, and the round numbers worth a line. */
export type Scale = (value: number) => number

export function linear(fromLow: number, fromHigh: number, toLow: number, toHigh: number): Scale {
  const span = fromHigh - fromLow || 1
  return (value) => toLow + ((value - fromLow) / span) * (toHigh - toLow)
}

/** Round numbers from low to high, about `count` of them: steps of 1, 2, 2.5 or 5 times a power of ten. */
export function ticks(low: number, high: number, count = 5): number[] {
  if (!(high > low)) return [low]
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999) ?? 10 * power
  const first = Math.ceil(low / step - 1e-9)
  const last = Math.floor(high / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const value = (first + index) * step
    return Math.abs(value) < step * 1e-9 ? 0 : Number(value.toPrecision(12))
  })
}

/** `M x y L x y …`, broken where a value is missing. */
export function linePath(points: readonly (readonly [number, number | null])[]): string {
  let path = ''
  let isDown = false
  for (const [x, y] of points) {
    if (y === null || Number.isNaN(y)) {
      isDown = false
      continue
    }
    path += `${isDown ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`
    isDown = true
  }
  return path
}

/** Steps: each value holds until the next one's place; `end` is where the last one stops. */
export function stepPath(points: readonly (readonly [number, number | null])[], end: number): string {
  let path = ''
  points.forEach(([x, y], index) => {
    if (y === null) return
    const before = points[index - 1]
    const next = points[index + 1]?.[0] ?? end
    path += `${before && before[1] !== null ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}L${next.toFixed(1)} ${y.toFixed(1)}`
  })
  return path
}
