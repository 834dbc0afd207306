/** Numbers as the console writes them: a true minus, the unit once, and no more digits than mean something. */

const MINUS = '−'
const made = new Map<string, Intl.NumberFormat>()

export function decimal(value: number, digits = 0): string {
  const key = String(digits)
  let found = made.get(key)
  if (!found) {
    found = new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
    made.set(key, found)
  }
  const text = found.format(Math.abs(value))
  const isZero = !/[1-9]/.test(text)
  return value < 0 && !isZero ? MINUS + text : text
}

/** With its sign, `+4.2` or `−4.2`; zero has none. */
export function signed(value: number, digits = 1): string {
  const text = decimal(value, digits)
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text
}

export function euro(value: number, digits = 2): string {
  const text = decimal(Math.abs(value), digits)
  return value < 0 && /[1-9]/.test(text) ? `${MINUS}€${text}` : `€${text}`
}

export function signedEuro(value: number, digits = 0): string {
  const text = euro(Math.abs(value), digits)
  if (!/[1-9]/.test(text)) return text
  return value < 0 ? MINUS + text : `+${text}`
}

/** kW as MW without needless digits: `20`, `2.5`, `0.25`. */
export function megawatts(kw: number): string {
  const hundredths = Math.round(kw / 10)
  const digits = hundredths % 100 === 0 ? 0 : hundredths % 10 === 0 ? 1 : 2
  return decimal(hundredths / 100, digits)
}

const IN_MEGA: Record<string, string> = { kW: 'MW', kWh: 'MWh' }

/** A quantity that the service names, in the console's unit: `12 MW`, `5.25 MWh`. */
export function quantity(value: number, unit: string): string {
  const mega = IN_MEGA[unit]
  return mega ? `${megawatts(value)} ${mega}` : `${decimal(value, 2)} ${unit}`
}

/** `20 MW · 40 MWh` */
export function size(powerKw: number, energyKwh: number): string {
  return `${megawatts(powerKw)} MW · ${megawatts(energyKwh)} MWh`
}

export function percent(ratio: number, digits = 0): string {
  return `${decimal(ratio * 100, digits)} %`
}

/** Parts of a whole as percentages that make 100 as shown: `32 %`, `19 %`, `49 %`. */
export function percentages(shares: readonly number[]): string[] {
  const total = shares.reduce((sum, share) => sum + share, 0)
  const exact = shares.map((share) => (total > 0 ? (share / total) * 100 : 0))
  const whole = exact.map(Math.floor)
  const left = Math.round(total > 0 ? 100 : 0) - whole.reduce((sum, one) => sum + one, 0)
  const byRest = exact.map((_, index) => index).sort((a, b) => ((exact[b] ?? 0) % 1) - ((exact[a] ?? 0) % 1))
  const rounded = new Set(byRest.slice(0, left))
  return whole.map((one, index) => `${decimal(one + (rounded.has(index) ? 1 : 0))} %`)
}

/** `94 / 94 %` */
export function efficiencies(charge: number, discharge: number): string {
  const shown = (ratio: number) => decimal(ratio * 100, Number.isInteger(Math.round(ratio * 1000) / 10) ? 0 : 1)
  return `${shown(charge)} / ${shown(discharge)} %`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${decimal(count)} ${count === 1 ? one : many}`
}

/** `MAINTENANCE` → `Maintenance`, `GRID_CONSTRAINT` → `Grid constraint` */
export function words(constant: string): string {
  const text = constant.toLowerCase().replaceAll('_', ' ').replaceAll('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `NEGPOS_00_04` → `FCR 00–04` */
export function productInWords(product: string): string {
  const block = /^(NEGPOS|POS|NEG)_(\d\d)_(\d\d)$/.exec(product)
  if (block) {
    const kind = block[1] === 'NEGPOS' ? 'FCR' : `aFRR ${block[1] === 'POS' ? 'up' : 'down'}`
    return `${kind} ${block[2]}–${block[3]}`
  }
  const quarter = /^(POS|NEG)_(\d{3})$/.exec(product)
  return quarter ? `aFRR energy ${quarter[1] === 'POS' ? 'up' : 'down'}, quarter ${Number(quarter[2])}` : product
}

export function initials(name: string): string {
  const parts = name.split(/\s+/).filter(Boolean)
  return ((parts[0]?.[0] ?? '') + (parts[1]?.[0] ?? parts[0]?.[1] ?? '')).toUpperCase()
}
