import { expect, mock, test } from 'bun:test'

mock.module('virtual:operations', () => ({ default: new Set() }))
globalThis.localStorage ??= { getItem: () => null } as never
const { nettingOf, refusalsOf, stagesOf, volumesOf } = await import('./data')

const DAY = '2026-11-20'
const at = (power: number) => [{ time: '2026-11-19T23:00:00Z', power }]
const stage = (name: string, status: string, power: number, bought: number, sold: number) => ({
  stage: name,
  status,
  position: at(power),
  traded: { bought, sold },
  earned: 10,
  reserved: [],
})
// One buys what the other sells at the day-ahead auction; 0.25 MWh of the first were sold over the counter before.
const battery = (id: string, list: object[]) => ({ asset: { id, name: id }, etag: '', stages: list })
const BOTH = [
  battery('a', [
    stage('FCR', 'PAST', 1000, 0, 0),
    stage('DAY_AHEAD', 'PAST', 3000, 0, 0.5),
    stage('IDA1', 'NEXT', 3000, 0, 0),
    stage('OTHER', 'LATER', 3000, 0, 0.25),
  ]),
  battery('b', [
    stage('FCR', 'PAST', 0, 0, 0),
    stage('DAY_AHEAD', 'PAST', -1200, 0.3, 0),
    stage('IDA1', 'NEXT', -1200, 0, 0),
    stage('OTHER', 'LATER', -1200, 0, 0),
  ]),
] as unknown as Parameters<typeof stagesOf>[0]

test('What is traded at a gate is what it changed, netted over the batteries and named', () => {
  const [fcr, dayAhead, next, other] = stagesOf(BOTH, DAY)
  expect([fcr?.change[0], dayAhead?.change[0], next?.change[0], other?.change[0]]).toEqual([0, 800, 0, 1000])
  expect(dayAhead?.earned).toBe(20)
  expect(nettingOf(dayAhead?.traded ?? { bought: 0, sold: 0 }, volumesOf(dayAhead?.change ?? []))).toBeCloseTo(0.3)
  expect(volumesOf(other?.position ?? []).sold).toBeCloseTo(0.45)
})

test('Headroom that took too long is told with the sentence of the service, and whose it is', () => {
  const detail = '12 of 96 quarter-hours were found: ask for a shorter window.'
  const problem = { type: '/docs/problems/headroom-takes-long', title: 'Too long', status: 422, detail }
  const answers = [
    { status: 200, body: [] },
    { status: 422, body: problem },
  ]
  expect(refusalsOf([{ name: 'Elbe' }, { name: 'Saale' }], answers)).toEqual([{ name: 'Saale', why: detail }])
})
