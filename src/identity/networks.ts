/** Networks of an address, for rate limits and connection limits. */

export interface Network {
  /** An IPv4 address, or an IPv6 prefix such as `2001:db8:1:2/64`. */
  readonly name: string
  /** Limit of the network as a multiple of the limit of one address. */
  readonly times: number
}

/**
 * A host with IPv6 usually has its own /64; many providers assign a /56, and a site may have a /48.
 * An attacker can use any address in it, so each level has a limit.
 */
const LEVELS = [
  { bits: 64, times: 1 },
  { bits: 56, times: 2 },
  { bits: 48, times: 4 },
] as const

const GROUP_BITS = 16

/** From the smallest network to the largest. */
export function networksOf(address: string): readonly Network[] {
  const plain = plainAddress(address)
  if (!plain.includes(':')) return [{ name: plain, times: 1 }]
  const groups = groupsOf(plain)
  return LEVELS.map(({ bits, times }) => ({ name: `${prefixOf(groups, bits)}/${bits}`, times }))
}

/** The smallest network: one source. */
export function networkOf(address: string): string {
  return networksOf(address)[0]?.name ?? ''
}

/** Drops the zone; IPv4-mapped addresses (`::ffff:10.0.0.1`) become IPv4. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/s, '')
}

/** The first four groups as numbers. */
function groupsOf(address: string): readonly number[] {
  const [before = '', after] = address.split('::')
  const first = before === '' ? [] : before.split(':')
  const last = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last]
  return groups.slice(0, 4).map((group) => Number.parseInt(group, 16))
}

function prefixOf(groups: readonly number[], bits: number): string {
  const kept = groups.slice(0, Math.ceil(bits / GROUP_BITS)).map((group, index) => {
    const unused = Math.max(0, (index + 1) * GROUP_BITS - bits)
    return (group >> unused) << unused
  })
  return kept.map((group) => group.toString(16)).join(':')
}
