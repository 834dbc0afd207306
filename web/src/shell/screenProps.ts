import type { Values } from './router'

/** What a screen is given: the values in its address. */
export interface ScreenProps {
  values: Values
}
