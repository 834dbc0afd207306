/** Around every screen: the rail, the bar with the clock, and what is said when the connection is lost. */
import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useAuctions } from '../features/auctions/data'
import { live, useConnection } from '../shared/api/live'
import { signOut, useSession } from '../shared/api/session'
import { useMinute } from '../shared/clock'
import { initials, words } from '../shared/format'
import { IconButton } from '../shared/ui/Button'
import { Icon } from '../shared/ui/Icon'
import { Said } from '../shared/ui/Said'
import { Segmented } from '../shared/ui/Segmented'
import { Empty, SkeletonCard } from '../shared/ui/states'
import { chooseZone, useZone } from '../shared/zone'
import { Boundary } from './Boundary'
import { useInterests } from './interests'
import { useShortcuts } from './keyboard'
import { Mark } from './Mark'
import { Link, usePath } from './router'
import { SandboxBar, SimulatorFault } from './SandboxBar'
import { type Found, findScreen, PLACES, type Place, preload } from './screens'
import { chooseTheme, useTheme } from './theme'

const Palette = lazy(() => import('./Palette'))
const Unread = lazy(() => import('../features/inbox/Unread'))
const ZONES = [
  { value: 'Europe/Berlin', label: 'Berlin' },
  { value: 'UTC', label: 'UTC' },
] as const

export function Frame({ onSignedOut }: { onSignedOut: () => void }) {
  const session = useSession()
  const queries = useQueryClient()
  const path = usePath()
  const [isPaletteOpen, setIsPaletteOpen] = useState(false)
  const interests = useInterests()
  const places = useMemo(
    () => PLACES.filter((place) => place.isShown(session) && (place.isWanted?.(interests) ?? true)),
    [session, interests],
  )
  const openPalette = useCallback(() => setIsPaletteOpen(true), [])
  useShortcuts(places, openPalette)
  useEffect(() => live.start(queries), [queries])
  const screen = findScreen(session.user.mustEnrolSecondFactor ? '/administration/security' : path)
  // Another screen begins at its top; another day of the same one stays where it is.
  const part = screen?.part
  const scroller = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it changes with the screen
  useEffect(() => {
    scroller.current?.scrollTo(0, 0)
  }, [part])

  const leave = async () => {
    // Requests in progress would be rejected once the session has ended.
    await queries.cancelQueries()
    await signOut()
    queries.clear()
    onSignedOut()
  }

  return (
    <div className="frame">
      <a className="skip" href="#screen">
        Skip to the screen
      </a>
      <Said />
      <nav className="rail" aria-label="Screens">
        <Link to="/" className="brand" aria-label="Gridloom, overview">
          <Mark />
          <span>Gridloom</span>
        </Link>
        <button type="button" className="find" onClick={openPalette}>
          <Icon name="find" />
          Find
          <kbd>⌘K</kbd>
        </button>
        <ul>
          {places.map((place) => (
            <RailLink key={place.path} place={place} path={path} />
          ))}
        </ul>
        <div className="person">
          <span className="avatar" aria-hidden="true">
            {initials(session.organisationName)}
          </span>
          <span className="person-name">
            <strong>{session.user.displayName || words(session.user.role)}</strong>
            <span>{session.organisationName}</span>
          </span>
          <IconButton name="leave" label="Sign out" onClick={() => void leave()} />
        </div>
      </nav>
      <header className="bar">
        <span className="narrow-only">
          <Mark size={26} />
        </span>
        <SandboxBar />
        <div className="bar-end">
          <ConnectionMark />
          <ZoneChoice />
          <ThemeChoice />
        </div>
      </header>
      <main id="screen" className="screen" tabIndex={-1} ref={scroller}>
        <SimulatorFault />
        <Boundary key={screen?.stays ?? path}>
          <Outlet screen={screen} />
        </Boundary>
      </main>
      <TabBar places={places} path={path} onMore={openPalette} />
      {isPaletteOpen && (
        <Suspense>
          <Palette places={places} onClose={() => setIsPaletteOpen(false)} onSignOut={() => void leave()} />
        </Suspense>
      )}
    </div>
  )
}

