/** QR codes (ISO/IEC 18004): bytes, error correction M, versions 1 to 10. Drawn here, so that no secret leaves the page. */

interface Blocks {
  /** Error correction codewords of each block. */
  correction: number
  /** Data codewords of each block, in order. */
  data: number[]
}

const repeat = (count: number, size: number): number[] => Array.from({ length: count }, () => size)
const BLOCKS: Blocks[] = [
  { correction: 10, data: [16] },
  { correction: 16, data: [28] },
  { correction: 26, data: [44] },
  { correction: 18, data: repeat(2, 32) },
  { correction: 24, data: repeat(2, 43) },
  { correction: 16, data: repeat(4, 27) },
  { correction: 18, data: repeat(4, 31) },
  { correction: 22, data: [38, 38, 39, 39] },
  { correction: 22, data: [36, 36, 36, 37, 37] },
  { correction: 26, data: [43, 43, 43, 43, 44] },
]
const ALIGNED: number[][] = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
]

export class TooLong extends Error {}

/** Rows of modules, true is dark. mask: one of eight; the least conspicuous when left out. */
export function encode(text: string, mask?: number): boolean[][] {
  const bytes = new TextEncoder().encode(text)
  const version = BLOCKS.findIndex((_, index) => bytes.length <= capacityOf(index + 1)) + 1
  if (version === 0) throw new TooLong(`${bytes.length} bytes do not fit.`)
  const stream = bitsOf(interleaved(dataOf(bytes, version), version))
  const masks = mask === undefined ? [0, 1, 2, 3, 4, 5, 6, 7] : [mask]
  const drawn = masks.map((each) => draw(version, stream, each))
  return drawn.reduce((best, each) => (penaltyOf(each) < penaltyOf(best) ? each : best))
}

const countBits = (version: number): number => (version < 10 ? 8 : 16)
const dataSize = (version: number): number => (BLOCKS[version - 1]?.data ?? []).reduce((sum, size) => sum + size, 0)
const capacityOf = (version: number): number => Math.floor((dataSize(version) * 8 - 4 - countBits(version)) / 8)

/** Mode, length, the bytes, an end, and what fills the rest. */
function dataOf(bytes: Uint8Array, version: number): number[] {
  const bits: number[] = []
  const put = (value: number, length: number) => {
    for (let place = length - 1; place >= 0; place -= 1) bits.push((value >> place) & 1)
  }
  put(0b0100, 4)
  put(bytes.length, countBits(version))
  for (const byte of bytes) put(byte, 8)
  const room = dataSize(version) * 8
  put(0, Math.min(4, room - bits.length))
  put(0, (8 - (bits.length % 8)) % 8)
  for (let filler = 0xec; bits.length < room; filler ^= 0xec ^ 0x11) put(filler, 8)
  return Array.from({ length: room / 8 }, (_, index) =>
    Number.parseInt(bits.slice(8 * index, 8 * index + 8).join(''), 2),
  )
}

/** Blocks side by side, codeword by codeword: data first, then their error correction. */
function interleaved(data: number[], version: number): number[] {
  const { correction, data: sizes } = BLOCKS[version - 1] as Blocks
  let from = 0
  const blocks = sizes.map((size) => {
    const part = data.slice(from, from + size)
    from += size
    return part
  })
  const corrections = blocks.map((block) => remainderOf(block, correction))
  const longest = Math.max(...sizes)
  const pick = (parts: number[][], length: number) =>
    Array.from({ length }, (_, index) =>
      parts.flatMap((part) => (index < part.length ? [part[index] as number] : [])),
    ).flat()
  return [...pick(blocks, longest), ...pick(corrections, correction)]
}

// --- Reed-Solomon over GF(256), x^8 + x^4 + x^3 + x^2 + 1 ------------------------------------------------------------

const EXPONENTS: number[] = []
const LOGARITHMS: number[] = []
for (let index = 0, value = 1; index < 255; index += 1) {
  EXPONENTS[index] = value
  LOGARITHMS[value] = index
  value = value << 1
  if (value > 255) value ^= 0x11d
}

function product(a: number, b: number): number {
  if (a === 0 || b === 0) return 0
  return EXPONENTS[((LOGARITHMS[a] ?? 0) + (LOGARITHMS[b] ?? 0)) % 255] ?? 0
}

function generatorOf(degree: number): number[] {
  let found = [1]
  for (let root = 0; root < degree; root += 1) {
    const next = [...found, 0]
    found.forEach((factor, index) => {
      next[index + 1] = (next[index + 1] ?? 0) ^ product(factor, EXPONENTS[root] ?? 0)
    })
    found = next
  }
  return found
}

function remainderOf(data: number[], degree: number): number[] {
  const generator = generatorOf(degree)
  const rest = [...data, ...repeat(degree, 0)]
  for (let index = 0; index < data.length; index += 1) {
    const lead = rest[index] ?? 0
    generator.forEach((factor, place) => {
      rest[index + place] = (rest[index + place] ?? 0) ^ product(factor, lead)
    })
  }
  return rest.slice(data.length)
}

const bitsOf = (codewords: number[]): number[] =>
  codewords.flatMap((word) => [7, 6, 5, 4, 3, 2, 1, 0].map((place) => (word >> place) & 1))

