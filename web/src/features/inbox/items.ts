/** What happened to the reader, one row a thing: made of events, and of nothing that would tell another's bids. */
import { decimal, euro, plural, words } from '../../shared/format'
import { dayOf, QUARTER_MS } from '../../shared/time/marketDay'
import { dayInWords, monthInWords } from '../../shared/time/words'
import { CONNECTED_MAKERS } from './connectedItems'
import type { Item, Maker, Names, Placed } from './item'
import { idOf, number, text } from './values'

export const WANTED = [
  'auction.cleared',
  'auction.cancelled',
  'schedule.updated',
  'schedule.adjusted',
  'virtual-asset.availability-changed',
  'ancillary.result',
  'statement.issued',
  'api-key.expiring',
  'webhook.disabled',
  'quota.near',
  'delivery.reserve-shortfall',
  'delivery.run-failed',
  'dispatch.deviation',
  'dispatch.not-followed',
  'order.executed',
  'order.not-executed',
  'order.overdue',
  'feed.late',
  'feed.failed',
  'feed.differs',
] as const

/** One row a thing: of several events about it the newest is shown. */
export function itemsOf(events: Placed[], names: Names): Item[] {
  const found = new Map<string, Item>()
  const results = new Map<string, Placed[]>()
  const deviations = new Map<string, Placed[]>()
  for (const event of events) {
    if (event.type === 'ancillary.result') {
      const key = `result-${idOf(event.subject)}-${text(event.data.deliveryDay)}-${kindOf(text(event.data.product))}`
      results.set(key, [...(results.get(key) ?? []), event])
      continue
    }
    if (event.type === 'dispatch.deviation') {
      const key = `deviation-${idOf(event.subject)}-${dayOf(Date.parse(text(event.data.start)))}`
      deviations.set(key, [...(deviations.get(key) ?? []), event])
      continue
    }
    const item = MAKERS[event.type]?.(event, names)
    if (item) found.set(item.key, item)
  }
  for (const [key, some] of results) {
    const item = resultItem(key, some, names)
    if (item) found.set(key, item)
  }
  for (const [key, some] of deviations) found.set(key, deviationItem(key, some, names))
  return [...found.values()].sort((a, b) => b.time - a.time)
}

