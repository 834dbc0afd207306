/** What time it is on the platform; in the sandbox also how to move it, and how fast the simulated world runs. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ask, askJson, offers } from '../shared/api/client'
import { Refused, sentenceOf } from '../shared/api/problem'
import { useIsOperator, useSession } from '../shared/api/session'
import { type Simulator, usePlaying, useSimulator } from '../shared/api/simulator'
import { clock, useNow } from '../shared/clock'
import { percent } from '../shared/format'
import { age, longDay, timeS, weekday, weekdayTime } from '../shared/time/words'
import { Icon } from '../shared/ui/Icon'
import { useZone, zoneName } from '../shared/zone'

const STEPS = [
  { label: '+15 min', advance: 'PT15M' },
  { label: '+1 h', advance: 'PT1H' },
  { label: '+1 day', advance: 'P1D' },
]
const SPEEDS = [1, 4, 24, 96]

export function SandboxBar() {
  const { environment } = useSession()
  const zone = useZone()
  const now = useNow()
  const isSandbox = environment === 'sandbox'
  const queries = useQueryClient()

  const hasSimulator = offers('GET /sandbox/simulator')
  useSimulator()
  useEffect(() => {
    if (!isSandbox || hasSimulator) return
    const read = () => void clock.read().catch(() => undefined)
    read()
    const timer = setInterval(read, 10_000)
    return () => clearInterval(timer)
  }, [isSandbox, hasSimulator])

  const move = useMutation({
    mutationFn: async (advance: string) => {
      const moved = (await (await ask('/sandbox/clock', { method: 'PUT', body: { advance } })).json()) as {
        now: string
      }
      clock.set(Date.parse(moved.now))
    },
    onSettled: () => queries.invalidateQueries(),
  })

  return (
    <div className="sandbox-bar">
      {isSandbox && (
        <span className="sandbox-mark">
          <Icon name="flask" />
          Sandbox
        </span>
      )}
      <time className="bar-clock" dateTime={new Date(now).toISOString()}>
        <span className="wide-only">
          {longDay(now, zone)} {timeS(now, zone)} {zoneName(zone)}
        </span>
        <span className="narrow-only">
          {weekday(now, zone)} {timeS(now, zone)}
        </span>
      </time>
      {isSandbox && (
        <div className="bar-steps wide-only">
          {STEPS.map((step) => (
            <button
              key={step.advance}
              type="button"
              className="bar-step"
              disabled={move.isPending}
              onClick={() => move.mutate(step.advance)}
            >
              {step.label}
            </button>
          ))}
          <Walk isOwn={move.isPending} />
          {move.isError && (
            <span className={isStopped(move.error) ? 'note' : 'tone-danger'} role="status">
              {sentenceOf(move.error)}
            </span>
          )}
        </div>
      )}
      {isSandbox && <Speed />}
    </div>
  )
}

interface ClockView {
  walk?: { target: string }
}

/** Shows that the clock is being moved, and lets the operator stop it. */
function Walk({ isOwn }: { isOwn: boolean }) {
  const zone = useZone()
  const queries = useQueryClient()
  const isOperator = useIsOperator()
  const isOffered = isOperator && offers('DELETE /sandbox/clock/walk')
  const found = useQuery({
    queryKey: ['clock-walk', isOwn],
    queryFn: () => askJson<ClockView>('/sandbox/clock'),
    enabled: isOffered,
    // A walk of one's own is known of; one of another is found within seconds, at no cost to the first load.
    initialData: {} as ClockView,
    initialDataUpdatedAt: () => (isOwn ? 0 : Date.now()),
    staleTime: 5_000,
    refetchInterval: (query) => (isOwn || query.state.data?.walk ? 1_000 : 10_000),
    retry: false,
  })
  const stop = useMutation({
    mutationFn: () => ask('/sandbox/clock/walk', { method: 'DELETE' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['clock-walk'] }),
  })
  const target = found.data.walk?.target
  if (!isOwn && !target) return null
  return (
    <span className="bar-walk" role="status">
      <span className="note">moving the clock{target ? ` to ${weekdayTime(Date.parse(target), zone)}` : '…'}</span>
      {isOffered && target && (
        <button type="button" className="bar-step" disabled={stop.isPending} onClick={() => stop.mutate()}>
          Stop
        </button>
      )}
    </span>
  )
}

function isStopped(error: unknown): boolean {
  return error instanceof Refused && error.kind === 'clock-walk-stopped'
}

/** Why the simulated world stands still, if it does: above every screen, for none of them moves. */
export function SimulatorFault() {
  const { data } = useSimulator()
  const playing = usePlaying()
  if (playing && !data?.fault)
    return (
      <div className="strip playing" role="status">
        <strong>The sandbox plays its history: {percent(playing.progress)}</strong>
        <progress value={playing.progress} aria-label="History played" />
        <span className="note">
          {playing.leftMs === null ? 'a few minutes' : `about ${age(Math.max(5_000, playing.leftMs))}`} left; until then
          every figure still moves
        </span>
      </div>
    )
  if (!data?.fault) return null
  return (
    <p className="strip" role="status">
      {data.fault}
    </p>
  )
}

function Speed() {
  const isOperator = useIsOperator()
  const queries = useQueryClient()
  const simulator = useSimulator()
  const steer = useMutation({
    mutationFn: (change: Partial<Simulator>) =>
      askJson<Simulator>('/sandbox/simulator', { method: 'PUT', body: change }),
    onSuccess: (answer) => queries.setQueryData(['simulator'], answer),
  })
  const state = simulator.data
  if (!state) return null
  const hours = 24 / state.speed
  const pace = hours >= 1 ? `a day in ${Math.round(hours)} h` : `a day in ${Math.round(hours * 60)} min`
  return (
    <div className="bar-speed wide-only">
      {isOperator && (
        <>
          <button
            type="button"
            className="icon-button bordered"
            aria-label={state.running ? 'Pause the simulation' : 'Let the simulation run'}
            onClick={() => steer.mutate({ running: !state.running })}
          >
            <Icon name={state.running ? 'pause' : 'play'} />
          </button>
          <fieldset className="segmented">
            <legend className="visually-hidden">Speed</legend>
            {SPEEDS.map((speed) => (
              <label key={speed} className={speed === state.speed ? 'is-chosen' : ''}>
                <input
                  type="radio"
                  className="visually-hidden"
                  name="speed"
                  checked={speed === state.speed}
                  onChange={() => steer.mutate({ speed })}
                />
                {speed}×
              </label>
            ))}
          </fieldset>
        </>
      )}
      {state.fault ? (
        <span className="note tone-danger">the world stands still</span>
      ) : (
        <span className="note">
          {state.running ? pace : 'paused'} · seed {state.seed}
        </span>
      )}
    </div>
  )
}
