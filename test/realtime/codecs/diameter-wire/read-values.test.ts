import { describe, expect, it } from 'vitest'
import {
  readAddress,
  readInteger64,
  readOctets,
  readTime,
  readUnsigned64,
} from '../../../../src/realtime/codecs/diameter-wire/read-values.ts'

const hex = (text: string) => Buffer.from(text, 'hex')
/** Read from the middle of a larger buffer. */
const within = <T>(read: (bytes: Buffer, from: number, to: number) => T, data: Buffer) =>
  read(Buffer.concat([hex('ffff'), data, hex('ffff')]), 2, 2 + data.length)

describe('data of an AVP', () => {
  it.each([
    ['plain text', 'plain text'],
    ['', ''],
    ['Zürich', 'Zürich'],
    [hex('00ff'), '00ff'],
    [hex('c3'), 'c3'],
    ['a\nb', '610a62'],
    [hex('7f'), '7f'],
    [hex('c285'), 'c285'],
  ])('as octets %j is %j', (data, value) => {
    expect(within(readOctets, Buffer.from(data as string))).toBe(value)
  })

  it.each([
    ['0000000000000000', 0],
    ['00000001000003e8', 4_294_968_296],
    ['001fffffffffffff', Number.MAX_SAFE_INTEGER],
    ['0020000000000000', '9007199254740992'],
    ['ffffffffffffffff', '18446744073709551615'],
  ])('as 64 bits %s is %j', (data, value) => {
    expect(within(readUnsigned64, hex(data))).toBe(value)
  })

  it.each([
    ['00000000000007cf', 1999],
    ['ffffffffffffffff', -1],
    ['ffe0000000000001', Number.MIN_SAFE_INTEGER],
    ['ffe0000000000000', '-9007199254740992'],
    ['0020000000000000', '9007199254740992'],
    ['8000000000000000', '-9223372036854775808'],
  ])('as signed 64 bits %s is %j', (data, value) => {
    expect(within(readInteger64, hex(data))).toBe(value)
  })

  it('as time is in seconds since 1900, also in the next era', () => {
    expect(within(readTime, hex('83aa7e80'))).toBe(2_208_988_800)
    expect(within(readTime, hex('ffffffff'))).toBe(2 ** 32 - 1)
    expect(within(readTime, hex('00000000'))).toBe(2 ** 32)
  })

  it.each([
    ['00010a000001', '10.0.0.1'],
    ['0a000001', '10.0.0.1'],
    ['000220010db8000000000000000000000001', '2001:db8::1'],
    ['20010db8000000000001000000000001', '2001:db8::1:0:0:1'],
    ['00000000000000000000000000000000', '::'],
    ['00010002000300040005000600070008', '1:2:3:4:5:6:7:8'],
    ['0008343932303132', '492012'],
    ['00030a0b', '0.3.10.11'],
    ['0009000a0b', '0009000a0b'],
  ])('as address %s is %s', (data, value) => {
    expect(within(readAddress, hex(data))).toBe(value)
  })
})
