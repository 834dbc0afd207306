/** Descriptions of the permissions. */
const WORDS: Record<string, string> = {
  'Read:physical-assets': 'see the battery, its parameters and availability',
  'Read:schedules': 'see schedules, dispatch and commitments',
  'Read:monitoring': 'see measurements and performance',
  'Read:revenue': 'see revenue, statements and prices',
  'Read:virtual-assets': 'see virtual batteries and their plans',
  'Read:auctions': 'see auctions',
  'Update:physical-assets': 'change parameters and master data',
  'Update:schedules': 'change schedules',
  'Create:bids': 'bid in auctions',
  'Create:trades': 'record trades',
  'Create:optimisations': 'optimise, repair and value plans',
  'Create:ancillary-bids': 'bid for FCR and aFRR',
  'Create:ancillary-results': 'record FCR and aFRR results',
  'Create:unavailabilities': 'report unavailabilities',
  'Create:logbook': 'write logbook entries',
  'Create:exchange-notifications': 'publish exchange notifications',
  'Create:monitoring': 'send measurements',
  'Create:settlements': 'settle, issue statements, steer feeds',
  'Create:reference-prices': 'publish prices',
  'Manage:auctions': 'create and run auctions',
  'Manage:organisation': 'manage members, keys and the organisation',
}

/** Reading first, then changing, as they are described here; what is not known here comes last. */
export function inOrder(permissions: readonly string[]): string[] {
  const known = Object.keys(WORDS)
  const place = (permission: string) => (known.indexOf(permission) + 1 || known.length + 1) - 1
  return [...permissions].sort((a, b) => place(a) - place(b))
}

export function permissionInWords(permission: string): string {
  const [action = '', resource = ''] = permission.split(':')
  return WORDS[permission] ?? `${action.toLowerCase()} ${resource.replaceAll('-', ' ')}`
}

const MARKETS: Record<string, string> = { fcr: 'FCR', afrr: 'aFRR' }

/** `updateOrganisation` → `Update organisation`, `listAPIKeys` → `List API keys` */
export function actionInWords(operationID: string): string {
  const text = operationID
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(' ')
    .map((word) => MARKETS[word.toLowerCase()] ?? (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()))
    .join(' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
