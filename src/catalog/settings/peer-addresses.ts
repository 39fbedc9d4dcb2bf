/** From which addresses a network element may come. */
import { BlockList, isIP, isIPv4 } from 'node:net'

interface Range {
  address: string
  family: 'ipv4' | 'ipv6'
  prefix: number
}

const MAPPED_BITS = 96

/** An address, or a range as in `10.0.0.0/8`; null if it is neither. */
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
  // IPv4 in IPv6 clothes: a shorter prefix would be all of IPv4 and more.
  return prefix < MAPPED_BITS ? null : { address, family: 'ipv4', prefix: prefix - MAPPED_BITS }
}

/** Whether an address (of a socket) is in one of the ranges; of no ranges every one is. */
export function addressCheck(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => true
  // A list for each: in one, `::/0` would hold for IPv4 too.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const text of ranges) {
    const range = parseRange(text)
    if (range === null) continue
    lists[range.family].addSubnet(range.address, range.prefix, range.family)
  }
  let last = ''
  let isLastIn = false
  return (address) => {
    // A peer has few addresses, and sends many requests from one.
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

/** Without a zone; IPv4 as such, also where a socket tells it as IPv6 (`::ffff:10.0.0.1`). */
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
