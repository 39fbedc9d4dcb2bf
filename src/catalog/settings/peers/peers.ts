/** The network elements that may use the charging port, compiled for use per request. */
import { FieldError } from '../../../domain/fields.ts'
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
  /** Whether the client address of a socket is permitted. */
  readonly allowsAddress: (address: string) => boolean
  /** Average number per second; 0 if unlimited. */
  readonly requestsPerSecond: number
  /** Size of a burst of requests. */
  readonly burst: number
  /** Names of the permitted file types; null for all. */
  readonly fileTypes: ReadonlySet<string> | null
  /** Names of its certificate over HTTP, in lower case; empty if it authenticates otherwise. */
  readonly certificateNames: readonly string[]
  /** Identity over Diameter, in lower case; null if it does not use Diameter. */
  readonly diameter: DiameterPeer | null
}

export interface DiameterPeer {
  readonly originHost: string
  /** Null if any realm is accepted. */
  readonly originRealm: string | null
  /** Whether it may forward requests of another realm (in lower case). */
  readonly allowsRealm: (realm: string) => boolean
}

/** A stored peer that is invalid and therefore not accepted. */
export interface SkippedPeer {
  /** Empty if it has none. */
  name: string
  path: string
  reason: string
}

export interface Peers {
  /**
   * The peer with a key; null if the key is unknown or the peer disabled. The digest of the
   * presented key is looked up, so that the timing reveals nothing about existing keys.
   */
  byKey(key: string): Peer | null
  /**
   * The peer with an Origin-Host, in any case; null if the host is unknown or the peer disabled.
   */
  byOriginHost(host: string): Peer | null
  /**
   * The peer with one of these names (in lower case); null if no peer has them, or if they belong
   * to several peers.
   */
  byCertificate(names: readonly string[]): Peer | null
  /** All accepted peers, in the order of the configuration. */
  readonly all: readonly Peer[]
  readonly skipped: readonly SkippedPeer[]
}

/** Never throws: invalid stored peers are left out and listed. */
export function compilePeers(value: unknown): Peers {
  const { used, skipped } = usablePeers(value)
  return { ...indexed(used.filter(({ disabled }) => !disabled)), skipped }
}

/** The settings of valid stored peers, including disabled ones. */
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