function Outlet({ screen }: { screen: Found | undefined }) {
  if (screen) return <Opened screen={screen} />
  return (
    <div className="page">
      <Empty title="There is no such screen" action={<Link to="/">To the overview</Link>} />
    </div>
  )
}

/**
 * Shows a screen as soon as its part of the program is there. React's own `Suspense` would keep a skeleton that it has
 * shown for at least 300 ms, in which nothing is asked for.
 */
function Opened({ screen: { part, values } }: { screen: Found }) {
  const [state, setState] = useState<{ fault: unknown } | null>(null)
  useEffect(() => {
    if (part.component) return
    let isCurrent = true
    const settle = (fault: unknown) => isCurrent && setState({ fault })
    part.load().then(() => settle(null), settle)
    return () => {
      isCurrent = false
    }
  }, [part])
  if (state?.fault) throw state.fault
  const Component = part.component
  return Component ? <Component values={values} /> : <Loading />
}

function Loading() {
  return (
    <div className="page">
      <SkeletonCard height={90} />
      <SkeletonCard height={420} />
    </div>
  )
}

function isHere(place: Place, path: string): boolean {
  return place.path === '/' ? path === '/' : path === place.path || path.startsWith(`${place.path}/`)
}

function RailLink({ place, path }: { place: Place; path: string }) {
  const isCurrent = isHere(place, path)
  return (
    <li>
      <Link
        to={place.path}
        className={isCurrent ? 'is-current' : ''}
        aria-current={isCurrent ? 'page' : undefined}
        onPointerEnter={() => preload(place.path)}
        onFocus={() => preload(place.path)}
      >
        <Icon name={place.icon} />
        {place.label}
        {place.path === '/auctions' && <OpenAuctions />}
        {place.path === '/inbox' && <UnreadCount />}
      </Link>
    </li>
  )
}

/** Read after the screen that was asked for. */
function UnreadCount() {
  return (
    <Suspense>
      <Unread />
    </Suspense>
  )
}

/** How many auctions take bids now. */
function OpenAuctions() {
  const now = useMinute()
  const auctions = useAuctions()
  const count = (auctions.data ?? []).filter(
    (one) => Date.parse(one.start) <= now && now < Date.parse(one.end) && one.state !== 'CANCELLED',
  ).length
  if (count === 0) return null
  return (
    <span className="count">
      {count}
      <span className="visually-hidden"> open</span>
    </span>
  )
}

function TabBar({ places, path, onMore }: { places: Place[]; path: string; onMore: () => void }) {
  return (
    <nav className="tab-bar" aria-label="Screens, short">
      {places.slice(0, 4).map((place) => (
        <Link
          key={place.path}
          to={place.path}
          className={isHere(place, path) ? 'is-current' : ''}
          aria-current={isHere(place, path) ? 'page' : undefined}
        >
          <span className="tab-icon">
            <Icon name={place.icon} size={20} />
            {place.path === '/auctions' && <OpenAuctions />}
            {place.path === '/inbox' && <UnreadCount />}
          </span>
          {place.short ?? place.label}
        </Link>
      ))}
      <button type="button" onClick={onMore}>
        <Icon name="more" size={20} />
        More
      </button>
    </nav>
  )
}

function ConnectionMark() {
  const connection = useConnection()
  if (connection !== 'lost') return <span role="status" className="visually-hidden" />
  return (
    <span role="status" className="connection-lost">
      <Icon name="stale" />
      Connection lost; figures may be old
    </span>
  )
}

function ZoneChoice() {
  const zone = useZone()
  return (
    <div className="wide-only">
      <Segmented label="Time zone" options={ZONES} value={zone} onChange={chooseZone} />
    </div>
  )
}

function ThemeChoice() {
  const theme = useTheme()
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <IconButton
      name={theme === 'dark' ? 'sun' : 'moon'}
      label={`Switch to the ${other} theme`}
      onClick={() => chooseTheme(other)}
    />
  )
}
