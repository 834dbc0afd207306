export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <rect width="24" height="24" rx="5" fill="#0b6e4f" />
      <path d="M9 5v14M15 5v14M5 8.5h14M5 12h14M5 15.5h14" stroke="#cdebdf" strokeWidth="1.6" strokeLinecap="round" />
    </svg>
  )
}
