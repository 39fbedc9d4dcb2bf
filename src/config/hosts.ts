/** Listen addresses, and the rule for access without authentication. */

/** Which clients may use a port without authentication: none, local ones, or all. */
export type OpenTo = 'nobody' | 'loopback' | 'network'

/** Whether it is an IP address (IPv6 without a zone) or a host name (RFC 1123). */
export function isHost(host: string): boolean {
  if (host.includes(':')) return ipv6Of(host) !== undefined
  const labels = host.split('.')
  // A last label of digits means an IP address; accepting it as a name would hide a typing error.
  if (/^\d+$/.test(labels.at(-1) ?? '')) return isIpv4(host)
  const isLabel = (label: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label)
  return host.length <= 253 && labels.every(isLabel)
}

/** Whether it is an IP address and not a name. */
export function isAddress(host: string): boolean {
  return host.includes(':') ? ipv6Of(host) !== undefined : isIpv4(host)
}

/** Whether it is an IP address or a range as in `10.0.0.0/8`, except the range of all addresses. */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  if (!isAddress(address) || rest.length > 0) return false
  if (bits === undefined) return true
  const bitsMax = address.includes(':') ? 128 : 32
  return /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= bitsMax
}

/** The parts of `127.0.0.1:8183` or `[::1]:8183`; null if it is not an IP address with a port. */
export function addressWithPort(text: string): { address: string; port: number } | null {
  const [, ipv6, ipv4, digits] = /^(?:\[([^\]]+)\]|([\d.]+)):([1-9]\d{0,4})$/.exec(text) ?? []
  const address = ipv6 ?? ipv4 ?? ''
  const port = Number(digits)
  const isKind = ipv6 === undefined ? isIpv4(address) : ipv6Of(address) !== undefined
  return isKind && port <= 65_535 ? { address, port } : null
}

/** The parts of `kafka1:9092` or `[::1]:9092`; null if it is not a host with a port. */
export function hostWithPort(text: string): { host: string; port: number } | null {
  const [, ipv6, name, digits] = /^(?:\[([^\]]+)\]|([^:]+)):([1-9]\d{0,4})$/.exec(text) ?? []
  const host = ipv6 ?? name ?? ''
  const port = Number(digits)
  return isHost(host) && port <= 65_535 ? { host, port } : null
}

/** Whether the address is reachable from this machine only, without name resolution. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  return host.includes(':') ? ipv6Of(host) === '[::1]' : isIpv4(host) && host.startsWith('127.')
}

/**
 * Whether all clients of a port must authenticate. On a listener beyond loopback, local clients
 * cannot be exempted: the address of a proxy on loopback hides remote clients.
 */
export function mustAuthenticate(host: string, openTo: OpenTo): boolean {
  return openTo === 'nobody' || (openTo === 'loopback' && !isLoopback(host))
}

/** Why an address is not of the redirect address type; undefined if it is. */
export function redirectProblem(
  address: string,
  type: 'ipv4' | 'ipv6' | 'url' | 'sip',
): string | undefined {
  const kinds = {
    ipv4: { test: isIpv4, expects: 'must be an IPv4 address' },
    ipv6: {
      test: (text: string) => ipv6Of(text) !== undefined,
      expects: 'must be an IPv6 address',
    },
    url: { test: isWebUrl, expects: 'must be a URL, as in https://shop.example.net/' },
    sip: {
      test: (text: string) => /^sips?:./.test(text),
      expects: 'must be a SIP URI, as in sip:…',
    },
  }
  return kinds[type].test(address) ? undefined : kinds[type].expects
}

function isWebUrl(text: string): boolean {
  return /^https?:\/\/[^/]/.test(text) && URL.canParse(text)
}

function isIpv4(host: string): boolean {
  const parts = host.split('.')
  const areOctets = parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
  return parts.length === 4 && areOctets
}

/** The canonical text, in brackets. */
function ipv6Of(host: string): string | undefined {
  const url = `http://[${host}]/`
  return URL.canParse(url) && !/[[\]/]/.test(host) ? new URL(url).hostname : undefined
}