const MAKERS: Record<string, Maker> = {
  ...CONNECTED_MAKERS,
  'auction.cleared': (event, names) => {
    const id = idOf(event.subject)
    const auction = names.auction(id)
    const status = text(event.data.status)
    if (!auction || (status !== 'WON' && status !== 'LOST')) return null
    const price = auction.price === null ? '' : euro(auction.price)
    const isWon = status === 'WON'
    const place = { label: 'Open the auction', to: `/auctions/${id}` }
    const isToPlan =
      isWon && auction.virtualAssetID !== null && auction.end > names.now && !names.isPlanned(auction.virtualAssetID)
    return {
      key: `auction-${id}`,
      time: Date.parse(event.time),
      icon: 'auction',
      tone: isWon ? 'good' : 'quiet',
      title: `${isWon ? 'Won' : 'Lost'}: **${auction.what}**`,
      note: isWon ? `You pay ${price}` : `Your bid ${price}; other bids are never shown`,
      told: isWon
        ? `The auction closed and your bid of ${price} won. The battery is yours for its window.`
        : `The auction closed and your bid of ${price} did not win. Other bids and their number are never shown.`,
      place:
        isWon && auction.virtualAssetID
          ? { label: 'Open the battery', to: `/virtual-batteries/${auction.virtualAssetID}` }
          : place,
      fix: isToPlan
        ? {
            title: 'Plan its first day.',
            detail: 'It stands still until it has a plan.',
            label: 'Plan it',
            to: `/virtual-batteries/${auction.virtualAssetID}`,
          }
        : null,
    }
  },
  'auction.cancelled': (event, names) => {
    const id = idOf(event.subject)
    const auction = names.auction(id)
    return {
      key: `auction-${id}`,
      time: Date.parse(event.time),
      icon: 'auction',
      tone: 'quiet',
      title: `Cancelled: **${auction?.what ?? 'an auction'}**`,
      note: 'No price is due',
      told: 'The auction was cancelled. No bid counts, and no price is due.',
      place: { label: 'Open the auction', to: `/auctions/${id}` },
      fix: null,
    }
  },
  'schedule.updated': (event, names) => {
    const id = idOf(event.subject)
    if (!event.subject.startsWith('virtual-assets/')) return null
    const author = names.author(id, number(event.data.version))
    if (author === null) return null
    const [start, end] = [Date.parse(text(event.data.start)), Date.parse(text(event.data.end))]
    const day = dayOf(start)
    const count = plural(number(event.data.periods), 'quarter-hour')
    return {
      key: `schedule-${id}-${day}`,
      time: Date.parse(event.time),
      icon: 'user',
      tone: 'warning',
      title: `${author} changed **${names.battery(id)}**, ${names.tellDay(start)}`,
      note: `${count}, ${names.tellTime(start)}–${names.tellEnd(end)}`,
      told: `${author} saved a plan of ${names.battery(id)}: ${count} between ${names.tellTime(start)} and ${names.tellEnd(end)} on ${names.tellDay(start)}.`,
      place: { label: `Open ${names.tellDay(start)}`, to: `/virtual-batteries/${id}/${day}` },
      fix:
        end > names.now
          ? {
              title: 'See what changed.',
              detail: 'The difference is drawn, and an earlier version can be restored.',
              label: 'History',
              to: `/virtual-batteries/${id}/history`,
            }
          : null,
    }
  },
  'schedule.adjusted': (event, names) => {
    const id = idOf(event.subject)
    const start = Date.parse(text(event.data.start))
    const day = dayOf(start)
    return {
      key: `cut-${id}-${day}`,
      time: Date.parse(event.time),
      icon: 'cut',
      tone: 'danger',
      title: `**${names.battery(id)}** was cut, ${names.tellDay(start)} ${names.tellTime(start)}`,
      note: reasonInWords(text(event.data.reason)),
      told: `At its gate the plan no longer fitted and was cut from ${names.tellTime(start)} on: ${reasonInWords(text(event.data.reason)).toLowerCase()}. What still fitted was not touched.`,
      place: { label: `Open ${names.tellDay(start)}`, to: `/virtual-batteries/${id}/${day}` },
      fix: null,
    }
  },
  'virtual-asset.availability-changed': (event, names) => {
    const id = idOf(event.subject)
    const cuts = (event.data.expectedCuts ?? []) as {
      timestamp: string
      acceptedSchedule: number
      adjustedSchedule: number
      reason: string
    }[]
    const rows = cuts.map((cut) => ({
      time: Date.parse(cut.timestamp),
      before: cut.acceptedSchedule / 1000,
      after: cut.adjustedSchedule / 1000,
    }))
    const first = rows[0]
    if (!first) return null
    const last = rows.at(-1) ?? first
    const lost = rows.reduce((sum, row) => sum + Math.abs(row.before - row.after) / 4, 0)
    const day = dayOf(first.time)
    return {
      key: `expected-${id}-${day}`,
      time: Date.parse(event.time),
      icon: 'cut',
      tone: 'warning',
      title: `Expected cut on **${names.battery(id)}**, ${names.tellDay(first.time)} ${names.tellTime(first.time)}–${names.tellEnd(last.time + QUARTER_MS)}`,
      note: `${decimal(first.before, 1)} → ${decimal(first.after, 1)} MW, ${decimal(lost, 1)} MWh less`,
      told: `A battery behind ${names.battery(id)} has less to give then. At the gate the plan would be cut by ${decimal(lost, 2)} MWh.`,
      rows,
      sizeMwh: lost,
      place: { label: `Open ${names.tellDay(first.time)}`, to: `/virtual-batteries/${id}/${day}` },
      fix:
        last.time + QUARTER_MS > names.now
          ? {
              title: 'Have the plan repaired.',
              detail: 'The nearest plan that fits is proposed before it is saved.',
              label: 'Repair plan',
              to: `/virtual-batteries/${id}/${day}`,
            }
          : null,
    }
  },
  'statement.issued': (event) => {
    const { data } = event
    const organisation = event.subject.split('/')[1] ?? text(data.organisationID)
    const statement = text(data.statementID) || (event.subject.split('/')[3] ?? '')
    const named = text(data.number)
    const month = data.month ? monthInWords(text(data.month)) : ''
    return {
      key: `statement-${statement}`,
      time: Date.parse(event.time),
      icon: 'settlement',
      tone: 'quiet',
      title: `Statement **${named}** was issued`,
      note: data.total === undefined ? month : `${month}: ${euro(number(data.total))}`,
      told: `The statement ${named} of ${month} was issued and never changes. What facts change later is corrected in a later month.`,
      place: { label: 'Open the statement', to: `/statements/${organisation}/${statement}` },
      fix: null,
    }
  },
  'api-key.expiring': (event, names) => {
    const expires = Date.parse(text(event.data.expiresAt))
    return {
      key: `key-${text(event.data.apiKeyID)}`,
      time: Date.parse(event.time),
      icon: 'key',
      tone: 'warning',
      title: `API key **${text(event.data.name)}** expires`,
      note: `${names.tellDay(expires)} ${names.tellTime(expires)}, made by ${text(event.data.username)}`,
      told: `What uses the key ${text(event.data.name)} is refused from then on.`,
      place: { label: 'Open the keys', to: '/administration/api-keys' },
      fix: {
        title: 'Make a new key and hand it over.',
        detail: 'The old one works until it expires or is revoked.',
        label: 'New key',
        to: '/administration/api-keys',
      },
    }
  },
  'webhook.disabled': (event) => ({
    key: `webhook-${text(event.data.webhookID)}`,
    time: Date.parse(event.time),
    icon: 'bell',
    tone: 'danger',
    title: `Webhook **${text(event.data.url)}** was switched off`,
    note: text(event.data.reason),
    told: 'Calls failed for three days, so no more are made. What happened meanwhile can be sent again.',
    place: { label: 'Open the webhooks', to: '/administration/webhooks' },
    fix: {
      title: 'Switch it on again.',
      detail: 'Once the receiver answers.',
      label: 'Webhooks',
      to: '/administration/webhooks',
    },
  }),
  'quota.near': (event) => ({
    key: 'quota',
    time: Date.parse(event.time),
    icon: 'warning',
    tone: 'warning',
    title: 'A share of your organisation is **nearly used up**',
    note: words(text(event.data.share) || 'stored-telemetry'),
    told: 'Beyond the share further writes are refused.',
    place: { label: 'Open the usage', to: '/administration/security' },
    fix: null,
  }),
  'delivery.reserve-shortfall': (event, names) => {
    const start = Date.parse(text(event.data.start) || event.time)
    return {
      key: `reserve-${text(event.data.deliveryZone)}-${dayOf(start)}`,
      time: Date.parse(event.time),
      icon: 'outage',
      tone: 'danger',
      title: `**Reserve will not be held**${text(event.data.deliveryZone) ? ` in ${text(event.data.deliveryZone)}` : ''}, ${names.tellDay(start)}`,
      note: `from ${names.tellTime(start)}`,
      told: 'Not enough free power and energy is left in the zone to hold what was sold.',
      place: { label: 'Open delivery', to: '/delivery' },
      fix: null,
    }
  },
  'delivery.run-failed': (event) => ({
    key: 'run-failed',
    time: Date.parse(event.time),
    icon: 'warning',
    tone: 'danger',
    title: 'A **delivery run failed**',
    note: text(event.data.fault) || text(event.data.deliveryZone),
    told: 'The batteries keep the dispatch of the run before until one succeeds.',
    place: { label: 'Open delivery', to: '/delivery' },
    fix: null,
  }),
}

