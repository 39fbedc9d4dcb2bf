/** Credit control over Diameter: peers, their requests, and requests of the node. */
import type { Config } from '../../config/schema.ts'
import type { SessionEvent } from '../../domain/worker-task.ts'
import { type Clock, monotonicMs } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { ClientStates } from '../../store/client-states.ts'
import type { Charge } from '../charge.ts'
import { uint32Of } from '../codecs/diameter-wire/message.ts'
import { avpCode, type WireIdentity } from '../codecs/diameter-wire/protocol.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import type { MessageFormats } from '../message-formats.ts'
import type { CurrentPeersByHost } from './access.ts'
import type { DiameterConnection } from './connection-context.ts'
import { createCreditControl } from './credit-control.ts'
import { identityOf } from './identity.ts'
import { createOriginStates } from './origin-states.ts'
import type { Backpressure } from './read-throttle.ts'
import { type ServerRequest, startReauthorization } from './reauthorization.ts'
import { abortSessionRequest, reAuthRequest } from './server-requests.ts'
import { SessionRegistry, type SessionRoute } from './sessions.ts'
import { startDiameter } from './start-diameter.ts'

export interface DiameterServiceOptions {
  readonly config: Pick<Config, 'diameter'>
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'diameter' | 'refused' | 'tls'>
  readonly clock: Clock
  readonly peers: CurrentPeersByHost
  readonly messageFormats: MessageFormats
  readonly charge: Charge
  readonly rateLimits: RateLimits
  /**
   * Opens the store of client states, which all nodes share; if not given, restarts of clients are
   * not detected.
   */
  readonly openStates?: () => Promise<ClientStates>
  readonly backpressure: Backpressure
}

export interface DiameterService {
  /** Ports in use; 0 if it does not listen there. */
  readonly port: number
  readonly tlsPort: number
  /** Handles an event after which open sessions should reauthorize or end. */
  take(event: SessionEvent): void
  /** Accepts no new connections, sends DPR to peers, and answers requests in flight. */
  stop(): void
  /**
   * Resolves when all connections are closed: those with requests in flight once these are
   * answered, the others after at most `diameter.answerTimeoutMs`.
   */
  close(): Promise<void>
}

/** Null if Diameter is disabled. Throws `ListenError` and `TlsFileError`. */
export async function startDiameterService(
  options: DiameterServiceOptions,
): Promise<DiameterService | null> {
  const { config, log, metrics, clock, peers, messageFormats, charge, rateLimits, backpressure } =
    options
  const { enabled, realms, fileType, sessionsMax, requestsPerSecondMax } = config.diameter
  if (!enabled) return null
  const identity = identityOf(config)
  const registry = new SessionRegistry<DiameterConnection>(sessionsMax)
  metrics.diameter.readSessions(() => registry.size)
  const open = options.openStates ?? (async () => NO_STATES)
  const onRestart = (host: string, realm: string) => registry.forgetClient(host, realm)
  const originStates = createOriginStates({ open, onRestart, log })
  const own = { charge, messageFormats, identity, realms, fileType, registry, originStates }
  const peersServed = await startDiameter({
    config,
    log,
    metrics,
    clock,
    identity,
    peers,
    rateLimits,
    backpressure,
    onRequest: createCreditControl(own),
    onState: ({ originHost, originRealm, stateId }) =>
      originStates.observe(originHost, originRealm, stateId),
    onGone: (connection) => registry.dropConnection(connection),
  })
  const send = createSender(identity, peersServed.stateId, metrics)
  const perSecondMax = requestsPerSecondMax
  const reauthorization = startReauthorization({ registry, send, perSecondMax }, monotonicMs)
  metrics.diameter.readQueue(() => reauthorization.counts())
  return {
    port: peersServed.port,
    tlsPort: peersServed.tlsPort,
    take: (event) => reauthorization.take(event),
    stop() {
      reauthorization.close()
      peersServed.stop()
    },
    close: () => peersServed.close(),
  }
}

const NO_STATES: ClientStates = { raise: async () => false }

/** Sends a request to a client and returns the Result-Code of its answer; 0 without one. */
function createSender(
  identity: WireIdentity,
  stateId: number,
  { diameter }: Pick<Metrics, 'diameter'>,
) {
  return async (kind: ServerRequest, route: SessionRoute<DiameterConnection>): Promise<number> => {
    const { sessionId, originHost, originRealm, connection } = route
    const to = { sessionId, destinationHost: originHost, destinationRealm: originRealm }
    const build = kind === 'abort' ? abortSessionRequest : reAuthRequest
    const answer = await connection.request(build({ ...to, identity, stateId }))
    const code = answer === null ? 0 : (uint32Of(answer.avps, avpCode.resultCode) ?? 0)
    const outcome = code === 0 ? 'unanswered' : code < 3000 ? 'success' : 'refused'
    diameter.serverRequest(kind === 'abort' ? 'ASR' : 'RAR', outcome)
    return code
  }
}
