/** Drawn here, so that no host but ours is asked for one. 16 by 16, one line of 1.4. */
const SHAPES = {
  overview: 'M2.5 7.3 8 2.8l5.5 4.5v6H9.8V9.6H6.2v3.7H2.5z',
  battery: 'M1.8 5h10.9v6H1.8zM14.2 7v2M4.3 7v2M6.8 7v2',
  plan: 'M2 4.5h6M11 4.5h3M9.5 3v3M2 8h2M7 8h7M5.5 6.5v3M2 11.5h7M12 11.5h2M10.5 10v3',
  auction: 'M8.6 3.4l4 4M7 5l4 4M10.6 1.9 5.5 7l3.5 3.5 5.1-5.1zM7.2 8.8 3 13M2 14.2h6',
  revenue: 'M2.5 13V8.5M6.2 13V3M9.8 13V6M13.5 13V4.5',
  asset: 'M2.3 13.2V7.8h3v5.4M5.3 13.2V4.6h3.4v8.6M8.7 13.2V2.6h3.2l1.8 2v8.6M1.5 13.2h13',
  delivery: 'M2 5.2h10.5M9.8 2.5l2.7 2.7-2.7 2.7M14 10.8H3.5M6.2 8.1 3.5 10.8l2.7 2.7',
  administration:
    'M8 5.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4',
  settlement: 'M3.5 1.8h9v12.4l-1.8-1.2-1.8 1.2-1.8-1.2-1.8 1.2-1.8-1.2zM5.8 5h4.4M5.8 7.5h4.4M5.8 10h2.6',
  inbox: 'M2.2 9.2 4 3.2h8l1.8 6v4H2.2zM2.2 9.2h3.4l.9 1.8h3l.9-1.8h3.4',
  find: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 14 14',
  flask: 'M6 2h4M6.6 2v4L3 13.2h10L9.4 6V2M4.6 10h6.8',
  moon: 'M12.8 9.6A5.2 5.2 0 0 1 6.4 3.2a5.2 5.2 0 1 0 6.4 6.4z',
  sun: 'M8 5.4a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6',
  clock: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 4.8V8l2.2 1.6',
  scales: 'M8 2.5v11M5 13.5h6M3 4.5h10M3 4.5 1.4 9h3.2zM13 4.5 11.4 9h3.2z',
  markets: 'M2.2 13.5h11.6M2.5 10.8h3V7h3.2V4.2h4.8',
  reserves: 'M1.5 8.5h3l2-5 3 9.5 2-4.5h3',
  stale: 'M2.5 13.5v-3M6 13.5V8M9.5 13.5V6M13 13.5V3M2 2l12 12',
  cut: 'M2.5 4h5v4h3v4h3v1.5h-11z',
  outage: 'M8.8 1.8 3.5 9h4L6.8 14.2 12.5 7h-4z',
  check: 'M3.2 8.4 6.4 11.6 12.8 4.8',
  close: 'M4 4l8 8M12 4l-8 8',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  left: 'M9.8 3.5 5.3 8l4.5 4.5',
  right: 'M6.2 3.5 10.7 8l-4.5 4.5',
  down: 'M3.5 6.2 8 10.7l4.5-4.5',
  copy: 'M5.5 5.5h7.7v7.7H5.5zM10.5 5.5V2.8H2.8v7.7h2.7',
  download: 'M8 2.5v7.4M4.8 7 8 10.2 11.2 7M2.8 13.2h10.4',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2 12.5 8 5 12.8z',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  undo: 'M5.5 3 2.8 5.7l2.7 2.7M3 5.7h6.2a3.6 3.6 0 0 1 0 7.2H6',
  redo: 'M10.5 3l2.7 2.7-2.7 2.7M13 5.7H6.8a3.6 3.6 0 0 0 0 7.2H10',
  key: 'M10.3 2.6a3.1 3.1 0 1 0 0 6.2 3.1 3.1 0 0 0 0-6.2zM8.1 7.9 2.6 13.4M4.2 11.8l1.7 1.7',
  user: 'M8 2.6a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.8 13.6c.6-2.6 2.6-3.9 5.2-3.9s4.6 1.3 5.2 3.9',
  leave: 'M9.5 2.8H3.2v10.4h6.3M6.8 8h7M11.3 5.5 13.8 8l-2.5 2.5',
  warning: 'M8 2.4 14.2 13H1.8zM8 6.4v3M8 11.2v.2',
  bell: 'M8 2.4a3.8 3.8 0 0 0-3.8 3.8c0 3.4-1.2 4.6-1.2 4.6h10s-1.2-1.2-1.2-4.6A3.8 3.8 0 0 0 8 2.4zM6.6 13.2h2.8',
} as const

export type IconName = keyof typeof SHAPES

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={SHAPES[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
