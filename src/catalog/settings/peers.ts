/** The network elements that may use the charging port, ready for use at every request. */
import { FieldError } from '../../domain/fields.ts'
import { addressCheck } from './peer-addresses.ts'
import {
  certificateNamesOf,
  checkUnique,
  type DiameterPeerSettings,
  hashOfKey,
  nameOfPeer,
  type PeerSettings,
  peerSettings,
} from './peer-settings.ts'

export interface Peer {
  readonly name: string
  /** Whether it may come from an address, as a socket tells it. */
  readonly allowsAddress: (address: string) => boolean
  /** On average; 0: no limit. */
  readonly requestsPerSecond: number
  /** How many at once. */
  readonly burst: number
  /** Names of the file types that it may speak; null: all. */
  readonly fileTypes: ReadonlySet<string> | null
  /** Names of its certificate over HTTP, in lower case; none: it authenticates in other ways. */
  readonly certificateNames: readonly string[]
  /** Who it is over Diameter; null: it does not speak it. In lower case. */
  readonly diameter: DiameterPeer | null
}

export interface DiameterPeer {
  readonly originHost: string
  /** Null: any. */
  readonly originRealm: string | null
  /** Whether it may bring requests of a realm (in lower case) that is not its own. */
  readonly allowsRealm: (realm: string) => boolean
}

/** A stored peer that cannot be used, and does not get in. */
export interface SkippedPeer {
  /** Empty if it has none. */
  name: string
  path: string
  reason: string
}

export interface Peers {
  /**
   * Who has a key; null: nobody, or one that is disabled. The digest of what is presented is looked
   * up, so that how long it takes tells nothing of the keys that there are.
   */
  byKey(key: string): Peer | null
  /** Who has an Origin-Host, in whatever case; null: nobody, or one that is disabled. */
  byOriginHost(host: string): Peer | null
  /** Who has one of these names (in lower case); null: nobody, or several peers. */
  byCertificate(names: readonly string[]): Peer | null
  /** All that get in, in the order of the configuration. */
  readonly all: readonly Peer[]
  readonly skipped: readonly SkippedPeer[]
}

/** Never throws: a stored peer that cannot be used is left out, and listed. */
export function compilePeers(value: unknown): Peers {
  const { used, skipped } = usablePeers(value)
  return { ...indexed(used.filter(({ disabled }) => !disabled)), skipped }
}

/** The settings of stored peers that can be used, also of those that are disabled. */
export function usablePeers(value: unknown): { used: PeerSettings[]; skipped: SkippedPeer[] } {
  const used: PeerSettings[] = []
  const skipped: SkippedPeer[] = []
  if (!Array.isArray(value)) skipped.push({ name: '', path: 'peers', reason: 'must be a list' })
  for (const [index, each] of (Array.isArray(value) ? value : []).entries()) {
    try {
      const settings = peerSettings(each, `peers.${index}`)
      checkUnique(settings, used, `peers.${index}`)
      used.push(settings)
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      skipped.push({ name: nameOfPeer(each), path: error.path, reason: error.reason })
    }
  }
  return { used, skipped }
}

function indexed(settings: readonly PeerSettings[]): Omit<Peers, 'skipped'> {
  const byHash = new Map<string, Peer>()
  const byHost = new Map<string, Peer>()
  const byName = new Map<string, Peer>()
  const all = settings.map((each) => {
    const peer = compilePeer(each)
    for (const { sha256 } of each.keys) byHash.set(sha256, peer)
    for (const certificateName of peer.certificateNames) byName.set(certificateName, peer)
    if (each.diameter !== undefined) byHost.set(each.diameter.origin_host, peer)
    return peer
  })
  return {
    all,
    byKey: (key) => byHash.get(hashOfKey(key)) ?? null,
    byOriginHost: (host) => byHost.get(host.toLowerCase()) ?? null,
    byCertificate(names) {
      const found = new Set(names.flatMap((name) => byName.get(name) ?? []))
      const [only = null] = found
      return found.size === 1 ? only : null
    },
  }
}

function compilePeer(settings: PeerSettings): Peer {
  const { name, addresses, requests_per_second: requestsPerSecond } = settings
  return {
    name,
    allowsAddress: addressCheck(addresses),
    requestsPerSecond,
    burst: settings.burst ?? requestsPerSecond,
    fileTypes: settings.file_types === undefined ? null : new Set(settings.file_types),
    certificateNames: certificateNamesOf(settings),
    diameter: settings.diameter === undefined ? null : compileDiameter(settings.diameter),
  }
}

function compileDiameter(settings: DiameterPeerSettings): DiameterPeer {
  const { origin_host: originHost, origin_realm: originRealm = null, realms = [] } = settings
  return {
    originHost,
    originRealm,
    allowsRealm: (realm) => realms.includes('*') || realms.includes(realm),
  }
}
