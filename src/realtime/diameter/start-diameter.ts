/** Diameter as the node starts it: who may connect, and where it listens. */
import { isLoopback, mustAuthenticate } from '../../config/hosts.ts'
import type { Config } from '../../config/schema.ts'
import { type Clock, monotonicMs } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { WireIdentity } from '../codecs/diameter-wire/wire-codec.ts'
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
  /** Told of a peer that says its Origin-State-Id. */
  readonly onState?: (connection: DiameterConnection) => void
  /** Told of each connection that has ended. */
  readonly onGone?: (connection: DiameterConnection) => void
  /** Those of HTTP, if a peer's rate is to hold for both; its own if not given. */
  readonly rateLimits?: RateLimits
  readonly intake: Backpressure
}

export interface Diameter {
  /** Ports that were taken; 0: it does not listen there. */
  readonly port: number
  readonly tlsPort: number
  /** Origin-State-Id of the node, for its own requests. */
  readonly stateId: number
  /** Those of now, in whatever state. */
  connections(): Iterable<DiameterConnection>
  /** Takes no new connections; peers are told (DPR), and what is under way is answered. */
  stop(): void
  /**
   * Resolves when all connections have gone: those that wait for answers when they have them, the
   * others after `answerTimeoutMs` at most.
   */
  close(): Promise<void>
}

const OPEN = 'Diameter is open to the network, and peers need not be listed'
const NOT_STARTED = 'the port of Diameter is in use by somebody else: the node goes without'

/** Throws `ListenError` and `TlsFileError`. */
export async function startDiameter(options: DiameterOptions): Promise<Diameter> {
  const { config, log, metrics, clock, identity } = options
  const { diameter: settings } = config
  const { host, openTo } = settings
  const stateId = Math.floor(clock.nowMs() / 1000)
  const mustBeListed = mustAuthenticate(host, openTo)
  const own: OwnCapabilities = { identity, stateId }
  const around: ConnectionContext = {
    settings,
    own,
    access: createPeerAccess(options.peers, mustBeListed),
    rateLimits: options.rateLimits ?? createRateLimits(monotonicMs),
    metrics: metrics.diameter,
    onRateExceeded: (peerName) => metrics.refused(peerName, 'rate'),
    log,
    flusher: createFlusher(),
    intake: options.intake,
    nextEndToEndId: createEndToEndIds(clock.nowMs()),
    elapsedMs: monotonicMs,
    onRequest: options.onRequest,
    onState: options.onState ?? (() => undefined),
    onGone: options.onGone ?? (() => undefined),
  }
  let listener: Listener
  try {
    listener = await startListener({ settings, context: around, tlsMetrics: metrics.tls })
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error
    // Somebody tries the node on a machine that has a Diameter node already: HTTP is of use to him.
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
