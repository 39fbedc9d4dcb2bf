/**
 * Credit-control requests of open peers: checks their destination and origin, selects the file
 * type, and records the locations of their sessions (RFC 8506, RFC 6733 section 6).
 */
import type { Peer } from '../../catalog/settings/peers/peers.ts'
import { type ChargeOutcome, reasons } from '../../domain/charge-outcome.ts'
import type { Charge } from '../charge.ts'
import { type ProtocolError, problemAnswer } from '../codecs/diameter-wire/base-answer.ts'
import { resultCode, type WireIdentity } from '../codecs/diameter-wire/protocol.ts'
import { type DiameterRoute, routeOf } from '../codecs/diameter-wire/route.ts'
import type { WireCodec } from '../codecs/diameter-wire/wire-codec.ts'
import { isMessageFormat, type MessageFormats } from '../message-formats.ts'
import type { DiameterConnection, OnRequest } from './connection-context.ts'
import type { OriginStates } from './origin-states.ts'
import type { SessionRegistry } from './sessions.ts'

export interface CreditControlOptions {
  readonly charge: Charge
  readonly messageFormats: MessageFormats
  readonly identity: WireIdentity
  /** Realms served in addition to the node's own; `*` for all. */
  readonly realms: readonly string[]
  /** File type of peers without a file type of their own. */
  readonly fileType: string
  readonly registry: SessionRegistry<DiameterConnection>
  readonly originStates: OriginStates
}

/** Codec that decodes a request, and its file type. */
interface FileTypeCodec {
  readonly codec: WireCodec
  readonly fileType: string
}

const UPDATE = 2
const TERMINATION = 3
const EVENT = 4

const OUTCOME_UNKNOWN = problem(resultCode.tooBusy, 'the outcome is not known: repeat the request')
const OTHER_REALM = problem(resultCode.realmNotServed, 'Destination-Realm is not served here')
const OTHER_HOST = problem(resultCode.unableToDeliver, 'Destination-Host is not this node')
const FOREIGN = problem(
  resultCode.authorizationRejected,
  'this peer may not send requests of this Origin-Realm',
)

function problem(code: number, why: string): ProtocolError {
  return { resultCode: code, why }
}

export function createCreditControl(options: CreditControlOptions): OnRequest {
  const { charge, identity, registry } = options
  const isForUs = createDestinationCheck(options)
  return (connection, bytes, overRate) => {
    const route = routeOf(bytes)
    const realm = route.originRealm.toLowerCase()
    const refusal = isForUs(route) ?? originProblem(connection, realm)
    const target = refusal ?? fileTypeCodecOf(options, connection.peer)
    if ('why' in target) {
      connection.send(problemAnswer(bytes, target, identity))
      return
    }
    const { codec, fileType } = target
    const origin = `diameter:${realm}`
    const { peerName: peer } = connection
    const { sequence } = registry
    const sender = senderOf(options.originStates, connection, route)
    const received = {
      body: bytes,
      codec,
      fileType,
      origin,
      peer,
      client: connection,
      sender,
      refuseOverRate: overRate ?? null,
    }
    charge(received, (_reason, answer, outcome) => {
      if (outcome !== undefined) {
        remember(registry, connection, route, {
          origin: `${origin}/${fileType}`,
          outcome,
          sequence,
        })
      }
      connection.send(answer ?? problemAnswer(bytes, OUTCOME_UNKNOWN, identity))
    })
  }
}

/** A request of the peer itself without Origin-State-Id has the one of its CER. */
function senderOf(
  clients: OriginStates,
  { originHost, stateId }: DiameterConnection,
  route: DiameterRoute,
) {
  const isOwn = route.originHost.toLowerCase() === originHost.toLowerCase()
  const ownId = isOwn ? stateId : 0
  return clients.observe(route.originHost, route.originRealm, route.originStateId || ownId)
}

/**
 * In its own realm the node accepts requests for itself only; in other realms that it serves, for
 * any host, because it does not know their hosts.
 */
function createDestinationCheck({ identity, realms }: CreditControlOptions) {
  const ownHost = identity.originHost.toLowerCase()
  const ownRealm = identity.originRealm.toLowerCase()
  const served = new Set(realms.map((realm) => realm.toLowerCase()))
  return ({ destinationHost, destinationRealm }: DiameterRoute): ProtocolError | null => {
    // A missing realm is reported by the codec.
    if (destinationRealm === '') return null
    const realm = destinationRealm.toLowerCase()
    if (realm !== ownRealm) return served.has('*') || served.has(realm) ? null : OTHER_REALM
    const isOwn = destinationHost === '' || destinationHost.toLowerCase() === ownHost
    return isOwn ? null : OTHER_HOST
  }
}

/** A listed peer may send requests of its own realm and of the realms configured for it. */
function originProblem(
  { peer, originRealm }: DiameterConnection,
  realm: string,
): ProtocolError | null {
  if (peer === null || realm === '' || realm === originRealm.toLowerCase()) return null
  return peer.diameter?.allowsRealm(realm) === true ? null : FOREIGN
}

/** The first file type of the peer that is for Diameter. */
function fileTypeCodecOf(
  options: CreditControlOptions,
  peer: Peer | null,
): FileTypeCodec | ProtocolError {
  const { messageFormats, fileType: defaultType } = options
  const names = peer?.fileTypes ?? null
  let found: ProtocolError = problem(
    resultCode.unableToComply,
    'none of the file types of this peer is for Diameter',
  )
  for (const fileType of names === null || names.has(defaultType) ? [defaultType] : names) {
    const format = messageFormats.find(fileType)
    if (!isMessageFormat(format)) {
      const code = format.missing === 'notLoaded' ? resultCode.tooBusy : resultCode.unableToComply
      found = problem(code, `file type ${fileType} ${format.why}`)
    } else if (format.wire !== null) return { codec: format.wire, fileType }
  }
  return found
}

/** Records the location of a session that stays open. */
function remember(
  registry: SessionRegistry<DiameterConnection>,
  connection: DiameterConnection,
  { sessionId, originHost, originRealm, requestType }: DiameterRoute,
  { origin, outcome, sequence }: { origin: string; outcome: ChargeOutcome; sequence: number },
): void {
  const { reason, aid, sid } = outcome
  // After a failure the client repeats the request and has not received a decision.
  if (requestType === EVENT || reasons[reason].status === 'failed') return
  const hasEnded = reason === 'unknownSession' || reason === 'sessionClosed'
  const isOpen = reason === 'granted' || requestType === UPDATE
  if (requestType === TERMINATION || hasEnded) registry.forget(origin, sessionId)
  else if (isOpen && aid > 0) {
    registry.learn({ sessionId, origin, originHost, originRealm, aid, sid, connection }, sequence)
  }
}
