/** Client addresses that a network element may use. */
import { BlockList, isIP, isIPv4 } from 'node:net'

interface Range {
  address: string
  family: 'ipv4' | 'ipv6'
  prefix: number
}

const MAPPED_BITS = 96

/** An address, or a range such as `10.0.0.0/8`; null if invalid. */
export function parseRange(text: string): Range | null {
  const [given = '', bits, ...rest] = text.split('/')
  const version = isIP(given)
  if (version === 0 || rest.length > 0 || given.includes('%')) return null
  const most = version === 4 ? 32 : 128
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return null
  const prefix = bits === undefined ? most : Number(bits)
  if (prefix > most) return null
  const address = plainAddress(given)
  if (version === 4) return { address, family: 'ipv4', prefix }
  if (!isIPv4(address)) return { address, family: 'ipv6', prefix }
  // For an IPv4-mapped IPv6 address, a shorter prefix would include more than IPv4.
  return prefix < MAPPED_BITS ? null : { address, family: 'ipv4', prefix: prefix - MAPPED_BITS }
}

/**
 * Returns a check whether an address of a socket is in one of the ranges; every address is if there
 * are no ranges.
 */
export function addressCheck(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => true
  // One list per family: in a common list, `::/0` would match IPv4 as well.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const text of ranges) {
    const range = parseRange(text)
    if (range === null) continue
    lists[range.family].addSubnet(range.address, range.prefix, range.family)
  }
  let last = ''
  let isLastIn = false
  return (address) => {
    // Cache: a peer has few addresses and sends many requests from each.
    if (address === last) return isLastIn
    const plain = plainAddress(address)
    const version = isIP(plain)
    const family = version === 4 ? 'ipv4' : 'ipv6'
    isLastIn = version !== 0 && lists[family].check(plain, family)
    last = address
    return isLastIn
  }
}

const MAPPED = '[::ffff:'

/** Removes the zone, and converts IPv4-mapped addresses (`::ffff:10.0.0.1`) to IPv4. */
function plainAddress(address: string): string {
  const [text = ''] = address.split('%')
  if (!text.includes(':') || isIP(text) === 0) return text
  const { hostname } = new URL(`http://[${text}]/`)
  if (!hostname.startsWith(MAPPED)) return text
  const [high = 0, low = 0] = hostname
    .slice(MAPPED.length, -1)
    .split(':')
    .map((part) => Number.parseInt(part, 16))
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
