/** Starts Diameter: access control and listeners. */
import { isLoopback, mustAuthenticate } from '../../config/hosts.ts'
import type { Config } from '../../config/schema.ts'
import { type Clock, monotonicMs } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { WireIdentity } from '../codecs/diameter-wire/protocol.ts'
import { createRateLimits, type RateLimits } from '../http/rate-limits.ts'
import { type CurrentPeersByHost, createPeerAccess } from './access.ts'
import type { OwnCapabilities } from './capabilities.ts'
import type { ConnectionContext, DiameterConnection, OnRequest } from './connection-context.ts'
import { type Listener, PortTakenError, startListener } from './listener.ts'
import { createFlusher } from './output.ts'
import type { Backpressure } from './read-throttle.ts'
import { createEndToEndIds } from './server-requests.ts'

export interface DiameterOptions {
  readonly config: Pick<Config, 'diameter'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly metrics: Pick<Metrics, 'diameter' | 'refused' | 'tls'>
  readonly clock: Clock
  readonly identity: WireIdentity
  readonly peers: CurrentPeersByHost
  readonly onRequest: OnRequest
  /** Called when a peer sends its Origin-State-Id. */
  readonly onState?: (connection: DiameterConnection) => void
  /** Called for each connection that has been closed. */
  readonly onGone?: (connection: DiameterConnection) => void
  /** Rate limits shared with HTTP; if not given, Diameter has its own. */
  readonly rateLimits?: RateLimits
  readonly backpressure: Backpressure
}

export interface Diameter {
  /** Ports in use; 0 if it does not listen there. */
  readonly port: number
  readonly tlsPort: number
  /** Origin-State-Id of the node, for its own requests. */
  readonly stateId: number
  /** All current connections in any state. */
  connections(): Iterable<DiameterConnection>
  /** Accepts no new connections, sends DPR to peers, and answers requests in flight. */
  stop(): void
  /**
   * Resolves when all connections are closed: those with requests in flight once these are
   * answered, the others after at most `answerTimeoutMs`.
   */
  close(): Promise<void>
}

const OPEN = 'Diameter is open to the network, and peers need not be listed'
const NOT_STARTED = 'the Diameter port is in use by another process: the node runs without Diameter'

/** Throws `ListenError` and `TlsFileError`. */
export async function startDiameter(options: DiameterOptions): Promise<Diameter> {
  const { config, log, metrics, clock, identity } = options
  const { diameter: settings } = config
  const { host, openTo } = settings
  const stateId = Math.floor(clock.nowMs() / 1000)
  const mustBeListed = mustAuthenticate(host, openTo)
  const own: OwnCapabilities = { identity, stateId }
  const context: ConnectionContext = {
    settings,
    own,
    access: createPeerAccess(options.peers, mustBeListed),
    rateLimits: options.rateLimits ?? createRateLimits(monotonicMs),
    metrics: metrics.diameter,
    onRateExceeded: (peerName) => metrics.refused(peerName, 'rate'),
    log,
    flusher: createFlusher(),
    backpressure: options.backpressure,
    nextEndToEndId: createEndToEndIds(clock.nowMs()),
    elapsedMs: monotonicMs,
    onRequest: options.onRequest,
    onState: options.onState ?? (() => undefined),
    onGone: options.onGone ?? (() => undefined),
  }
  let listener: Listener
  try {
    listener = await startListener({ settings, context, tlsMetrics: metrics.tls })
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error
    // Probably a trial on a machine that already runs a Diameter node: HTTP alone is still useful.
    if (openTo !== 'loopback' || !isLoopback(host) || settings.tls.enabled) throw error
    log.warn({ host, port: settings.port }, NOT_STARTED)
    return withoutListener(stateId)
  }
  metrics.diameter.readConnections(() => [...listener.connections()])
  if (!isLoopback(host) && !mustBeListed) log.warn({ host, port: listener.port }, OPEN)
  return { stateId, ...listener }
}

function withoutListener(stateId: number): Diameter {
  const close = async () => undefined
  return { port: 0, tlsPort: 0, stateId, connections: () => [], stop: () => undefined, close }
}
