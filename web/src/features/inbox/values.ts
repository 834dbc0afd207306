/** What events carry, as far as it has the expected kind. */
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const number = (value: unknown): number => (typeof value === 'number' ? value : Number(value) || 0)
/** `physical-assets/1a2b…` → `1a2b…` */
export const idOf = (subject: string): string => subject.split('/')[1] ?? ''
