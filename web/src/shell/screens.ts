/** Every screen: where it is, who sees it, and how to get there by keyboard. Each is loaded when it is first opened. */
import type { ComponentType } from 'react'
import { offers } from '../shared/api/client'
import type { Permission, Session } from '../shared/api/session'
import type { IconName } from '../shared/ui/Icon'
import type { Interests } from './interests'
import { match, type Values } from './router'
import type { ScreenProps } from './screenProps'

export interface Place {
  label: string
  /** In the tab bar of a phone. */
  short?: string
  path: string
  icon: IconName
  /** After `g`. */
  letter: string
  isShown: (session: Session) => boolean
  /** Whether there is anything for the reader; left out where there always is. */
  isWanted?: (interests: Interests) => boolean
}

const may = (permission: Permission) => (session: Session) =>
  (session.user.permissions as Permission[]).includes(permission)
const isOperator = (session: Session) => session.organisationKind === 'OPERATOR'

/** The rail, top to bottom. */
export const PLACES: Place[] = [
  { label: 'Overview', path: '/', icon: 'overview', letter: 'o', isShown: () => true },
  { label: 'Inbox', path: '/inbox', icon: 'inbox', letter: 'i', isShown: () => true },
  {
    label: 'Virtual batteries',
    short: 'Batteries',
    path: '/virtual-batteries',
    icon: 'battery',
    letter: 'v',
    isShown: may('Read:virtual-assets'),
    isWanted: (interests) => interests.trades,
  },
  {
    label: 'Portfolio plan',
    short: 'Plan',
    path: '/portfolio-plan',
    icon: 'plan',
    letter: 'b',
    isShown: (session) => may('Read:virtual-assets')(session) && !isOperator(session),
    isWanted: (interests) => interests.trades,
  },
  {
    label: 'Open position',
    short: 'Position',
    path: '/open-position',
    icon: 'scales',
    letter: 'n',
    isShown: (session) => may('Read:virtual-assets')(session) && !isOperator(session),
    isWanted: (interests) => interests.trades,
  },
  {
    label: 'Markets of a day',
    short: 'Markets',
    path: '/markets',
    icon: 'markets',
    letter: 'k',
    isShown: (session) => may('Read:virtual-assets')(session) && !isOperator(session),
    isWanted: (interests) => interests.trades,
  },
  {
    label: 'Reserves',
    path: '/reserves',
    icon: 'reserves',
    letter: 'e',
    isShown: (session) =>
      (may('Read:physical-assets')(session) || may('Read:virtual-assets')(session)) && !isOperator(session),
  },
  {
    label: 'Auctions',
    path: '/auctions',
    icon: 'auction',
    letter: 'a',
    isShown: may('Read:auctions'),
    isWanted: (interests) => interests.trades,
  },
  {
    label: 'Revenue',
    path: '/revenue',
    icon: 'revenue',
    letter: 'r',
    isShown: (session) => may('Read:revenue')(session) && !isOperator(session),
  },
  {
    label: 'Physical assets',
    short: 'Assets',
    path: '/physical-assets',
    icon: 'asset',
    letter: 'p',
    isShown: may('Read:physical-assets'),
    isWanted: (interests) => interests.owns,
  },
  {
    label: 'Delivery',
    path: '/delivery',
    icon: 'delivery',
    letter: 'd',
    isShown: (session) => isOperator(session) && offers('GET /delivery/runs'),
  },
  {
    label: 'Settlement',
    path: '/settlement',
    icon: 'settlement',
    letter: 's',
    isShown: (session) => isOperator(session) && may('Create:settlements')(session),
  },
  { label: 'Administration', path: '/administration', icon: 'administration', letter: 'm', isShown: () => true },
]

/** A screen's part of the program. */
export interface Part {
  /** Once it is loaded. */
  component: ComponentType<ScreenProps> | null
  load: () => Promise<void>
}

export interface Screen {
  pattern: string
  part: Part
  /** Of the same one, what is shown stays while the address changes: a list and where it is scrolled to. */
  stays?: string
}

