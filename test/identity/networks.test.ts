import { describe, expect, it } from 'vitest'
import { networkOf, networksOf } from '../../src/identity/networks.ts'

describe('the networks of an address', () => {
  it.each([
    ['192.0.2.7', ['192.0.2.7']],
    ['::ffff:192.0.2.7', ['192.0.2.7']],
    ['2001:db8:1:2ab:3:4:5:6', ['2001:db8:1:2ab/64', '2001:db8:1:200/56', '2001:db8:1/48']],
    ['2001:DB8:1:2::1', ['2001:db8:1:2/64', '2001:db8:1:0/56', '2001:db8:1/48']],
    ['2001:0db8:0000::1', ['2001:db8:0:0/64', '2001:db8:0:0/56', '2001:db8:0/48']],
    ['fe80::1%eth0', ['fe80:0:0:0/64', 'fe80:0:0:0/56', 'fe80:0:0/48']],
    ['::1', ['0:0:0:0/64', '0:0:0:0/56', '0:0:0/48']],
  ])('%s: %j', (address, names) => {
    expect(networksOf(address).map(({ name }) => name)).toEqual(names)
    expect(networkOf(address)).toBe(names[0])
  })

  it('have larger limits the larger they are', () => {
    expect(networksOf('2001:db8::1').map(({ times }) => times)).toEqual([1, 2, 4])
  })
})
