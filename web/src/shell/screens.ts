/** Every screen: where it is, who sees it, and how to get there by keyboard. Each is loaded when it is first opened. */
import { type ComponentType, lazy } from 'react'
import { offers } from '../shared/api/client'
import type { Permission, Session } from '../shared/api/session'
import type { IconName } from '../shared/ui/Icon'
import type { Interests } from './interests'
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

export interface Screen {
  pattern: string
  component: ComponentType<ScreenProps>
}

const inbox = lazy(() => import('../features/inbox/Inbox'))
const overview = lazy(() => import('../features/overview/Overview'))
const virtualBatteries = lazy(() => import('../features/virtual-assets/VirtualBatteries'))
const day = lazy(() => import('../features/virtual-assets/BatteryDay'))
const history = lazy(() => import('../features/virtual-assets/history/History'))
const auctions = lazy(() => import('../features/auctions/Auctions'))
const revenue = lazy(() => import('../features/revenue/Revenue'))
const physicalAssets = lazy(() => import('../features/physical-assets/PhysicalAssets'))
const physicalAsset = lazy(() => import('../features/physical-assets/PhysicalAsset'))
const delivery = lazy(() => import('../features/delivery/Delivery'))
const settlement = lazy(() => import('../features/settlement/Settlement'))
const statementDocument = lazy(() => import('../features/settlement/StatementDocument'))
const administration = lazy(() => import('../features/administration/Administration'))

export const SCREENS: Screen[] = [
  { pattern: '/', component: overview },
  { pattern: '/inbox', component: inbox },
  { pattern: '/virtual-batteries', component: virtualBatteries },
  { pattern: '/virtual-batteries/:virtualAsset', component: day },
  { pattern: '/virtual-batteries/:virtualAsset/history', component: history },
  { pattern: '/virtual-batteries/:virtualAsset/:day', component: day },
  { pattern: '/auctions', component: auctions },
  { pattern: '/auctions/:auction', component: auctions },
  { pattern: '/revenue', component: revenue },
  { pattern: '/revenue/:kind/:subject', component: revenue },
  { pattern: '/physical-assets', component: physicalAssets },
  { pattern: '/physical-assets/:physicalAsset', component: physicalAsset },
  { pattern: '/physical-assets/:physicalAsset/:section', component: physicalAsset },
  { pattern: '/delivery', component: delivery },
  { pattern: '/delivery/:day', component: delivery },
  { pattern: '/settlement', component: settlement },
  { pattern: '/statements/:organisation/:statement', component: statementDocument },
  { pattern: '/administration', component: administration },
  { pattern: '/administration/:section', component: administration },
]
