/** Requests sent by the node, and their answers (RFC 6733 sections 3, 8.3 and 8.5). */
import { randomInt } from 'node:crypto'
import {
  DiameterWireError,
  readMessage,
  textAvp,
  uint32Avp,
  type WireMessage,
} from '../codecs/diameter-wire/message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  type WireIdentity,
} from '../codecs/diameter-wire/protocol.ts'
import type { OwnCapabilities } from './capabilities.ts'

/** A request without the identifiers, which the connection assigns. */
export type OwnRequest = Omit<WireMessage, 'hopByHopId' | 'endToEndId'>

/**
 * End-to-End-Ids for all connections: time in seconds in the upper 12 bits and a count with a
 * random start in the lower 20, so that they are not repeated after a restart.
 */
export function createEndToEndIds(nowMs: number): () => number {
  const base = (Math.floor(nowMs / 1000) & 0xfff) * 2 ** 20
  let count = randomInt(2 ** 20)
  return () => {
    count = (count + 1) % 2 ** 20
    return base + count
  }
}

/** Hop-by-Hop-Ids of one connection. */
export function createHopByHopIds(): () => number {
  let last = randomInt(2 ** 32)
  return () => {
    last = (last + 1) % 2 ** 32
    return last
  }
}

interface Pending {
  readonly endMs: number
  readonly command: number
  readonly resolve: (answer: WireMessage | null) => void
}

/** Unanswered requests of one connection. */
export interface PendingRequests {
  add(hopByHopId: number, command: number, endMs: number): Promise<WireMessage | null>
  /** Whether the message answers a pending request; false if it cannot be decoded. */
  settle(bytes: Buffer): boolean
  /** Gives up requests that have timed out. */
  expire(nowMs: number): void
  /** Gives up all requests. */
  close(): void
}

export function createPendingRequests(): PendingRequests {
  const byId = new Map<number, Pending>()
  return {
    add: (hopByHopId, code, endMs) =>
      new Promise((resolve) => byId.set(hopByHopId, { endMs, command: code, resolve })),
    settle(bytes) {
      const hopByHopId = bytes.readUInt32BE(12)
      const pending = byId.get(hopByHopId)
      if (pending === undefined) return false
      const answer = readAnswer(bytes)
      if (answer?.command !== pending.command) return false
      byId.delete(hopByHopId)
      pending.resolve(answer)
      return true
    },
    expire(nowMs) {
      // In order of expiry: all have the same time-out.
      for (const [id, { endMs, resolve }] of byId) {
        if (endMs > nowMs) return
        byId.delete(id)
        resolve(null)
      }
    },
    close() {
      const all = [...byId.values()]
      byId.clear()
      for (const { resolve } of all) resolve(null)
    },
  }
}

/** Decodes a copy, which may outlive the received bytes. */
function readAnswer(bytes: Buffer): WireMessage | null {
  try {
    return readMessage(Buffer.from(bytes))
  } catch (error) {
    if (error instanceof DiameterWireError) return null
    throw error
  }
}

/** Addressee of a request about a session, and its sender. */
export interface SessionAddress {
  readonly sessionId: string
  /** Origin-Host of the client as in its requests. */
  readonly destinationHost: string
  readonly destinationRealm: string
  readonly identity: WireIdentity
  /** Origin-State-Id. */
  readonly stateId: number
}

/** DWR or DPR; a DWR also has the Origin-State-Id. */
export function peerRequest(
  code: number,
  { identity, stateId }: OwnCapabilities,
  further: WireMessage['avps'],
): OwnRequest {
  const state = code === command.watchdog ? [uint32Avp(avpCode.originStateId, stateId)] : []
  return {
    flags: flags.request,
    command: code,
    application: application.base,
    avps: [
      textAvp(avpCode.originHost, identity.originHost),
      textAvp(avpCode.originRealm, identity.originRealm),
      ...further,
      ...state,
    ],
  }
}

const AUTHORIZE_ONLY = 0

/** RAR: the client shall request its quotas again (RFC 8506 section 5.5). */
export function reAuthRequest(address: SessionAddress): OwnRequest {
  return sessionRequest(command.reAuth, address, [
    uint32Avp(avpCode.reAuthRequestType, AUTHORIZE_ONLY),
  ])
}

/** ASR: the client shall end the session. */
export function abortSessionRequest(address: SessionAddress): OwnRequest {
  return sessionRequest(command.abortSession, address, [])
}

function sessionRequest(
  code: number,
  { sessionId, destinationHost, destinationRealm, identity, stateId }: SessionAddress,
  further: WireMessage['avps'],
): OwnRequest {
  return {
    flags: flags.request | flags.proxiable,
    command: code,
    application: application.creditControl,
    avps: [
      textAvp(avpCode.sessionId, sessionId),
      textAvp(avpCode.originHost, identity.originHost),
      textAvp(avpCode.originRealm, identity.originRealm),
      textAvp(avpCode.destinationRealm, destinationRealm),
      textAvp(avpCode.destinationHost, destinationHost),
      uint32Avp(avpCode.authApplicationId, application.creditControl),
      ...further,
      uint32Avp(avpCode.originStateId, stateId),
    ],
  }
}
