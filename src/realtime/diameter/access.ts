/** Access control of peers: configured list, addresses, realms, certificates. */
import type { Peer, Peers } from '../../catalog/settings/peers/peers.ts'
import type { ProtocolError } from '../codecs/diameter-wire/base-answer.ts'
import { resultCode } from '../codecs/diameter-wire/protocol.ts'

/** The current peers; null until read for the first time. */
export type CurrentPeersByHost = () => Pick<Peers, 'byOriginHost'> | null

/** Identity of a peer that has sent a CER. */
export interface ConnectingPeer {
  readonly originHost: string
  readonly originRealm: string
  readonly remoteAddress: string
  /** DNS names of its certificate, in lower case; null if no certificate is required. */
  readonly certificateNames: readonly string[] | null
}

/** Cause of a refusal in metrics and logs. */
export type AccessCause = 'unknown' | 'address' | 'realm' | 'certificate' | 'unavailable'

export type PeerAccessResult =
  /** Null for a peer that is not listed and need not be. */
  | { readonly isAdmitted: true; readonly peer: Peer | null }
  | {
      readonly isAdmitted: false
      readonly cause: AccessCause
      readonly peer: Peer | null
      readonly problem: ProtocolError
    }

export interface PeerAccess {
  admit(applicant: ConnectingPeer): PeerAccessResult
  /** Changes with the list; earlier decisions must then be repeated. */
  version(): unknown
}

/** `mustBeListed`: refuses peers that are not in the list. */
export function createPeerAccess(peersNow: CurrentPeersByHost, mustBeListed: boolean): PeerAccess {
  return {
    version: peersNow,
    admit(applicant) {
      const { originHost, originRealm, remoteAddress, certificateNames } = applicant
      if (certificateNames !== null && !certificateNames.includes(originHost.toLowerCase())) {
        return refusal('certificate', 'Origin-Host is not among the DNS names of the certificate')
      }
      const peers = peersNow()
      if (peers === null) return mustBeListed ? UNAVAILABLE : UNLISTED
      const peer = peers.byOriginHost(originHost)
      if (peer === null) {
        return mustBeListed
          ? refusal('unknown', 'Origin-Host is not that of a configured peer')
          : UNLISTED
      }
      if (!peer.allowsAddress(remoteAddress)) {
        return refusal('address', 'this peer may not connect from this address', peer)
      }
      const realm = peer.diameter?.originRealm ?? null
      if (realm !== null && realm !== originRealm.toLowerCase()) {
        return refusal('realm', 'Origin-Realm is not that of this peer', peer)
      }
      return { isAdmitted: true, peer }
    },
  }
}

const UNLISTED: PeerAccessResult = { isAdmitted: true, peer: null }

const UNAVAILABLE: PeerAccessResult = {
  isAdmitted: false,
  cause: 'unavailable',
  peer: null,
  problem: { resultCode: resultCode.tooBusy, why: 'peers have not been read yet' },
}

function refusal(cause: AccessCause, why: string, peer: Peer | null = null): PeerAccessResult {
  return { isAdmitted: false, cause, peer, problem: { resultCode: resultCode.unknownPeer, why } }
}
