/** Classifies client addresses into few classes, for metrics. */
import type { SourceClass } from '../../runtime/request-metrics.ts'

/** `address`: IPv4 with dots, or IPv6 in its shortest form; '' if unknown. */
export function sourceClassOf(address: string): SourceClass {
  if (address === '') return 'unknown'
  return address.includes(':') ? classOfIpv6(address) : classOfIpv4(address)
}

function classOfIpv4(address: string): SourceClass {
  const [first = 0, second = 0] = address.split('.').map(Number)
  if (first === 127) return 'loopback'
  const isPrivate =
    first === 10 ||
    (first === 172 && second >= 16 && second <= 31) ||
    (first === 192 && second === 168) ||
    // Link-local addresses, and shared addresses of providers (RFC 6598).
    (first === 169 && second === 254) ||
    (first === 100 && second >= 64 && second <= 127)
  return isPrivate ? 'private' : 'public'
}

/** Unique local addresses (RFC 4193) and link-local ones. */
const PRIVATE_IPV6 = /^(?:f[cd][\da-f]{2}|fe[89ab][\da-f]):/i

function classOfIpv6(address: string): SourceClass {
  if (address === '::1') return 'loopback'
  return PRIVATE_IPV6.test(address) ? 'private' : 'public'
}
