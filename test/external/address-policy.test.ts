import { describe, expect, it } from 'vitest'
import { addressProblem, createAddressPolicy } from '../../src/external/address-policy.ts'

const policyOf = (...ranges: string[]) => createAddressPolicy(ranges)

describe('an address of the special-purpose registries of IANA', () => {
  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254'],
    ...['172.16.0.1', '192.0.0.9', '192.0.0.170', '192.0.2.1', '192.88.99.1', '192.168.0.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1'],
    ...['224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ])('%s is not called', (address) => {
    expect(policyOf().allows(address)).toBe(false)
    // The same address within IPv6.
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
    const hex = (high: number, low: number) => ((high << 8) | low).toString(16)
    const [high, low] = [hex(a, b), hex(c, d)]
    const inverted = `${hex(255 - a, 255 - b)}:${hex(255 - c, 255 - d)}`
    for (const within of [
      `::ffff:${address}`,
      `::${address}`,
      `64:ff9b::${high}:${low}`,
      `2002:${high}:${low}::1`,
      `2001:0:808:808::${inverted}`,
      `2001:0:${high}:${low}::f7f7:f7f7`,
    ]) {
      expect([within, policyOf().allows(within)]).toEqual([within, false])
    }
  })

  it.each([
    ...['::', '::1', '::ffff:0:808:808', '64:ff9b:1::1', '64:ff9b:1:ffff::808:808', '100::1'],
    ...['100:0:0:1::1', '2001:1::1', '2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1'],
    ...['3fff::1', '4000::1', '5f00::1', 'fc00::1', 'fd00::1', 'fe80::1', 'fe80::1%lo'],
    ...['fec0::1', 'ff02::1', 'e000::1'],
  ])('%s is not called', (address) => {
    expect(policyOf().allows(address)).toBe(false)
  })

  it('is refused in the spellings that a URL may have', async () => {
    for (const host of ['[::127.0.0.1]', '[0:0::7f00:1]', '0x7f.1', '2130706433', '127.0.0.1.']) {
      const url = new URL(`http://${host}/`)
      expect([host, await addressProblem(url, policyOf())]).toEqual([host, REFUSED])
    }
  })
})

const REFUSED = 'is at a private address, which external.privateRanges does not allow'

describe('a global unicast address', () => {
  it.each([
    ...['1.1.1.1', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1', '192.0.1.1'],
    ...['198.17.255.255', '198.20.0.0', '223.255.255.255', '2001:200::1', '2606:4700::1111'],
    ...['::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::1', '2001:0:808:808::f7f7:f7f7'],
    '3ffe:ffff::1',
  ])('%s is called', (address) => {
    expect(policyOf().allows(address)).toBe(true)
  })
})

describe('configured ranges', () => {
  it('allow an address in each form that embeds it', () => {
    const policy = policyOf('10.0.0.0/8')
    for (const address of ['10.0.0.1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:a00:1::1']) {
      expect([address, policy.allows(address)]).toEqual([address, true])
    }
    expect(policy.allows('64:ff9b::7f00:1')).toBe(false)
  })

  it('of IPv6 allow no embedded address of IPv4', () => {
    expect(policyOf('::/1').allows('::ffff:127.0.0.1')).toBe(false)
    expect(policyOf('64:ff9b::/96').allows('64:ff9b::7f00:1')).toBe(false)
    expect(policyOf('::1', '64:ff9b:1::/48').allows('64:ff9b:1::7f00:1')).toBe(true)
    expect(policyOf('::1').allows('::1')).toBe(true)
  })

  it('may name a port, which applies to URLs with the address itself', () => {
    const policy = policyOf('127.0.0.1:8183', '[::1]:80')
    expect(policy.allows('127.0.0.1', 8183)).toBe(true)
    expect(policy.allows('127.0.0.1', 8184)).toBe(false)
    expect(policy.allows('127.0.0.1')).toBe(false)
    expect(policy.allows('::1', 80)).toBe(true)
  })
})
