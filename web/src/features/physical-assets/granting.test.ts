import { describe, expect, test } from 'bun:test'
import { type Ticked, ticksOf, toggled } from './granting'

const OPERATOR = '01a1df93-1cb8-7254-998f-bb8355a1176f'
const GRANTS = [{ organisationID: OPERATOR, permissions: ['Read:schedules', 'Read:monitoring'] }] as never
const NOTHING: Ticked = new Map()

describe('the ticks of a grant', () => {
  test('are what the organisation has, however it is named: giving replaces it', () => {
    expect([...ticksOf(GRANTS, NOTHING, OPERATOR)]).toEqual(['Read:schedules', 'Read:monitoring'])
    expect([...ticksOf(GRANTS, NOTHING, OPERATOR.toUpperCase())]).toEqual(['Read:schedules', 'Read:monitoring'])
    expect([...ticksOf(GRANTS, NOTHING, 'somebody-new')]).toEqual(['Read:physical-assets'])
  })

  test('of one organisation are never another’s', () => {
    const ticked = toggled(GRANTS, NOTHING, OPERATOR, 'Update:schedules')
    expect([...ticksOf(GRANTS, ticked, OPERATOR)]).toEqual(['Read:schedules', 'Read:monitoring', 'Update:schedules'])
    expect([...ticksOf(GRANTS, ticked, 'somebody-new')]).toEqual(['Read:physical-assets'])
  })

  test('made before its ID is typed to the end stay, but not for one that has a grant', () => {
    const ticked = toggled([], NOTHING, '', 'Read:revenue')
    expect([...ticksOf([], ticked, 'somebody-new')]).toEqual(['Read:physical-assets', 'Read:revenue'])
    expect([...ticksOf(GRANTS, ticked, OPERATOR)]).toEqual(['Read:schedules', 'Read:monitoring'])
  })
})
