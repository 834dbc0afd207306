/** Whether a virtual battery ends its life where it has to. */
import type { VirtualAsset } from './api/resources'

/** A watt-hour: what doubles make of an energy brings no plan out of its tolerance. */
const NOISE_KWH = 1e-3

/** Whether a plan that ends so far off its target, kWh either way, is within the tolerance. */
export function isBalanced(
  { finalSoCTolerance, energyCapacity }: Pick<VirtualAsset, 'finalSoCTolerance' | 'energyCapacity'>,
  offKwh: number,
): boolean {
  return Math.abs(offKwh) <= finalSoCTolerance * energyCapacity + NOISE_KWH
}
