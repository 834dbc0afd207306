import { beforeEach, describe, expect, test } from 'bun:test'
import { forgetPosition, handAlong, remember } from './position'

const answer = (position?: string) => new Response(null, position ? { headers: { 'Gridloom-Position': position } } : {})
const sent = (method = 'GET') => {
  const request = new Request('http://127.0.0.1/auctions', { method })
  handAlong(request)
  return request.headers.get('Gridloom-Position')
}

describe('a position in the log', () => {
  beforeEach(forgetPosition)

  test('is handed along with reads once a change was answered', () => {
    expect(sent()).toBeNull()
    remember(answer('0/16B3748'))
    remember(answer())
    expect(sent()).toBe('0/16B3748')
    expect(sent('POST')).toBeNull()
  })

  test('is the furthest that was seen', () => {
    for (const position of ['0/F0000000', '1/10', '0/FFFFFFFF', 'nonsense']) remember(answer(position))
    expect(sent()).toBe('1/10')
  })

  test('is forgotten when somebody else has changed something', () => {
    remember(answer('0/1'))
    forgetPosition()
    expect(sent()).toBeNull()
  })
})
