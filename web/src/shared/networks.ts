/** Addresses and networks in CIDR notation, IPv4 and IPv6. */

interface Address {
  value: bigint
  bits: 32 | 128
}

export function addressOf(text: string): Address | null {
  return text.includes(':') ? sixOf(text) : fourOf(text)
}

function fourOf(text: string): Address | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return null
  return { value: parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n), bits: 32 }
}

function sixOf(text: string): Address | null {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)
  if (mapped?.[1]) return fourOf(mapped[1])
  const halves = text.split('::')
  if (halves.length > 2) return null
  const words = (half: string | undefined) => (half ? half.split(':') : [])
  const [left, right] = [words(halves[0]), words(halves[1])]
  const missing = 8 - left.length - right.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null
  const all = [...left, ...Array.from({ length: missing }, () => '0'), ...right]
  if (!all.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return null
  return { value: all.reduce((sum, word) => sum * 65_536n + BigInt(`0x${word}`), 0n), bits: 128 }
}

export interface Network {
  address: Address
  length: number
}

/** `203.0.113.0/24`; a bare address is a network of one. */
export function networkOf(text: string): Network | null {
  const [host = '', length, ...rest] = text.trim().split('/')
  const address = addressOf(host)
  if (!address || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return null
  const bits = length === undefined ? address.bits : Number(length)
  return bits <= address.bits ? { address, length: bits } : null
}

export function contains(network: string, address: string): boolean {
  const [net, one] = [networkOf(network), addressOf(address)]
  if (!net || !one || net.address.bits !== one.bits) return false
  const shift = BigInt(one.bits - net.length)
  return net.address.value >> shift === one.value >> shift
}

/** Whether calls from the address are allowed; an empty list allows all. */
export function letsIn(networks: readonly string[], address: string | null): boolean {
  return networks.length === 0 || address === null || networks.some((network) => contains(network, address))
}
