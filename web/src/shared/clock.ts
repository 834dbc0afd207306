/** The service's clock: every countdown runs on it, not on the reader's. */
import { useSyncExternalStore } from 'react'
import { askJson } from './api/client'

class ServiceClock {
  private offsetMs = 0
  private rate = 1
  private anchor = performance.now()
  private anchored = Date.now()
  private readonly listeners = new Set<() => void>()
  private timer: ReturnType<typeof setInterval> | null = null
  private shown = Date.now()

  /** The moment on the platform, ms since 1970. */
  now(): number {
    return this.anchored + this.offsetMs + (performance.now() - this.anchor) * this.rate
  }

  /** rate: how fast the platform's time runs against the reader's. */
  set(now: number, rate = 1): void {
    this.anchor = performance.now()
    this.anchored = now
    this.offsetMs = 0
    this.rate = rate
    this.tick()
  }

  async read(): Promise<void> {
    const asked = performance.now()
    const { now } = await askJson<{ now: string }>('/sandbox/clock')
    const halfway = (performance.now() - asked) / 2
    this.set(Date.parse(now) + halfway, this.rate)
  }

  private tick = (): void => {
    this.shown = Math.floor(this.now() / 1000) * 1000
    for (const listener of this.listeners) listener()
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    this.timer ??= setInterval(this.tick, 250)
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0 && this.timer) {
        clearInterval(this.timer)
        this.timer = null
      }
    }
  }

  shownSecond = (): number => this.shown
  shownMinute = (): number => Math.floor(this.shown / 60_000) * 60_000
}

export const clock = new ServiceClock()

/** The platform's time, anew every second. */
export function useNow(): number {
  return useSyncExternalStore(clock.subscribe, clock.shownSecond)
}

/** The platform's time by the minute, for what would flicker by the second. */
export function useMinute(): number {
  return useSyncExternalStore(clock.subscribe, clock.shownMinute)
}
