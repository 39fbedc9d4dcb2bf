/**
 * Global unicast addresses by the special-purpose address registries of IANA (RFC 6890,
 * iana-ipv4-special-registry and iana-ipv6-special-registry).
 */
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Not globally reachable, or multicast. Exceptions of a few addresses within are not made. */
const NOT_GLOBAL_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
].map((range) => ipaddr.IPv4.parseCIDR(range))

/** All that IANA has assigned as global unicast; the rest is reserved or of special purpose. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')
const NOT_GLOBAL_IPV6 = ['2001::/23', '2001:db8::/32', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
)

/** Whether an address that embeds no other one is global unicast. */
export function isGlobal(address: Address): boolean {
  if (isIPv4(address)) return !NOT_GLOBAL_IPV4.some((range) => address.match(range))
  return address.match(GLOBAL_IPV6) && !NOT_GLOBAL_IPV6.some((range) => address.match(range))
}

export function isIPv4(address: Address): address is ipaddr.IPv4 {
  return address.kind() === 'ipv4'
}

/** Ranges with the numbers of the two parts (16 bits each) that begin an embedded address. */
const EMBEDDING = [
  { name: 'IPv4-mapped', range: '::ffff:0:0/96', at: [6] },
  { name: 'IPv4-compatible', range: '::/96', at: [6] },
  { name: 'NAT64', range: '64:ff9b::/96', at: [6] },
  { name: '6to4', range: '2002::/16', at: [1] },
  { name: 'Teredo', range: '2001::/32', at: [2, 6] },
].map((each) => ({ ...each, range: ipaddr.IPv6.parseCIDR(each.range) }))

/**
 * The addresses that a packet to this one may reach: those of IPv4 that it embeds (Teredo: of the
 * server and of the client), otherwise the address itself.
 */
export function reachedBy(address: Address): Address[] {
  if (isIPv4(address)) return [address]
  const { parts } = address
  // The unspecified address and loopback are not IPv4-compatible.
  if (parts.slice(0, 7).every((part) => part === 0) && (parts[7] ?? 0) <= 1) return [address]
  const found = EMBEDDING.find(({ range }) => address.match(range))
  if (found === undefined) return [address]
  // Teredo inverts the bits of the address of its client.
  const mask = (at: number) => (found.name === 'Teredo' && at === 6 ? 0xffff : 0)
  return found.at.map((at) => ipv4Of((parts[at] ?? 0) ^ mask(at), (parts[at + 1] ?? 0) ^ mask(at)))
}

function ipv4Of(high: number, low: number): ipaddr.IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255])
}
