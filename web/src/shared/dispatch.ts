/** What a site says of its dispatch. */

export const SITE_WORDS: Record<string, string> = {
  RECEIVED: 'received',
  APPLIED: 'applied',
  REJECTED: 'rejected',
  NOT_FOLLOWED: 'not followed',
}

/** `94 applied, 2 rejected`; empty where nothing was said. */
export function countStatuses(statuses: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${count} ${SITE_WORDS[status] ?? status}`).join(', ')
}
