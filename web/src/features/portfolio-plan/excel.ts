/** A workbook of one sheet, as Excel and its likes read it: parts of XML, stored in a zip without compression. */
const encoder = new TextEncoder()
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const SHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

export function workbookOf(name: string, table: readonly (string | number)[][]): Uint8Array<ArrayBuffer> {
  return zip([
    [
      '[Content_Types].xml',
      `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${SHEET}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${SHEET}.worksheet+xml"/></Types>`,
    ],
    [
      '_rels/.rels',
      `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    ],
    [
      'xl/workbook.xml',
      `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="${escaped(name)}" sheetId="1" r:id="r1"/></sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    ],
    ['xl/worksheets/sheet1.xml', sheetOf(table)],
  ])
}

function sheetOf(table: readonly (string | number)[][]): string {
  const cell = (value: string | number) => {
    if (value === '') return '<c/>'
    if (typeof value === 'number') return `<c><v>${value}</v></c>`
    return `<c t="inlineStr"><is><t>${escaped(value)}</t></is></c>`
  }
  const rows = table.map((line) => `<row>${line.map(cell).join('')}</row>`).join('')
  return `${HEAD}<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Fields of a record, little-endian, each with its width in bytes. */
function record(...fields: [number, 2 | 4][]): Uint8Array {
  const bytes = new Uint8Array(fields.reduce((sum, [, width]) => sum + width, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const [value, width] of fields) {
    if (width === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
    at += width
  }
  return bytes
}

/** 1 January 1980: the same plan makes the same file. */
const DATE = 0x21

function zip(files: readonly [string, string][]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let at = 0
  for (const [path, text] of files) {
    const [name, body] = [encoder.encode(path), encoder.encode(text)]
    const shared: [number, 2 | 4][] = [
      [0x800, 2],
      [0, 2],
      [0, 2],
      [DATE, 2],
      [checksum(body), 4],
      [body.length, 4],
      [body.length, 4],
      [name.length, 2],
      [0, 2],
    ]
    const head = record([0x04034b50, 4], [20, 2], ...shared)
    directory.push(record([0x02014b50, 4], [20, 2], [20, 2], ...shared, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]), name)
    parts.push(head, name, body)
    at += head.length + name.length + body.length
  }
  const size = directory.reduce((sum, one) => sum + one.length, 0)
  const { length } = files
  const end = record([0x06054b50, 4], [0, 2], [0, 2], [length, 2], [length, 2], [size, 4], [at, 4], [0, 2])
  const all = [...parts, ...directory, end]
  const bytes = new Uint8Array(all.reduce((sum, one) => sum + one.length, 0))
  let place = 0
  for (const one of all) {
    bytes.set(one, place)
    place += one.length
  }
  return bytes
}

/** CRC-32. */
function checksum(bytes: Uint8Array): number {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  }
  return (sum ^ 0xffffffff) >>> 0
}