/** All quarter-hours of a battery and day are one thing: what they make together, and since when. */
function deviationItem(key: string, all: Placed[], names: Names): Item {
  // One that was measured again is told again.
  const events = [...new Map(all.map((event) => [text(event.data.start), event])).values()]
  const of = (event: Placed | undefined, name: string) => number(event?.data[name]) / 1000
  const last = events.at(-1)
  const id = idOf(last?.subject ?? '')
  const start = Math.min(...events.map((event) => Date.parse(text(event.data.start))))
  const size = events.reduce((sum, event) => sum + Math.abs(of(event, 'asked') - of(event, 'delivered')), 0)
  const [asked, delivered] = [of(last, 'asked'), of(last, 'delivered')]
  const when = `${names.tellDay(start)} from ${names.tellTime(start)}`
  const isOne = events.length === 1
  return {
    key,
    time: Math.max(...events.map((event) => Date.parse(event.time))),
    icon: 'outage',
    tone: 'danger',
    sizeMwh: size,
    title: isOne
      ? `${deviationInWords(asked, delivered)}: **${names.battery(id)}**`
      : `${decimal(size, 1)} MWh off its dispatch: **${names.battery(id)}**`,
    note: isOne
      ? `${when}: ${decimal(asked, 1)} MWh asked, ${decimal(delivered, 1)} measured`
      : `${when}: ${plural(events.length, 'quarter-hour')}, at last ${deviationInWords(asked, delivered)}`,
    told: 'What was measured is far from what was dispatched. Unless it was announced the difference is the owner’s imbalance.',
    place: { label: 'Open the battery', to: `/physical-assets/${id}` },
    fix: {
      title: 'Report what is missing.',
      detail: 'The holders are notified at once and can change their plans.',
      label: 'Report',
      to: `/physical-assets/${id}`,
    },
  }
}

