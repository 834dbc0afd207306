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
    remember(answer('63f1a.c2VhbGVk'))
    remember(answer())
    expect(sent()).toBe('63f1a.c2VhbGVk')
    expect(sent('POST')).toBeNull()
  })

  test('is the latest that was seen', () => {
    for (const position of ['f0000000.zz', '100000010.aa', 'ffffffff.zz', 'nonsense']) remember(answer(position))
    expect(sent()).toBe('100000010.aa')
  })

  test('is forgotten when another member has changed something', () => {
    remember(answer('1.a'))
    forgetPosition()
    expect(sent()).toBeNull()
  })
})
