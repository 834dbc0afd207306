/** What needs the operator: cuts of service, silent or conflicting batteries, auctions without a bid, what fails. */
import type { Health, PhysicalAsset } from '../../shared/api/resources'
import { decimal, megawatts, plural, size, words } from '../../shared/format'
import { QUARTER_MS } from '../../shared/time/marketDay'
import type { Auction } from '../auctions/data'
import type { Need } from './need'
import type { Operations } from './operator'

type Told = (ms: number) => string
const UNBID_MS = 24 * 3_600_000

export interface Operated {
  operations: Operations
  auctions: Auction[]
  physical: PhysicalAsset[]
  health: Map<string, Health>
}

export function operatorNeeds(known: Operated, now: number, tellTime: Told): Need[] {
  return [...unservedNeeds(known, now, tellTime), ...unbidNeeds(known, now, tellTime), ...failureNeeds(known)]
}

/** One row a zone: what was not served today, and what will not be if nothing changes. */
function unservedNeeds({ operations }: Operated, now: number, tellTime: Told): Need[] {
  return operations.zones.flatMap(({ deliveryZone, quarters }) => {
    const missed = quarters.filter((one) => Math.abs(one.unserved) >= 1)
    const [first, last] = [missed[0], missed.at(-1)]
    if (!first || !last) return []
    const mwh = missed.reduce((sum, one) => sum + Math.abs(one.unserved) / 4000, 0)
    const most = Math.max(...missed.map((one) => Math.abs(one.unserved))) / 1000
    const [start, end] = [Date.parse(first.time), Date.parse(last.time) + QUARTER_MS]
    const isComing = start > now
    return [
      {
        key: `unserved-${deliveryZone}`,
        deadline: isComing ? start : null,
        since: isComing ? null : start,
        what: isComing ? `from ${tellTime(start)}` : `since ${tellTime(start)}`,
        icon: 'outage' as const,
        tone: 'danger' as const,
        title: `**${decimal(mwh, 1)} MWh unserved** in ${deliveryZone}, ${tellTime(start)}–${tellTime(end)}`,
        note: `${plural(missed.length, 'quarter-hour')}, up to ${decimal(most, 1)} MW; an imbalance of the owners’ unless it was announced`,
        action: 'Open delivery',
        to: '/delivery',
      },
    ]
  })
}

/** Whether there is a bid is told; how many and how high is not. */
function unbidNeeds({ auctions }: Operated, now: number, tellTime: Told): Need[] {
  return auctions
    .filter((one) => Date.parse(one.start) <= now && now < Date.parse(one.end) && Date.parse(one.end) - now < UNBID_MS)
    .filter((one) => (one as { hasBid?: boolean }).hasBid === false)
    .map((one) => {
      const end = Date.parse(one.end)
      return {
        key: `unbid-${one.id}`,
        deadline: end,
        what: `closes ${tellTime(end)}`,
        icon: 'auction' as const,
        tone: 'warning' as const,
        title: `Auction **${size(one.item.ratedDischargePower, one.item.energyCapacity)} ${one.item.deliveryZone}** has no bid yet`,
        note: 'Whether there is a bid is all that is known before it is cleared',
        action: 'Open',
        to: `/auctions/${one.id}`,
      }
    })
}

const CLAIMS: Record<string, string> = {
  SCHEDULE: 'its own schedule',
  ANCILLARY_BID: 'a bid for reserve',
  VIRTUAL_ASSET: 'what a virtual battery was promised',
  AUCTION: 'what an open auction offers',
  VIRTUAL_ASSET_BLOCK: 'the schedule of a virtual battery',
}

/** What was promised or offered and no longer fits. */
export function conflictNeeds(
  { physical, health }: Pick<Operated, 'physical' | 'health'>,
  now: number,
  tellTime: Told,
): Need[] {
  return physical.flatMap((one) => {
    const conflicts = health.get(one.id)?.conflicts ?? []
    const first = [...conflicts].sort((a, b) => Date.parse(a.start) - Date.parse(b.start))[0]
    if (!first) return []
    const start = Date.parse(first.start)
    return [
      {
        key: `conflict-${one.id}`,
        deadline: start > now ? start : null,
        since: start > now ? null : start,
        what: `${start > now ? 'from' : 'since'} ${tellTime(start)}`,
        icon: 'cut' as const,
        tone: 'warning' as const,
        title: `**${one.name}** has too little for ${CLAIMS[first.kind] ?? 'what is promised'}`,
        note: `${megawatts(Math.abs(first.power))} MW asked, ${megawatts(first.available)} MW there${conflicts.length > 1 ? `; ${conflicts.length} conflicts in all` : ''}`,
        action: 'Conflicts',
        to: `/physical-assets/${one.id}/conflicts`,
      },
    ]
  })
}

const WATCHED: Record<string, string> = {
  'job runner': 'Jobs of the platform fail or are late',
  'event sequencer': 'Events are not put in order',
  migrations: 'The database lacks a migration',
  disk: 'The disk is nearly full',
  database: 'The database does not answer',
  writes: 'The database takes no writes',
}

function failureNeeds({ operations }: Operated): Need[] {
  const jobs = operations.checks
    .filter((check) => check.status !== 'OK' && check.name in WATCHED)
    .map((check) => ({
      key: `check-${check.name}`,
      deadline: null,
      since: null,
      what: words(check.status).toLowerCase(),
      icon: 'warning' as const,
      tone: 'danger' as const,
      title: `**${WATCHED[check.name]}**`,
      note: check.detail,
      action: 'Delivery',
      to: '/delivery',
    }))
  const failing = operations.webhooks
    .filter((hook) => !hook.enabled && hook.disabledBecause)
    .map((hook) => ({
      key: `webhook-${hook.id}`,
      deadline: null,
      since: hook.disabledAt ? Date.parse(hook.disabledAt) : null,
      what: 'webhook off',
      icon: 'bell' as const,
      tone: 'warning' as const,
      title: `Webhook **${hook.description || hostOf(hook.url)}** was switched off`,
      note: hook.disabledBecause ?? '',
      action: 'Deliveries',
      to: '/administration/webhooks',
    }))
  const check = operations.checks.find((one) => one.name === 'webhooks' && one.status !== 'OK')
  const others = check
    ? [
        {
          key: 'check-webhooks',
          deadline: null,
          since: null,
          what: 'webhooks',
          icon: 'bell' as const,
          tone: 'warning' as const,
          title: '**Webhooks** of organisations fail',
          note: check.detail,
          action: 'Webhooks',
          to: '/administration/webhooks',
        },
      ]
    : []
  return [...jobs, ...failing, ...others]
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