/** A battery that exports where nothing was asked has not failed to deliver. Export is positive. */
function deviationInWords(asked: number, delivered: number): string {
  const amount = `${decimal(Math.abs(asked - delivered), 1)} MWh`
  if (asked === 0) return `${amount} ${delivered > 0 ? 'exported' : 'imported'} without being asked`
  if (Math.sign(asked) !== Math.sign(delivered) && delivered !== 0) return `${amount} the wrong way`
  const isLess = Math.abs(delivered) < Math.abs(asked)
  return `${amount} ${isLess ? 'not' : 'too much'} ${asked > 0 ? 'exported' : 'imported'}`
}

const REASONS: Record<string, string> = {
  AVAILABILITY: 'A backing battery has less to give',
  CYCLE_LIMIT: 'The cycles are used up',
  STATE_OF_ENERGY_BOUNDARIES: 'The store would be empty or full',
}
const reasonInWords = (reason: string): string => REASONS[reason] ?? 'It no longer fits'

const kindOf = (product: string): string =>
  product.startsWith('NEGPOS') ? 'FCR' : /_\d{3}$/.test(product) ? 'aFRR energy' : 'aFRR capacity'

/** All results of one delivery day, battery and kind of product are one thing. */
function resultItem(key: string, all: Placed[], names: Names): Item | null {
  // A corrected result is another event of the same bid; an aFRR bid has a result for each of its quarter-hours.
  const events = [...new Map(all.map((event) => [`${event.subject} ${text(event.data.product)}`, event])).values()]
  const first = events[0]
  if (!first) return null
  const id = idOf(first.subject)
  const accepted = events.filter((event) => event.data.status === 'ACCEPTED').length
  const day = text(first.data.deliveryDay)
  const kind = kindOf(text(first.data.product))
  const place = { label: 'Open the results', to: `/physical-assets/${id}/bids` }
  return {
    key,
    time: Math.max(...events.map((event) => Date.parse(event.time))),
    icon: 'revenue',
    tone: accepted > 0 ? 'good' : 'quiet',
    title: `${kind}: **${accepted} of ${plural(events.length, 'bid')} accepted**, ${names.battery(id)}`,
    note: `delivery ${dayInWords(day)}`,
    told: `The results of ${kind} for ${dayInWords(day)} are there: ${accepted} of ${plural(events.length, 'bid')} of ${names.battery(id)} ${accepted === 1 ? 'was' : 'were'} accepted.`,
    place,
    fix: null,
  }
}
