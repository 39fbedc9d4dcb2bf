/** Requests that the node itself sends, and their answers (RFC 6733 sections 3, 8.3 and 8.5). */
import { randomInt } from 'node:crypto'
import {
  DiameterWireError,
  readMessage,
  textAvp,
  uint32Avp,
  type WireMessage,
} from '../codecs/diameter-wire/message.ts'
import { application, avpCode, command, flags } from '../codecs/diameter-wire/protocol.ts'
import type { WireIdentity } from '../codecs/diameter-wire/wire-codec.ts'

/** A request without ids, which the connection gives. */
export type OwnRequest = Omit<WireMessage, 'hopByHopId' | 'endToEndId'>

/**
 * End-to-End-Ids, for all connections: the time in seconds in the upper 12 bits and a count that
 * begins anywhere in the lower 20, so that a node that starts anew does not repeat them.
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

/** The requests of one connection that are not answered. */
export interface PendingRequests {
  add(hopByHopId: number, command: number, endMs: number): Promise<WireMessage | null>
  /** Whether a request had this for an answer; what cannot be read is none. */
  settle(bytes: Buffer): boolean
  /** Gives up those whose time has come. */
  expire(nowMs: number): void
  /** Gives up all. */
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
      // In the order of their ends: all wait for the same time.
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

/** A copy, so that it may outlive what came with it. */
function readAnswer(bytes: Buffer): WireMessage | null {
  try {
    return readMessage(Buffer.from(bytes))
  } catch (error) {
    if (error instanceof DiameterWireError) return null
    throw error
  }
}

/** Where a session is, and who asks. */
export interface SessionAddress {
  readonly sessionId: string
  /** Of the client, as it was in its requests. */
  readonly destinationHost: string
  readonly destinationRealm: string
  readonly identity: WireIdentity
  /** Origin-State-Id. */
  readonly stateId: number
}

const AUTHORIZE_ONLY = 0

/** RAR: the client shall ask again for its quotas (RFC 8506 section 5.5). */
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
