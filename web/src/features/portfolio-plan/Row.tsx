import { memo, useLayoutEffect, useRef } from 'react'
import { decimal, euro, megawatts, signedEuro, size } from '../../shared/format'
import type { Span } from '../../shared/time/marketDay'
import { Link } from '../../shell/router'
import { bought, sold } from '../virtual-assets/projection'
import { drawRow, type Look } from './drawing'
import type { RowState } from './rows'

interface Props {
  row: RowState
  span: Span
  width: number
  closed: number
  look: Look
  isTicked: boolean
  /** Why the service did not take it, or why it could not be optimised. */
  refusal: string | undefined
  openMwh: number | null
  onTick: (id: string, isRange: boolean) => void
  onDraw: (id: string, share: number, level: number, isSameStep: boolean) => void
  onPoint: (share: number | null) => void
  onKeep: (id: string) => void
}

const HEIGHT = 32

/** One battery: its plan over the day, what it is worth, and what is wrong with it. */
export const Row = memo(function Row(props: Props) {
  const { row, span, width, closed, look, isTicked, refusal, openMwh } = props
  const { asset } = row
  const canvas = useRef<HTMLCanvasElement>(null)
  const isDrawing = useRef(false)
  useLayoutEffect(() => {
    if (!canvas.current) return
    drawRow(canvas.current, row, { width, height: HEIGHT, ...span, closed, isPale: !isTicked }, look)
  }, [row, width, span, closed, isTicked, look])
  const place = (event: React.PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    return [(event.clientX - box.left) / box.width, 1 - (2 * (event.clientY - box.top)) / box.height] as const
  }
  const gain = row.worth !== null && row.stored !== null ? row.worth - row.stored : null
  const fault = row.isOvertaken ? 'A colleague saved another plan of this day.' : (refusal ?? row.problem)
  const isBad = row.isOvertaken || refusal !== undefined || row.isInBreach
  return (
    <li className={`plan-row ${isTicked ? 'is-ticked' : ''} ${isBad ? 'is-bad' : ''}`}>
      <div className="plan-name">
        <input
          type="checkbox"
          data-battery={asset.id}
          aria-label={`${asset.name}, ${size(asset.ratedDischargePower, asset.energyCapacity)}`}
          checked={isTicked}
          onChange={(event) => props.onTick(asset.id, (event.nativeEvent as MouseEvent).shiftKey)}
        />
        <span className="plan-label">
          <Link to={`/virtual-batteries/${asset.id}/${row.plan.day}`} tabIndex={-1}>
            <strong>{asset.name}</strong>
          </Link>
          <span className="note">{size(asset.ratedDischargePower, asset.energyCapacity)}</span>
        </span>
      </div>
      <canvas
        ref={canvas}
        className="plan-canvas"
        style={{ height: HEIGHT }}
        role="img"
        aria-label={`buys ${decimal(bought(row.powersKw), 1)}, sells ${decimal(sold(row.powersKw), 1)} MWh of ${megawatts(asset.energyCapacity)}`}
        onPointerDown={(event) => {
          if (event.button !== 0 || event.pointerType === 'touch') return
          event.currentTarget.setPointerCapture(event.pointerId)
          isDrawing.current = true
          props.onDraw(asset.id, ...place(event), false)
        }}
        onPointerMove={(event) => {
          const [share, level] = place(event)
          props.onPoint(share)
          if (isDrawing.current) props.onDraw(asset.id, share, level, true)
        }}
        onPointerUp={() => {
          isDrawing.current = false
        }}
        onPointerLeave={() => props.onPoint(null)}
      />
      <div className="plan-worth">
        <span>
          <strong>{row.isInBreach ? '–' : row.worth === null ? 'no price' : euro(row.worth, 0)}</strong>{' '}
          {gain !== null && row.live.size > 0 && (
            <span className={gain >= 0 ? 'tone-good' : 'tone-danger'}>{signedEuro(gain)}</span>
          )}
        </span>
        <span className="note">
          {decimal((row.endKwh / asset.energyCapacity) * 100, 1)} %
          {openMwh !== null && ` · open ${decimal(openMwh, 1)}`}
        </span>
      </div>
      {fault && (
        <p className={`plan-fault ${isBad ? 'tone-danger' : 'tone-warning'}`}>
          {fault}
          {row.isOvertaken && (
            <>
              {' '}
              <button type="button" className="link-button" onClick={() => props.onKeep(asset.id)}>
                Keep mine
              </button>
            </>
          )}
        </p>
      )}
    </li>
  )
})
