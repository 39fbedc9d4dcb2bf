/** What a connection is told, and what others may know of it. */
import type { Peer } from '../../catalog/settings/peers.ts'
import type { Config } from '../../config/schema.ts'
import type { DiameterMetrics } from '../../runtime/diameter-metrics.ts'
import type { Logger } from '../../runtime/log.ts'
import type { WireMessage } from '../codecs/diameter-wire/message.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import type { PeerAccess } from './access.ts'
import type { OwnCapabilities } from './capabilities.ts'
import type { Flusher } from './output.ts'
import type { PeerState } from './peer-machine.ts'
import type { Backpressure } from './read-throttle.ts'
import type { OwnRequest } from './server-requests.ts'

/** What others may know of a connection, and do with it. */
export interface DiameterConnection {
  readonly state: PeerState
  /** Nothing more can be sent to it. */
  readonly isGone: boolean
  /** Origin-Host and Origin-Realm as the peer has said them; '' before it has. */
  readonly originHost: string
  readonly originRealm: string
  /** Null if it is not listed, and need not be. */
  readonly peer: Peer | null
  /** Its name in the configuration; '' if it is not listed. */
  readonly peerName: string
  readonly remoteAddress: string
  /** Origin-State-Id that the peer has said last; 0: none. */
  readonly stateId: number
  /** Sends the answer to one of its requests; dropped and counted if it has gone. */
  send(answer: Buffer): void
  /** Sends a request of the node's; null if there is no answer in time, or nobody to ask. */
  request(message: OwnRequest): Promise<WireMessage | null>
}

/**
 * Takes a credit-control request (command 272 of application 4), a whole message of which only the
 * header was looked at. Its bytes stay as they are. It is answered by exactly one `send`, at once
 * or later. `overRate` refuses it at once in place of that; not given: its peer keeps to its rate.
 */
export type OnRequest = (
  connection: DiameterConnection,
  bytes: Buffer,
  overRate?: () => void,
) => void

export type PeerConnectionSettings = Pick<
  Config['diameter'],
  'messageBytesMax' | 'outputBytesMax' | 'capabilitiesTimeoutMs' | 'watchdogMs' | 'answerTimeoutMs'
>

/** What all connections have in common. */
export interface ConnectionContext {
  readonly settings: PeerConnectionSettings
  readonly own: OwnCapabilities
  readonly access: PeerAccess
  readonly rateLimits: RateLimits
  readonly metrics: DiameterMetrics
  /** Told of each request that is refused for the rate of its peer. */
  readonly onRateExceeded: (peerName: string) => void
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly flusher: Flusher
  readonly intake: Backpressure
  readonly nextEndToEndId: () => number
  /** Milliseconds that never go back. */
  readonly elapsedMs: () => number
  readonly onRequest: OnRequest
  /** A peer has said its Origin-State-Id. */
  readonly onState: (connection: DiameterConnection) => void
  /** It is closed, whether or not it ever was open. */
  readonly onGone: (connection: DiameterConnection) => void
}
