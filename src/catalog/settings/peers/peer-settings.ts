/**
 * Stored settings of a network element ("peer"): identity, keys, client addresses, rate limit and
 * permitted file types. Keys are stored as hashes.
 */
import { createHash, randomBytes } from 'node:crypto'
import { isDomainName } from '../../../config/formats.ts'
import { arrayAt, FieldError, isObject, objectAt, textAt } from '../../../domain/fields.ts'
import { parseRange } from './peer-addresses.ts'

export interface PeerKey {
  /**
   * Hex digest of the key. Keys have 256 random bits, so an unsalted digest does not reveal them.
   */
  sha256: string
  /** ISO 8601. */
  created: string
  label?: string
}

/** Identity over Diameter, compared with the capabilities exchange (RFC 6733 section 5.3). */
export interface DiameterPeerSettings {
  /** Origin-Host, in any case. */
  origin_host: string
  /** Origin-Realm; not checked if absent. */
  origin_realm?: string
  /** Further realms whose requests it may forward, as relays do; `*` for all. */
  realms?: readonly string[]
}

export interface PeerSettings {
  name: string
  keys: readonly PeerKey[]
  /** Addresses and ranges (CIDR), IPv4 and IPv6; unrestricted if empty. */
  addresses: readonly string[]
  /** Average number of requests per second; 0 if unlimited. */
  requests_per_second: number
  /** Size of a burst of requests; `requests_per_second` if absent. */
  burst?: number
  /** Names of the permitted file types; all if absent. */
  file_types?: readonly string[]
  /**
   * Names in its certificate over HTTP: DNS names, or the common name if it has no DNS names. If
   * absent, the Origin-Host.
   */
  certificate_names?: readonly string[]
  diameter?: DiameterPeerSettings
  disabled: boolean
}

const PEER_FIELDS = [
  'name',
  'keys',
  'addresses',
  'requests_per_second',
  'burst',
  'file_types',
  'certificate_names',
  'diameter',
  'disabled',
]
const DIAMETER_FIELDS = ['origin_host', 'origin_realm', 'realms']
const KEY_FIELDS = ['sha256', 'created', 'label']

/** Names are metric labels and appear in logs and URLs. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
/** Network element of sessions without authentication (realtime/http/charging.ts). */
const ANONYMOUS = 'http'
/** Names in a certificate with other characters could be mistaken for several names. */
const CERTIFICATE_NAME = /^[A-Za-z0-9.-]{1,253}$/
const FILE_TYPE = /^[A-Za-z0-9_]+$/
const SHA256 = /^[0-9a-f]{64}$/
const RATE_MAX = 10_000_000

const KEY_PREFIX = 'tgk_'
const KEY_BYTES = 32

/** A new key, which is shown only once; its `hashOfKey` is stored. */
export function newPeerKey(): string {
  return KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url')
}

export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/**
 * The settings of one peer, with defaults filled in. Throws `FieldError` with a path that begins
 * with `path`.
 */
export function peerSettings(value: unknown, path: string): PeerSettings {
  const fields = objectAt(value, path, PEER_FIELDS)
  const name = textAt(fields['name'], `${path}.name`)
  if (!NAME.test(name)) {
    const allowed = 'letters, digits, _, - and ., a letter or digit first'
    throw new FieldError(`${path}.name`, `must be 1 to 64 ${allowed}`)
  }
  if (name === ANONYMOUS) {
    throw new FieldError(
      `${path}.name`,
      `must not be ${ANONYMOUS}, which is reserved for requests without a key`,
    )
  }
  const { burst, disabled = false } = fields
  if (typeof disabled !== 'boolean')
    throw new FieldError(`${path}.disabled`, 'must be true or false')
  const fileTypes = fileTypesAt(fields['file_types'], `${path}.file_types`)
  const names = certificateNamesAt(fields['certificate_names'], `${path}.certificate_names`)
  return {
    name,
    keys: arrayAt(fields['keys'] ?? [], `${path}.keys`).map((key, index) =>
      keyAt(key, `${path}.keys.${index}`),
    ),
    addresses: addressesAt(fields['addresses'] ?? [], `${path}.addresses`),
    requests_per_second: rateAt(
      fields['requests_per_second'] ?? 0,
      0,
      `${path}.requests_per_second`,
    ),
    ...(burst === undefined ? {} : { burst: rateAt(burst, 1, `${path}.burst`) }),
    ...(fileTypes === undefined ? {} : { file_types: fileTypes }),
    ...(names === undefined ? {} : { certificate_names: names }),
    ...(fields['diameter'] === undefined
      ? {}
      : { diameter: diameterAt(fields['diameter'], `${path}.diameter`) }),
    disabled,
  }
}

/** The settings of all peers; names and keys must be unique. Throws `FieldError`. */
export function checkPeers(value: unknown): PeerSettings[] {
  const peers: PeerSettings[] = []
  for (const [index, each] of arrayAt(value, 'peers').entries()) {
    const peer = peerSettings(each, `peers.${index}`)
    checkUnique(peer, peers, `peers.${index}`)
    peers.push(peer)
  }
  return peers
}

