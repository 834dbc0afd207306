import { Fragment, useEffect, useState } from 'react'
import { useMinute } from '../../shared/clock'
import { plural, signed } from '../../shared/format'
import { addDays, dayOf } from '../../shared/time/marketDay'
import { dayMonth, time, timeS, weekday } from '../../shared/time/words'
import { Button } from '../../shared/ui/Button'
import { Card } from '../../shared/ui/Card'
import { Icon } from '../../shared/ui/Icon'
import { Page } from '../../shared/ui/Page'
import { Segmented } from '../../shared/ui/Segmented'
import { Empty, SkeletonRows } from '../../shared/ui/states'
import { isTyping } from '../../shared/ui/typing'
import { useZone } from '../../shared/zone'
import { go, Link } from '../../shell/router'
import { AlertRulesSheet } from './AlertRulesSheet'
import { useInbox, useReadState } from './backlog'
import './inbox.css'
import type { Item } from './item'

const MOST = 100

/** What happened while I was away, where is it, and what can I do about it? */
export default function Inbox() {
  const now = useMinute()
  const { items, isLoading } = useInbox(true)
  const { isUnread, mark } = useReadState(now)
  const [filter, setFilter] = useState<'all' | 'unread' | 'needs'>('all')
  const [picked, setPicked] = useState<string | null>(null)
  const [isChoosing, setIsChoosing] = useState(false)
  const unread = items.filter(isUnread)
  const needs = items.filter((item) => item.fix !== null && isUnread(item))
  const list = (
    filter === 'unread'
      ? items.filter((item) => isUnread(item) || item.key === picked)
      : filter === 'needs'
        ? items.filter((item) => item.fix !== null)
        : items
  ).slice(0, MOST)
  const shown = list.find((item) => item.key === picked) ?? null
  const open = (item: Item) => {
    setPicked(item.key)
    if (isUnread(item)) mark([item], true)
  }
  useKeys(list, shown, open, (item) => {
    mark([item], false)
    setPicked(null)
  })
  return (
    <Page
      title="Inbox"
      facts={[
        !isLoading && plural(unread.length, 'unread', 'unread'),
        needs.length > 0 && `${needs.length} need something from you`,
      ]}
      aside={
        <Button kind="quiet" icon="bell" onClick={() => setIsChoosing(true)}>
          What I am told
        </Button>
      }
    >
      {isChoosing && <AlertRulesSheet onClose={() => setIsChoosing(false)} />}
      <div className="inbox">
        <Card className="inbox-list" label="Messages">
          <header className="card-head">
            <Segmented
              label="Which"
              options={[
                { value: 'all', label: 'All' },
                { value: 'unread', label: isLoading ? 'Unread' : `Unread ${unread.length}` },
                { value: 'needs', label: 'With a fix' },
              ]}
              value={filter}
              onChange={setFilter}
            />
            <div className="card-actions">
              <Button kind="quiet" isCompact disabled={unread.length === 0} onClick={() => mark(unread, true)}>
                Mark all read
              </Button>
            </div>
          </header>
          {isLoading && <SkeletonRows rows={6} height={58} />}
          {!isLoading && list.length === 0 && (
            <Empty title={filter === 'all' ? 'Nothing happened in thirty days' : 'Nothing here'}>
              What is won, lost, cut, changed by a colleague or issued appears here.
            </Empty>
          )}
          <Groups items={list} now={now} shown={shown} isUnread={isUnread} onOpen={open} />
          <footer className="inbox-foot note">
            <span>
              <kbd>J</kbd> <kbd>K</kbd> move · <kbd>↵</kbd> open the place · <kbd>U</kbd> unread
            </span>
            <span>kept for 30 days</span>
          </footer>
        </Card>
        {shown ? (
          <Detail
            item={shown}
            onUnread={() => {
              mark([shown], false)
              setPicked(null)
            }}
          />
        ) : (
          <Card className="inbox-detail is-empty" label="Message">
            <Empty title="Choose a message">Opening it marks it read. Only you see which messages you have read.</Empty>
          </Card>
        )}
      </div>
    </Page>
  )
}

interface GroupsProps {
  items: Item[]
  now: number
  shown: Item | null
  isUnread: (item: Item) => boolean
  onOpen: (item: Item) => void
}

