/** What a plan does to the store, by the service's own formulas; `projection.cases.json` holds the two together. */

export interface Battery {
  chargeEfficiency: number
  dischargeEfficiency: number
  energyCapacityKwh: number
  /** What of it is there now; never more than the capacity. */
  availableEnergyKwh: number
}

/** As the service describes a virtual battery. */
interface Rated {
  chargeEfficiency: number
  dischargeEfficiency: number
  energyCapacity: number
  availableEnergyCapacity: number
  endStateOfChargePercentage: number
}

export function batteryOf(asset: Rated): Battery {
  return {
    chargeEfficiency: asset.chargeEfficiency,
    dischargeEfficiency: asset.dischargeEfficiency,
    energyCapacityKwh: asset.energyCapacity,
    availableEnergyKwh: asset.availableEnergyCapacity,
  }
}

export interface Breach {
  /** The quarter-hour at whose end the store is out of bounds. */
  index: number
  /** Above the capacity when positive, below empty when negative. */
  kwh: number
}

const HOURS = 0.25
/** As the service: what doubles make of an energy is no breach. */
const tolerance = (capacityKwh: number): number => 1e-6 + 1e-9 * capacityKwh

/** E' = E + Δt·(charge·η_c − discharge/η_d), from the start of the first quarter-hour to the end of the last, kWh. */
export function energies(startKwh: number, powersKw: readonly number[], battery: Battery): number[] {
  const found = [startKwh]
  let energy = startKwh
  for (const power of powersKw) {
    energy += power >= 0 ? (-power * HOURS) / battery.dischargeEfficiency : -power * HOURS * battery.chargeEfficiency
    found.push(energy)
  }
  return found
}

/** The first quarter-hour from `from` on that leaves the store above its capacity or below empty. */
export function firstBreach(energiesKwh: readonly number[], battery: Battery, from = 0): Breach | null {
  const slack = tolerance(battery.energyCapacityKwh)
  const top = Math.min(battery.availableEnergyKwh, battery.energyCapacityKwh)
  for (let index = from; index + 1 < energiesKwh.length; index += 1) {
    const energy = energiesKwh[index + 1] ?? 0
    if (energy > top + slack) return { index, kwh: energy - top }
    if (energy < -slack) return { index, kwh: energy }
  }
  return null
}

/** A cycle is the rated energy capacity exported once. */
export function cycles(powersKw: readonly number[], battery: Battery): number {
  const out = powersKw.reduce((sum, power) => sum + Math.max(0, power) * HOURS, 0)
  return out / battery.energyCapacityKwh
}

/** EUR: what is sold less what is bought, at a price for each quarter-hour; null while one of them is not known. */
export function value(powersKw: readonly number[], pricesEurMwh: readonly (number | null)[]): number | null {
  let sum = 0
  for (const [index, power] of powersKw.entries()) {
    if (power === 0) continue
    const price = pricesEurMwh[index]
    if (price === null || price === undefined) return null
    sum += ((power * HOURS) / 1000) * price
  }
  return sum
}

export function sold(powersKw: readonly number[]): number {
  return (powersKw.reduce((sum, power) => sum + Math.max(0, power), 0) * HOURS) / 1000
}

export function bought(powersKw: readonly number[]): number {
  return (powersKw.reduce((sum, power) => sum + Math.max(0, -power), 0) * HOURS) / 1000
}

export interface Projection {
  energiesKwh: number[]
  /** At the end of the battery's life, everything after this day as it is stored. */
  endKwh: number
  breach: Breach | null
}

interface Stored {
  powersKw: number[]
  energiesKwh: number[]
  startKwh: number
}

/** What powers make of the store: as the service projects it, from the first change on by the same formulas. */
export function projectionOf(asset: Rated, plan: Stored, powersKw: number[]): Projection {
  const battery = batteryOf(asset)
  const found = powersKw.findIndex((power, index) => power !== plan.powersKw[index])
  const from = found < 0 ? powersKw.length : found
  const tail = energies(plan.energiesKwh[from] ?? plan.startKwh, powersKw.slice(from), battery)
  const energiesKwh = found < 0 ? plan.energiesKwh : [...plan.energiesKwh.slice(0, from), ...tail]
  const stored = (asset.endStateOfChargePercentage / 100) * asset.energyCapacity
  return {
    energiesKwh,
    endKwh: stored + (energiesKwh.at(-1) ?? 0) - (plan.energiesKwh.at(-1) ?? 0),
    breach: found < 0 ? null : firstBreach(energiesKwh, battery, from),
  }
}