/** Certificate names that identify the peer, in lower case. */
export function certificateNamesOf(peer: PeerSettings): readonly string[] {
  const host = peer.diameter?.origin_host
  return peer.certificate_names ?? (host === undefined ? [] : [host])
}

/** Throws `FieldError` if a name, key or host of `peer` also belongs to one of `others`. */
export function checkUnique(
  peer: PeerSettings,
  others: readonly PeerSettings[],
  path: string,
): void {
  if (others.some(({ name }) => name === peer.name)) {
    throw new FieldError(`${path}.name`, `'${peer.name}' occurs twice`)
  }
  const host = peer.diameter?.origin_host
  if (host !== undefined && others.some((other) => other.diameter?.origin_host === host)) {
    throw new FieldError(`${path}.diameter.origin_host`, `'${host}' occurs twice`)
  }
  for (const [index, name] of (peer.certificate_names ?? []).entries()) {
    const owner = others.find((other) => certificateNamesOf(other).includes(name))
    if (owner !== undefined) {
      throw new FieldError(
        `${path}.certificate_names.${index}`,
        `is also a name of '${owner.name}'`,
      )
    }
  }
  if (host !== undefined && peer.certificate_names === undefined) {
    const owner = others.find((other) => other.certificate_names?.includes(host))
    if (owner !== undefined) {
      const why = `is a certificate name of '${owner.name}': give this peer certificate_names`
      throw new FieldError(`${path}.diameter.origin_host`, why)
    }
  }
  for (const [index, { sha256 }] of peer.keys.entries()) {
    const owner = others.find(({ keys }) => keys.some((key) => key.sha256 === sha256))
    if (owner !== undefined) {
      throw new FieldError(`${path}.keys.${index}.sha256`, `is also a key of '${owner.name}'`)
    }
  }
}

function diameterAt(value: unknown, path: string): DiameterPeerSettings {
  const fields = objectAt(value, path, DIAMETER_FIELDS)
  const { origin_realm: realm, realms } = fields
  return {
    origin_host: domainAt(fields['origin_host'], `${path}.origin_host`),
    ...(realm === undefined ? {} : { origin_realm: domainAt(realm, `${path}.origin_realm`) }),
    ...(realms === undefined ? {} : { realms: realmsAt(realms, `${path}.realms`) }),
  }
}

function realmsAt(value: unknown, path: string): string[] {
  return arrayAt(value, path).map((each, index) =>
    each === '*' ? '*' : domainAt(each, `${path}.${index}`),
  )
}

/** In lower case. */
function domainAt(value: unknown, path: string): string {
  const text = textAt(value, path)
  if (isDomainName(text)) return text.toLowerCase()
  throw new FieldError(path, `must be a domain name such as pgw1.example.net: '${text}'`)
}

function keyAt(value: unknown, path: string): PeerKey {
  const { sha256, created, label } = objectAt(value, path, KEY_FIELDS)
  const hash = textAt(sha256, `${path}.sha256`)
  // Not quoted: the value may be the key itself.
  if (!SHA256.test(hash)) throw new FieldError(`${path}.sha256`, 'must be 64 hexadecimal digits')
  const time = textAt(created, `${path}.created`)
  if (Number.isNaN(Date.parse(time))) throw new FieldError(`${path}.created`, 'must be a date')
  const named = label === undefined ? {} : { label: textAt(label, `${path}.label`) }
  return { sha256: hash, created: time, ...named }
}

function addressesAt(value: unknown, path: string): string[] {
  return arrayAt(value, path).map((each, index) => {
    const text = textAt(each, `${path}.${index}`)
    if (parseRange(text) !== null) return text
    throw new FieldError(
      `${path}.${index}`,
      `must be an address or a range such as 10.0.0.0/8: '${text}'`,
    )
  })
}

function rateAt(value: unknown, min: number, path: string): number {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= RATE_MAX) {
    return Number(value)
  }
  throw new FieldError(path, `must be an integer from ${min} to ${RATE_MAX}`)
}

function fileTypesAt(value: unknown, path: string): string[] | undefined {
  if (value === undefined) return undefined
  const names = arrayAt(value, path).map((each, index) => {
    const name = textAt(each, `${path}.${index}`)
    if (FILE_TYPE.test(name)) return name
    throw new FieldError(`${path}.${index}`, 'must be letters, digits and _ only')
  })
  if (names.length === 0) throw new FieldError(path, 'must have at least one name, or be absent')
  return names
}

function certificateNamesAt(value: unknown, path: string): string[] | undefined {
  if (value === undefined) return undefined
  const names = arrayAt(value, path).map((each, index) => {
    const text = textAt(each, `${path}.${index}`)
    if (CERTIFICATE_NAME.test(text)) return text.toLowerCase()
    const allowed = 'a DNS name or a common name: 1 to 253 letters, digits, - and .'
    throw new FieldError(`${path}.${index}`, `must be ${allowed}`)
  })
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (twice >= 0) throw new FieldError(`${path}.${twice}`, `'${names[twice]}' occurs twice`)
  return names
}

/** Name of an entry that may be invalid, for lists of skipped peers. */
export function nameOfPeer(value: unknown): string {
  const name = isObject(value) ? value['name'] : undefined
  return typeof name === 'string' && NAME.test(name) ? name : ''
}
