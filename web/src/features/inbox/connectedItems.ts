/** What comes from outside the platform: orders at the exchange, feeds of market data, answers of sites. */
import { decimal, words } from '../../shared/format'
import { dayInWords } from '../../shared/time/words'
import type { Maker, Placed } from './item'
import { idOf, text } from './values'

const STAGES: Record<string, string> = {
  FCR: 'FCR',
  AFRR: 'aFRR',
  DAY_AHEAD: 'day-ahead auction',
  IDA1: 'first intraday auction',
  IDA2: 'second intraday auction',
  IDA3: 'third intraday auction',
}
const stageOf = (event: Placed): string => STAGES[text(event.data.stage)] ?? words(text(event.data.stage))

const orderItem =
  (word: string, tone: 'good' | 'warning' | 'danger' | 'quiet', told: (event: Placed) => string): Maker =>
  (event, names) => {
    const asset = text(event.data.virtualAssetID)
    const day = text(event.data.deliveryDay)
    return {
      key: `order-${text(event.data.orderID) || idOf(event.subject)}`,
      time: Date.parse(event.time),
      icon: 'auction',
      tone: event.data.applied === false || event.data.problem ? 'warning' : tone,
      title: `Order ${word}: **${names.battery(asset)}**, ${stageOf(event)}`,
      note: day ? `delivery ${dayInWords(day as never)}` : '',
      told: told(event),
      place: { label: 'Open the day', to: `/virtual-batteries/${asset}/${day}` },
      fix: null,
    }
  }

const feedItem =
  (word: string, tone: 'warning' | 'danger', told: (event: Placed) => string): Maker =>
  (event) => {
    const series = (Array.isArray(event.data.series) ? event.data.series : [event.data.series]).map(text)
    return {
      key: `feed-${word}-${text(event.data.feed)}-${series.join()}`,
      time: Date.parse(event.time),
      icon: 'warning',
      tone,
      title: `Feed **${text(event.data.feed)}** ${word}`,
      note: series.map((one) => words(one)).join(', '),
      told: told(event),
      place: { label: 'Open the feeds', to: '/administration/feeds' },
      fix: null,
    }
  }

export const CONNECTED_MAKERS: Record<string, Maker> = {
  'order.executed': orderItem('executed', 'good', (event) =>
    event.data.applied === false
      ? 'Its trades are booked. The plan was not changed: it was changed meanwhile, or does not take the position.'
      : 'Its trades or reserves are booked.',
  ),
  'order.not-executed': orderItem(
    'not executed',
    'quiet',
    () => 'The prices did not give what it asks for at least, so nothing was traded.',
  ),
  'order.overdue': orderItem(
    'without a result',
    'danger',
    () => 'Delivery has begun and no result was recorded. A result is still taken.',
  ),
  'feed.late': feedItem('is late', 'warning', (event) => {
    const day = text(event.data.deliveryDay)
    return `Values${day ? ` of ${dayInWords(day as never)}` : ''} are not published yet. The next source is asked.`
  }),
  'feed.failed': feedItem('failed', 'danger', (event) => `${text(event.data.fault)} Nothing was written.`),
  'feed.differs': feedItem(
    'differs from another source',
    'warning',
    (event) => `The largest difference is ${decimal(Number(event.data.difference) || 0, 2)}.`,
  ),
  'dispatch.not-followed': (event, names) => {
    const id = idOf(event.subject)
    return {
      key: `not-followed-${id}`,
      time: Date.parse(event.time),
      icon: 'outage',
      tone: 'danger',
      title: `**${names.battery(id)}** does not follow its dispatch`,
      note: text(event.data.reason),
      told: 'Its site says that the set-point was written and the battery does something else.',
      place: { label: 'Open the battery', to: `/physical-assets/${id}` },
      fix: null,
    }
  },
}