function screen(read: () => Promise<{ default: ComponentType<ScreenProps> }>): Part {
  const part: Part = {
    component: null,
    load: async () => {
      part.component ??= (await read()).default
    },
  }
  return part
}

const inbox = screen(() => import('../features/inbox/Inbox'))
const overview = screen(() => import('../features/overview/Overview'))
const virtualBatteries = screen(() => import('../features/virtual-assets/VirtualBatteries'))
const day = screen(() => import('../features/virtual-assets/BatteryDay'))
const portfolioPlan = screen(() => import('../features/portfolio-plan/PortfolioPlan'))
const openPosition = screen(() => import('../features/open-position/OpenPosition'))
const markets = screen(() => import('../features/markets/MarketsOfADay'))
const reserves = screen(() => import('../features/reserves/Reserves'))
const history = screen(() => import('../features/virtual-assets/history/History'))
const course = screen(() => import('../features/virtual-assets/CourseScreen'))
const auctions = screen(() => import('../features/auctions/Auctions'))
const revenue = screen(() => import('../features/revenue/Revenue'))
const physicalAssets = screen(() => import('../features/physical-assets/PhysicalAssets'))
const physicalAsset = screen(() => import('../features/physical-assets/PhysicalAsset'))
const delivery = screen(() => import('../features/delivery/Delivery'))
const settlement = screen(() => import('../features/settlement/Settlement'))
const statementDocument = screen(() => import('../features/settlement/StatementDocument'))
const organisation = screen(() => import('../features/organisations/OrganisationPage'))
const administration = screen(() => import('../features/administration/Administration'))

export const SCREENS: Screen[] = [
  { pattern: '/', part: overview },
  { pattern: '/inbox', part: inbox },
  { pattern: '/virtual-batteries', part: virtualBatteries },
  { pattern: '/virtual-batteries/:virtualAsset', part: day },
  { pattern: '/virtual-batteries/:virtualAsset/history', part: history },
  { pattern: '/virtual-batteries/:virtualAsset/course', part: course },
  { pattern: '/virtual-batteries/:virtualAsset/:day', part: day },
  { pattern: '/portfolio-plan', part: portfolioPlan, stays: 'portfolio-plan' },
  { pattern: '/portfolio-plan/:day', part: portfolioPlan, stays: 'portfolio-plan' },
  { pattern: '/open-position', part: openPosition, stays: 'open-position' },
  { pattern: '/open-position/:day', part: openPosition, stays: 'open-position' },
  { pattern: '/markets', part: markets, stays: 'markets' },
  { pattern: '/markets/:day', part: markets, stays: 'markets' },
  { pattern: '/reserves', part: reserves, stays: 'reserves' },
  { pattern: '/reserves/:day', part: reserves, stays: 'reserves' },
  { pattern: '/auctions', part: auctions, stays: 'auctions' },
  { pattern: '/auctions/:auction', part: auctions, stays: 'auctions' },
  { pattern: '/revenue', part: revenue, stays: 'revenue' },
  { pattern: '/revenue/:kind/:subject', part: revenue, stays: 'revenue' },
  { pattern: '/physical-assets', part: physicalAssets },
  { pattern: '/physical-assets/:physicalAsset', part: physicalAsset },
  { pattern: '/physical-assets/:physicalAsset/:section', part: physicalAsset },
  { pattern: '/delivery', part: delivery },
  { pattern: '/delivery/:day', part: delivery },
  { pattern: '/settlement', part: settlement },
  { pattern: '/statements/:organisation/:statement', part: statementDocument },
  { pattern: '/organisations/:organisation', part: organisation },
  { pattern: '/administration', part: administration },
  { pattern: '/administration/:section', part: administration },
]

export interface Found extends Screen {
  values: Values
}

export function findScreen(path: string): Found | undefined {
  for (const screen of SCREENS) {
    const values = match(screen.pattern, path)
    if (values) return { ...screen, values }
  }
  return undefined
}

/** Loads the screen of a path before it is opened: the reader points at it already. */
export function preload(path: string): void {
  // Opening it says what is wrong.
  findScreen(path)
    ?.part.load()
    .catch(() => undefined)
}
