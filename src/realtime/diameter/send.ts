/**
 * Implements `tollgate diameter send`: sends the messages of a file one after the other, and
 * collects the answers.
 */
import { hostname } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import {
  DiameterWireError,
  find,
  readHeader,
  readMessage,
  uint32Of,
  writeMessage,
} from '../codecs/diameter-wire/message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  HEADER_BYTES,
} from '../codecs/diameter-wire/protocol.ts'
import { connectDiameter } from './client.ts'
import { type NamedAvps, namedAvps, wireAvps } from './named.ts'

/** A message by AVP names, or a complete one as bytes. */
export type Sendable = NamedAvps | Buffer

export interface SendOptions {
  readonly host: string
  readonly port: number
  readonly originHost: string
  readonly originRealm: string
  readonly destinationRealm: string
  readonly timeoutMs: number
  readonly nowMs: number
  readonly tls?: ConnectionOptions
}

export interface MessageExchange {
  readonly request: NamedAvps
  readonly answer: NamedAvps
  /** 0 if it has none. */
  readonly resultCode: number
}

/**
 * Adds missing AVPs that every message has: Session-Id (the same for all), Origin-Host,
 * Origin-Realm, Destination-Realm, Auth-Application-Id. Throws `DiameterWireError` for a message
 * that cannot be encoded, before any is sent, and `DiameterClientError`.
 */
export async function sendMessages(
  messages: readonly Sendable[],
  options: SendOptions,
): Promise<MessageExchange[]> {
  const requests = messages.map((message, index) => requestOf(message, index, options))
  const { originHost, originRealm } = options
  const client = await connectDiameter({ ...options, identity: { originHost, originRealm } })
  const exchanged: MessageExchange[] = []
  try {
    for (const request of requests) {
      const avps = namedAvps(readMessage(request).avps)
      const answer = readMessage(Buffer.from(await client.exchange(request)))
      exchanged.push({
        request: avps,
        answer: namedAvps(answer.avps),
        resultCode: uint32Of(answer.avps, avpCode.resultCode) ?? 0,
      })
    }
  } finally {
    await client.close()
  }
  return exchanged
}

/** Origin-Host if none is given. */
export function defaultOriginHost(realm: string): string {
  return `cli.${hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')}.${realm}`
}

function requestOf(message: Sendable, index: number, options: SendOptions): Buffer {
  const endToEndId = (Math.floor(options.nowMs / 1000) * 0x1000 + index) >>> 0
  if (Buffer.isBuffer(message)) return checked(message, index)
  const { 'Session-Id': sessionId = `${options.originHost};${options.nowMs};1`, ...others } =
    message
  return writeMessage({
    flags: flags.request | flags.proxiable,
    command: command.creditControl,
    application: application.creditControl,
    hopByHopId: 0,
    endToEndId,
    avps: wireAvps({
      'Session-Id': sessionId,
      'Origin-Host': options.originHost,
      'Origin-Realm': options.originRealm,
      'Destination-Realm': options.destinationRealm,
      'Auth-Application-Id': application.creditControl,
      ...others,
    }),
  })
}

/** Bytes are sent unchanged, except for the Hop-by-Hop-Id. */
function checked(bytes: Buffer, index: number): Buffer {
  const { avps } = readMessage(bytes)
  if ((readHeader(bytes).flags & flags.request) === 0) {
    throw new DiameterWireError(`message ${index + 1} is not a request`)
  }
  if (bytes.length === HEADER_BYTES || find(avps, avpCode.originHost) === undefined) {
    throw new DiameterWireError(`message ${index + 1} has no Origin-Host`)
  }
  return Buffer.from(bytes)
}