function Groups({ items, now, shown, isUnread, onOpen }: GroupsProps) {
  const zone = useZone()
  const today = dayOf(now, zone)
  const groupOf = (item: Item) => {
    const day = dayOf(item.time, zone)
    return day === today ? 'Today' : day === addDays(today, -1) ? `Yesterday, ${weekday(item.time, zone)}` : 'Earlier'
  }
  const groups = [...new Set(items.map(groupOf))]
  return groups.map((group) => (
    <section key={group} aria-label={group}>
      <h2 className="inbox-group">{group}</h2>
      <ul className="inbox-items">
        {items
          .filter((item) => groupOf(item) === group)
          .map((item) => (
            <li key={item.key}>
              <button
                type="button"
                className={item.key === shown?.key ? 'is-selected' : ''}
                aria-pressed={item.key === shown?.key}
                onClick={() => onOpen(item)}
              >
                <span className={isUnread(item) ? 'unread-dot' : 'unread-dot is-read'}>
                  <span className="visually-hidden">{isUnread(item) ? 'unread' : 'read'}</span>
                </span>
                <span className={`need-icon need-${item.tone}`}>
                  <Icon name={item.icon} />
                </span>
                <span className="inbox-what">
                  <span>
                    <Marked text={item.title} />
                  </span>
                  <span className="note">{item.note}</span>
                </span>
                <span className="note">{group === 'Earlier' ? dayMonth(item.time, zone) : time(item.time, zone)}</span>
              </button>
            </li>
          ))}
      </ul>
    </section>
  ))
}

function Detail({ item, onUnread }: { item: Item; onUnread: () => void }) {
  const zone = useZone()
  return (
    <Card className="inbox-detail" label="Message">
      <header className="inbox-head">
        <span className={`need-icon need-${item.tone}`}>
          <Icon name={item.icon} />
        </span>
        <span>
          <h2>
            <Marked text={item.title} />
          </h2>
          <span className="note">
            {weekday(item.time, zone)} {timeS(item.time, zone)}
          </span>
        </span>
      </header>
      <section className="inbox-part">
        <h3>What happened</h3>
        <p>{item.told}</p>
        {item.rows && <CutTable rows={item.rows} />}
      </section>
      {item.fix && (
        <section className="inbox-part">
          <h3>The fix</h3>
          <p className="verdict verdict-good">
            <strong>{item.fix.title}</strong> {item.fix.detail}
          </p>
        </section>
      )}
      <footer className="inbox-actions">
        {item.fix && (
          <Link to={item.fix.to} className="button button-primary">
            {item.fix.label} <span aria-hidden="true">↵</span>
          </Link>
        )}
        <Link to={item.place.to} className={item.fix ? 'button' : 'button button-primary'}>
          {item.place.label}
        </Link>
        <Button kind="quiet" onClick={onUnread}>
          Mark unread
        </Button>
      </footer>
    </Card>
  )
}

function CutTable({ rows }: { rows: NonNullable<Item['rows']> }) {
  const zone = useZone()
  return (
    <table className="range-table inbox-cuts">
      <thead>
        <tr>
          <th scope="col">Quarter</th>
          <th scope="col">Planned, MW</th>
          <th scope="col">Left, MW</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, 16).map((row) => (
          <tr key={row.time}>
            <th scope="row">{time(row.time, zone)}</th>
            <td className="number">{signed(row.before, 1)}</td>
            <td className="number">{signed(row.after, 1)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Text in which `**` marks what is bold. */
function Marked({ text }: { text: string }) {
  return text.split('**').map((piece, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one sentence
    index % 2 ? <strong key={index}>{piece}</strong> : <Fragment key={index}>{piece}</Fragment>,
  )
}

function useKeys(list: Item[], shown: Item | null, open: (item: Item) => void, unread: (item: Item) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return
      const at = list.findIndex((item) => item.key === shown?.key)
      const key = event.key.toLowerCase()
      const next =
        key === 'j' ? list[Math.min(list.length - 1, at + 1)] : key === 'k' ? list[Math.max(0, at - 1)] : undefined
      if (next) open(next)
      else if (
        event.key === 'Enter' &&
        shown &&
        !(event.target instanceof HTMLElement && event.target.closest('a, button, select'))
      )
        go(shown.fix?.to ?? shown.place.to)
      else if (key === 'u' && shown) unread(shown)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
}
