import { expect, test } from 'bun:test'
import { encode, TooLong } from './qr'

const rows = (text: string, mask?: number) =>
  encode(text, mask).map((line) => line.map((cell) => (cell ? '1' : '0')).join(''))

test('a short text is the square that the standard makes of it', () => {
  expect(rows('HELLO', 0)).toEqual([
    '111111100111001111111',
    '100000101011001000001',
    '101110100010001011101',
    '101110100011001011101',
    '101110101010101011101',
    '100000100110101000001',
    '111111101010101111111',
    '000000000101100000000',
    '101010100101000010010',
    '101010000110001000010',
    '000001100110100011111',
    '101011010110001000010',
    '011001110110101010100',
    '000000001011010100110',
    '111111100001011100111',
    '100000100011110110000',
    '101110101011011100111',
    '101110100100001100110',
    '101110101010100010101',
    '100000100110001010010',
    '111111101010101100111',
  ])
})

test('an address of a second factor is the square that another encoder makes of it', () => {
  const uri =
    'otpauth://totp/Gridloom%20sandbox:operator?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Gridloom%20sandbox&algorithm=SHA1&digits=6&period=30'
  const hash = (mask: number) =>
    new Bun.CryptoHasher('sha256').update(rows(uri, mask).join('')).digest('hex').slice(0, 16)
  expect([0, 3, 5, 7].map(hash)).toEqual([
    '9e2d8668f4baf3e5',
    '6c6fdb91872e52bd',
    '8009d377f43a96c6',
    'f67fc485ea79b047',
  ])
  expect(rows(uri)).toHaveLength(49)
})

test('what does not fit is refused', () => {
  expect(() => encode('x'.repeat(300))).toThrow(TooLong)
})
