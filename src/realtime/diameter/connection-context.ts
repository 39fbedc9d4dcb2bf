/** Context of a peer connection, and its interface for other components. */
import type { Peer } from '../../catalog/settings/peers/peers.ts'
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

/** Interface of a connection for other components. */
export interface DiameterConnection {
  readonly state: PeerState
  /** Nothing more can be sent. */
  readonly isGone: boolean
  /** Origin-Host and Origin-Realm of the peer; '' before its CER. */
  readonly originHost: string
  readonly originRealm: string
  /** Null if the peer is not listed and need not be. */
  readonly peer: Peer | null
  /** Its name in the configuration; '' if it is not listed. */
  readonly peerName: string
  readonly remoteAddress: string
  /** Last Origin-State-Id of the peer; 0 if it has sent none. */
  readonly stateId: number
  /** Sends the answer to a request; dropped and counted if the connection has been closed. */
  send(answer: Buffer): void
  /**
   * Sends a request of the node; resolves with null if there is no answer in time or the connection
   * is not open.
   */
  request(message: OwnRequest): Promise<WireMessage | null>
}

/**
 * Handles a credit-control request (command 272 of application 4), a complete message of which only
 * the header has been checked. Must not modify its bytes. It is answered by exactly one `send`,
 * synchronously or later. `overRate` refuses it instead; it is only given if the peer exceeds its
 * rate.
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

/** Common context of all connections. */
export interface ConnectionContext {
  readonly settings: PeerConnectionSettings
  readonly own: OwnCapabilities
  readonly access: PeerAccess
  readonly rateLimits: RateLimits
  readonly metrics: DiameterMetrics
  /** Called for each request that is refused because its peer exceeds its rate. */
  readonly onRateExceeded: (peerName: string) => void
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly flusher: Flusher
  readonly backpressure: Backpressure
  readonly nextEndToEndId: () => number
  /** Monotonic clock, ms. */
  readonly elapsedMs: () => number
  readonly onRequest: OnRequest
  /** Called when a peer has sent its Origin-State-Id. */
  readonly onState: (connection: DiameterConnection) => void
  /** Called when a connection is closed, even if it was never open. */
  readonly onGone: (connection: DiameterConnection) => void
}
