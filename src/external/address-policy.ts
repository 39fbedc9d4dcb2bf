/**
 * Addresses that outgoing calls may reach: global unicast, and others that the configuration
 * allows (`external.privateRanges`). A name is resolved once per connection, and the connection is
 * made to the checked address, so that a name cannot change its address after the check.
 */
import { lookup as resolve } from 'node:dns'
import { promisify } from 'node:util'
import ipaddr from 'ipaddr.js'
import { addressWithPort } from '../config/hosts.ts'
import { CallError } from './call-error.ts'
import { type Address, isGlobal, isIPv4, reachedBy } from './special-addresses.ts'

export interface AddressPolicy {
  /**
   * Whether an IP address may be connected to. `port`: of a URL with the address itself, not with a
   * name; a range of one port is for such URLs only.
   */
  allows(address: string, port?: number): boolean
}

/** `ranges`: IP addresses, ranges such as `10.0.0.0/8`, and addresses with a port. */
export function createAddressPolicy(ranges: readonly string[]): AddressPolicy {
  const allowed = ranges.map(rangeOf)
  return {
    allows(text, port) {
      if (!ipaddr.isValid(text)) return false
      return reachedBy(ipaddr.parse(text)).every(
        (address) => isGlobal(address) || allowed.some((range) => isIn(address, port, range)),
      )
    },
  }
}

interface Range {
  address: Address
  bits: number
  /** Null for all ports. */
  port: number | null
}

function rangeOf(text: string): Range {
  if (text.includes('/')) {
    const [address, bits] = ipaddr.parseCIDR(text)
    return { address, bits, port: null }
  }
  const parts = addressWithPort(text)
  const address = ipaddr.process(parts?.address ?? text)
  return { address, bits: isIPv4(address) ? 32 : 128, port: parts?.port ?? null }
}

/** Addresses of two kinds cannot be compared. */
function isIn(address: Address, port: number | undefined, allowed: Range): boolean {
  const { address: range, bits } = allowed
  if (address.kind() !== range.kind()) return false
  if (allowed.port !== null && allowed.port !== port) return false
  return (address as ipaddr.IPv6).match(range as ipaddr.IPv6, bits)
}

/** `net.LookupFunction`; typed here because only listeners import `node:net`. */
export type Lookup = (
  hostname: string,
  options: { all?: boolean | undefined; family?: number | string | undefined },
  callback: (error: Error | null, address: string | ResolvedAddress[], family?: number) => void,
) => void

interface ResolvedAddress {
  address: string
  family: number
}

/** Resolves a name to its allowed addresses; it fails without one. */
export function lookupWithin(policy: AddressPolicy): Lookup {
  return (hostname, options, callback) => {
    resolve(hostname, { all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, '')
        return
      }
      const [first, ...others] = addresses.filter(({ address }) => policy.allows(address))
      if (first === undefined) callback(notAllowed(), '')
      else if (options.all === true) callback(null, [first, ...others])
      else callback(null, first.address, first.family)
    })
  }
}

/** A host that is an address itself is connected to without a lookup. */
export function refuseLiteralAddress(url: URL, policy: AddressPolicy): void {
  const host = hostOf(url)
  if (ipaddr.isValid(host) && !policy.allows(host, portOf(url))) throw notAllowed()
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

function notAllowed(): CallError {
  return new CallError('address', ADDRESS_REASON)
}

const ADDRESS_REASON =
  'its address is private: external.privateRanges of the configuration must allow it'

const resolveAll = promisify(resolve)

/** Why the host of a URL must not be called; null if it may be. Resolves its name. */
export async function addressProblem(url: URL, policy: AddressPolicy): Promise<string | null> {
  const host = hostOf(url)
  if (ipaddr.isValid(host)) return policy.allows(host, portOf(url)) ? null : REFUSED
  try {
    const addresses = await resolveAll(host, { all: true })
    return addresses.some(({ address }) => policy.allows(address)) ? null : REFUSED
  } catch {
    return UNRESOLVED
  }
}

/** A problem that may be temporary. */
export const UNRESOLVED = 'is at a host whose name cannot be resolved'
const REFUSED = 'is at a private address, which external.privateRanges does not allow'