// --- the square ------------------------------------------------------------------------------------------------------

const MASKS: ((row: number, column: number) => boolean)[] = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (_, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
]

function draw(version: number, stream: number[], mask: number): boolean[][] {
  const size = 17 + 4 * version
  const square: (boolean | null)[][] = Array.from({ length: size }, () => new Array<boolean | null>(size).fill(null))
  const set = (row: number, column: number, isDark: boolean) => {
    const line = square[row]
    if (line && column >= 0 && column < size) line[column] = isDark
  }
  drawFinders(size, set)
  drawAligned(version, square, set)
  for (let index = 8; index < size - 8; index += 1) {
    set(6, index, index % 2 === 0)
    set(index, 6, index % 2 === 0)
  }
  drawFormat(size, mask, set)
  if (version >= 7) drawVersion(size, version, set)
  drawData(square, stream, MASKS[mask] ?? (() => false))
  return square.map((line) => line.map((cell) => cell === true))
}

type Set = (row: number, column: number, isDark: boolean) => void

function drawFinders(size: number, set: Set): void {
  for (const [top, left] of [
    [0, 0],
    [0, size - 7],
    [size - 7, 0],
  ] as const)
    for (let row = -1; row <= 7; row += 1)
      for (let column = -1; column <= 7; column += 1) {
        const [far, isInside] = [
          Math.max(Math.abs(row - 3), Math.abs(column - 3)),
          row >= 0 && row < 7 && column >= 0 && column < 7,
        ]
        if (top + row >= 0) set(top + row, left + column, isInside && far !== 2)
      }
}

function drawAligned(version: number, square: (boolean | null)[][], set: Set): void {
  const places = ALIGNED[version - 1] ?? []
  for (const middle of places)
    for (const across of places) {
      if (square[middle]?.[across] !== null) continue
      for (let row = -2; row <= 2; row += 1)
        for (let column = -2; column <= 2; column += 1)
          set(middle + row, across + column, Math.max(Math.abs(row), Math.abs(column)) !== 1)
    }
}

/** Error correction M is 00 in the format's five bits. */
function drawFormat(size: number, mask: number, set: Set): void {
  let rest = mask << 10
  for (let place = 14; place >= 10; place -= 1) if ((rest >> place) & 1) rest ^= 0x537 << (place - 10)
  const bits = ((mask << 10) | rest) ^ 0x5412
  for (let index = 0; index < 15; index += 1) {
    const isDark = ((bits >> index) & 1) === 1
    // Beside the upper left finder, top to bottom and right to left.
    if (index < 6) set(index, 8, isDark)
    else if (index < 8) set(index + 1, 8, isDark)
    else if (index === 8) set(8, 7, isDark)
    else set(8, 14 - index, isDark)
    // Beside the other two.
    if (index < 8) set(8, size - 1 - index, isDark)
    else set(size - 15 + index, 8, isDark)
  }
  set(size - 8, 8, true)
}

function drawVersion(size: number, version: number, set: Set): void {
  let rest = version << 12
  for (let place = 17; place >= 12; place -= 1) if ((rest >> place) & 1) rest ^= 0x1f25 << (place - 12)
  const bits = (version << 12) | rest
  for (let index = 0; index < 18; index += 1) {
    const isDark = ((bits >> index) & 1) === 1
    const [near, far] = [Math.floor(index / 3), size - 11 + (index % 3)]
    set(near, far, isDark)
    set(far, near, isDark)
  }
}

/** Two columns at a time from the right, up and down in turn; what is drawn already is stepped over. */
function drawData(
  square: (boolean | null)[][],
  stream: number[],
  mask: (row: number, column: number) => boolean,
): void {
  const size = square.length
  let next = 0
  let isUpward = true
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right -= 1
    for (let step = 0; step < size; step += 1) {
      const row = isUpward ? size - 1 - step : step
      for (const column of [right, right - 1]) {
        const line = square[row]
        if (!line || line[column] !== null) continue
        const isDark = (stream[next] ?? 0) === 1
        next += 1
        line[column] = isDark !== mask(row, column)
      }
    }
    isUpward = !isUpward
  }
}

/** How conspicuous a pattern is, by the standard's four rules. */
function penaltyOf(square: boolean[][]): number {
  const size = square.length
  const columns = square.map((_, column) => square.map((line) => line[column] === true))
  const lines = [...square, ...columns].map((line) => line.map((cell) => (cell ? '1' : '0')).join(''))
  let penalty = 0
  for (const line of lines) {
    for (const run of line.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2
    for (let at = 0; at + 11 <= size; at += 1) {
      const part = line.slice(at, at + 11)
      if (part === '10111010000' || part === '00001011101') penalty += 40
    }
  }
  for (let row = 0; row + 1 < size; row += 1)
    for (let column = 0; column + 1 < size; column += 1) {
      const four = [
        square[row]?.[column],
        square[row]?.[column + 1],
        square[row + 1]?.[column],
        square[row + 1]?.[column + 1],
      ]
      if (four.every((cell) => cell === four[0])) penalty += 3
    }
  const dark = square.flat().filter(Boolean).length
  return penalty + 10 * Math.floor(Math.abs((dark / (size * size)) * 100 - 50) / 5)
}
