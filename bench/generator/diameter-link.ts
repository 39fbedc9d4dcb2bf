/** Diameter connections with many requests under way on each. */
import type { Socket } from 'node:net'
import { avpCode, HEADER_BYTES } from '../../src/realtime/codecs/diameter-wire/protocol.ts'
import { FIRST_SID } from '../../test/support/product/population.ts'
import { DiameterClient } from '../diameter-client.ts'
import { gatewayRequest } from '../diameter-messages.ts'
import { REQUESTED, USED } from './http-messages.ts'
import type { Link, LinkOptions } from './link.ts'
import { type Fate, UPDATES } from './session-ring.ts'
import { answerNumber } from './tally.ts'

const SUCCESS = 2001
const TOO_BUSY = 3004
/** First identifier of a slot; lower ones are used by the client itself. */
const FIRST_ID = 0x0010_0000

export class DiameterLink implements Link {
  readonly slots: number
  readonly #options: LinkOptions
  readonly #clients: DiameterClient[]
  #sockets: Socket[] = []
  /** Hop-by-Hop identifier of the request under way in each slot; 0 in a free slot. */
  readonly #ids: Uint32Array
  #round = 0

  constructor(options: LinkOptions) {
    this.#options = options
    this.slots = options.outstanding
    this.#ids = new Uint32Array(this.slots)
    const onAnswer = (id: number, message: Buffer) => this.#take(id, message)
    this.#clients = Array.from({ length: options.connections }, (_, index) => {
      const originHost = `gateway${index}.example.net`
      return new DiameterClient({ port: options.port, originHost, onAnswer })
    })
  }

  async open(): Promise<void> {
    this.#sockets = await Promise.all(this.#clients.map((client) => client.open()))
  }

  send(slot: number, session: number): void {
    const { ring, firstSubscriber, run } = this.#options
    const step = ring.step[session] ?? 0
    const sid = FIRST_SID + firstSubscriber + (ring.subscriber[session] ?? 0)
    const bytes = gatewayRequest({
      sessionId: `${run};${session};${ring.generation[session]};`,
      type: step === 0 ? 1 : step <= UPDATES ? 2 : 3,
      number: step,
      msisdn: `88800${String(sid).padStart(9, '0')}`,
      used: USED,
      requested: REQUESTED,
    })
    // The round distinguishes late answers from those of the next request in this slot.
    this.#round = (this.#round + 1) & 0xff
    const id = FIRST_ID + this.#round * this.slots + slot
    this.#ids[slot] = id
    bytes.writeUInt32BE(id, 12)
    this.#write(this.#sockets[slot % this.#sockets.length], bytes)
  }

  abandon(slot: number): void {
    this.#ids[slot] = 0
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }

  /** Everything sent in one iteration of the event loop is written together. */
  #write(socket: Socket | undefined, bytes: Buffer): void {
    if (socket === undefined) return
    if (socket.writableCorked === 0) {
      socket.cork()
      setImmediate(() => socket.uncork())
    }
    socket.write(bytes)
  }

  #take(id: number, message: Buffer): void {
    const slot = (id - FIRST_ID) % this.slots
    if (id < FIRST_ID || this.#ids[slot] !== id) return
    this.#ids[slot] = 0
    const code = resultCodeOf(message)
    this.#options.onAnswer(slot, fateOf(code), answerNumber(0, code))
  }
}

function fateOf(code: number): Fate {
  if (code === SUCCESS) return 'admitted'
  return code === TOO_BUSY ? 'refused' : 'failed'
}

/** The Result-Code of the message, not of its services; 0 if the message has none. */
export function resultCodeOf(message: Buffer): number {
  for (let at = HEADER_BYTES; at + 12 <= message.length; ) {
    const length = message.readUIntBE(at + 5, 3)
    if (message.readUInt32BE(at) === avpCode.resultCode) return message.readUInt32BE(at + 8)
    at += Math.max(8, (length + 3) & ~3)
  }
  return 0
}
