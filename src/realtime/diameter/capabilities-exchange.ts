/**
 * Capabilities exchange on one connection: reads the CER and decides whether the peer is accepted.
 */
import type { Peer } from '../../catalog/settings/peers/peers.ts'
import type { ProtocolError } from '../codecs/diameter-wire/base-answer.ts'
import { resultCode } from '../codecs/diameter-wire/protocol.ts'
import type { AccessCause } from './access.ts'
import { type Capabilities, capabilitiesAnswer, readCapabilities } from './capabilities.ts'
import type { ConnectionContext } from './connection-context.ts'

/** Properties of the connection before its CER. */
export interface PeerEndpoint {
  readonly remoteAddress: string
  readonly localAddress: string
  /** See `ConnectingPeer`. */
  readonly certificateNames: readonly string[] | null
  /** Origin-Host of an earlier CER on this connection; '' if absent. */
  readonly originHost: string
}

export interface CapabilitiesExchange {
  /** The CEA. */
  readonly answer: Buffer
  /** Null if the peer is refused. */
  readonly accepted: { readonly capabilities: Capabilities; readonly peer: Peer | null } | null
  readonly cause: AccessCause | 'capabilities' | ''
  readonly why: string
}

export function exchangeCapabilities(
  request: Buffer,
  endpoint: PeerEndpoint,
  { own, access }: Pick<ConnectionContext, 'own' | 'access'>,
): CapabilitiesExchange {
  const { localAddress } = endpoint
  const answer = (problem: ProtocolError | null, isVendorSpecific: boolean) =>
    capabilitiesAnswer(request, own, { problem, localAddress, isVendorSpecific })
  const refused = (
    problem: ProtocolError,
    cause: CapabilitiesExchange['cause'],
    isVendorSpecific = false,
  ): CapabilitiesExchange => {
    return { answer: answer(problem, isVendorSpecific), accepted: null, cause, why: problem.why }
  }
  const read = readCapabilities(request)
  if (read.problem !== null) return refused(read.problem, 'capabilities')
  const { capabilities } = read
  const { isVendorSpecific } = capabilities
  if (!isSameHost(endpoint.originHost, capabilities.originHost)) {
    return refused(ANOTHER_HOST, 'capabilities', isVendorSpecific)
  }
  const decision = access.admit({ ...capabilities, ...remoteOf(endpoint) })
  if (!decision.isAdmitted) return refused(decision.problem, decision.cause, isVendorSpecific)
  const { peer } = decision
  return {
    answer: answer(null, isVendorSpecific),
    accepted: { capabilities, peer },
    cause: '',
    why: '',
  }
}

const ANOTHER_HOST: ProtocolError = {
  resultCode: resultCode.unableToComply,
  why: 'Origin-Host differs from that of the first CER',
}

function isSameHost(before: string, now: string): boolean {
  return before === '' || before.toLowerCase() === now.toLowerCase()
}

function remoteOf({ remoteAddress, certificateNames }: PeerEndpoint) {
  return { remoteAddress, certificateNames }
}
