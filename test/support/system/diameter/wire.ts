/**
 * Network elements of the tests that speak Diameter over TCP: the content of the JSON form of
 * Diameter, as the bytes of real peers.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { DiameterClient } from '../../../../bench/diameter-client.ts'
import {
  readMessage,
  textAvp,
  uint32Avp,
  writeMessage,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  avpCode,
  command,
  flags,
  HEADER_BYTES,
} from '../../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { type NamedAvps, namedAvps, wireAvps } from '../../../../src/realtime/diameter/named.ts'
import { ConnectionLostError } from '../../product/charge-client.ts'
import type { DialectAdapter } from '../dialects/adapter.ts'
import { diameterByName } from '../dialects/diameter.ts'

export const CLIENT = { originHost: 'pgw1.example.net', originRealm: 'example.net' }

const REQUEST = {
  flags: flags.request | flags.proxiable,
  command: command.creditControl,
  application: 4,
  hopByHopId: 0,
}
const TOO_BUSY = 3004
/** Belongs to no service: the service follows from the units. */
const CONTEXT = 'test@example.net'

let endToEndIds = 0

/** A CCR of these AVPs, with those that every CCR has. */
export function creditControl(avps: NamedAvps, more: { retransmitted?: boolean } = {}): Buffer {
  endToEndIds = (endToEndIds + 1) >>> 0
  const { 'Session-Id': sessionId = '', ...others } = avps
  return writeMessage({
    ...REQUEST,
    flags: REQUEST.flags | (more.retransmitted === true ? flags.retransmitted : 0),
    endToEndId: endToEndIds,
    avps: [
      textAvp(avpCode.sessionId, String(sessionId)),
      textAvp(avpCode.originHost, CLIENT.originHost),
      textAvp(avpCode.originRealm, CLIENT.originRealm),
      textAvp(avpCode.destinationRealm, 'localdomain'),
      uint32Avp(avpCode.authApplicationId, 4),
      ...(others['Service-Context-Id'] === undefined
        ? [textAvp(avpCode.serviceContextId, CONTEXT)]
        : []),
      ...wireAvps(others),
    ],
  })
}

/** The AVPs of an answer by their names. */
export function answerOf(bytes: Buffer): NamedAvps {
  return namedAvps(readMessage(bytes).avps)
}

/** One connection of the workload. `cutPercent` of the requests lose it before the answer. */
class WireElement {
  readonly #client: DiameterClient
  readonly #cuts: () => boolean

  constructor(port: number, cuts: () => boolean) {
    this.#client = new DiameterClient({ port, ...CLIENT })
    this.#cuts = cuts
  }

  /** Same interface as the HTTP client; the text is hexadecimal, without the identifiers. */
  async post(body: string): Promise<{ status: number; body: string }> {
    const message = JSON.parse(body) as NamedAvps
    try {
      if (this.#cuts()) {
        await this.#client.sendAndCut(creditControl(message))
        throw new ConnectionLostError('connection was cut')
      }
      const answer = await this.#client.send(
        creditControl(message, { retransmitted: this.#cuts() }),
      )
      const status = answerOf(answer)['Result-Code'] === TOO_BUSY ? 503 : 200
      return { status, body: withoutIds(answer).toString('hex') }
    } catch (error) {
      if (error instanceof ConnectionLostError || !isUnreachable(error)) throw error
      await pause(5)
      throw new ConnectionLostError('no connection')
    }
  }

  close(): void {
    this.#client.close()
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof Error && 'code' in error
}

/** A repeated answer differs only in the identifiers, which belong to its request. */
function withoutIds(answer: Buffer): Buffer {
  return Buffer.from(answer).fill(0, 12, HEADER_BYTES)
}

/** `cutPercent`: percentage of requests whose connection is cut before they are answered. */
export function diameterWire(port: () => number, cutPercent = 0): DialectAdapter {
  let requests = 0
  const cuts = () => {
    requests += 1
    return cutPercent > 0 && requests % Math.round(100 / cutPercent) === 0
  }
  return {
    ...diameterByName,
    name: 'diameter over TCP',
    open: () => new WireElement(port(), cuts),
    read: (hex) => diameterByName.read(JSON.stringify(answerOf(Buffer.from(hex, 'hex')), listed)),
  }
}

/** The form over HTTP has a list of services, even for one. */
function listed(key: string, value: unknown): unknown {
  return key === 'Multiple-Services-Credit-Control' && !Array.isArray(value) ? [value] : value
}
