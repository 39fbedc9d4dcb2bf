/** Which peers may connect: the list of the configuration, addresses, realms, certificates. */
import type { Peer, Peers } from '../../catalog/settings/peers.ts'
import type { ProtocolError } from '../codecs/diameter-wire/base-answer.ts'
import { resultCode } from '../codecs/diameter-wire/protocol.ts'

/** Those of now; null as long as they were never read. */
export type CurrentPeersByHost = () => Pick<Peers, 'byOriginHost'> | null

/** What is known of who has sent a CER. */
export interface ConnectingPeer {
  readonly originHost: string
  readonly originRealm: string
  readonly remoteAddress: string
  /** DNS names of its certificate, in lower case; null where none is asked for. */
  readonly certificateNames: readonly string[] | null
}

/** Why it may not connect, as metrics and logs name it. */
export type AccessCause = 'unknown' | 'address' | 'realm' | 'certificate' | 'unavailable'

export type PeerAccessResult =
  /** Null for somebody who need not be listed, and is not. */
  | { readonly isAdmitted: true; readonly peer: Peer | null }
  | {
      readonly isAdmitted: false
      readonly cause: AccessCause
      readonly peer: Peer | null
      readonly problem: ProtocolError
    }

export interface PeerAccess {
  admit(applicant: ConnectingPeer): PeerAccessResult
  /** Changes whenever the list does: verdicts of before have to be asked for again. */
  version(): unknown
}

/** `mustBeListed`: nobody gets in who is not in the list. */
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
        return mustBeListed ? refusal('unknown', 'Origin-Host is not that of a peer') : UNLISTED
      }
      if (!peer.allowsAddress(remoteAddress)) {
        return refusal('address', 'the address is not one from which this peer may come', peer)
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
  problem: { resultCode: resultCode.tooBusy, why: 'peers were not read yet' },
}

function refusal(cause: AccessCause, why: string, peer: Peer | null = null): PeerAccessResult {
  return { isAdmitted: false, cause, peer, problem: { resultCode: resultCode.unknownPeer, why } }
}
