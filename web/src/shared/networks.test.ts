import { expect, test } from 'bun:test'
import { contains, letsIn, networkOf } from './networks'

test('an address lies in its network and in no other', () => {
  expect(contains('203.0.113.0/24', '203.0.113.24')).toBeTrue()
  expect(contains('203.0.113.0/24', '203.0.114.24')).toBeFalse()
  expect(contains('198.51.100.64/26', '198.51.100.77')).toBeTrue()
  expect(contains('2001:db8:40::/48', '2001:db8:40:1::9')).toBeTrue()
  expect(contains('2001:db8:40::/48', '2001:db8:41::9')).toBeFalse()
  expect(contains('10.0.0.0/8', '::ffff:10.1.2.3')).toBeTrue()
  expect(contains('0.0.0.0/0', '2001:db8::1')).toBeFalse()
})

test('what is no network is none', () => {
  for (const text of ['', '300.0.0.1', '10.0.0.0/33', '10.0.0/8', 'office', '::1::', '1:2:3/64', '10.0.0.0/8/1'])
    expect(networkOf(text)).toBeNull()
})

test('an empty list lets every address in', () => {
  expect(letsIn([], '192.0.2.1')).toBeTrue()
  expect(letsIn(['203.0.113.0/24'], '192.0.2.1')).toBeFalse()
})
