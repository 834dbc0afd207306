import { useMemo } from 'react'
import { encode } from './qr'

const QUIET = 4

/** Dark on light in both themes: a camera wants it so. */
export function QRCode({ text, label, size = 176 }: { text: string; label: string; size?: number }) {
  const rows = useMemo(() => encode(text), [text])
  const side = rows.length + 2 * QUIET
  const path = rows
    .flatMap((line, row) =>
      line.flatMap((isDark, column) => (isDark ? [`M${column + QUIET} ${row + QUIET}h1v1h-1z`] : [])),
    )
    .join('')
  return (
    <svg
      width={size}
      height={size}
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={label}
      className="qr"
      shapeRendering="crispEdges"
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={path} fill="#14201c" />
    </svg>
  )
}
