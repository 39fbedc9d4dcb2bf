/**
 * A small Diameter peer with one connection and many requests under way: its own cost matters on a
 * machine with two cores. It shares no transport code with the product.
 */
import { connect, type Socket } from 'node:net'
import {
  avp,
  find,
  readHeader,
  readMessage,
  textAvp,
  uint32Avp,
  uint32Of,
  type WireAvp,
  writeMessage,
} from '../src/realtime/codecs/diameter-wire/message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  HEADER_BYTES,
} from '../src/realtime/codecs/diameter-wire/protocol.ts'
import { ConnectionLostError } from '../test/support/product/charge-client.ts'

export interface DiameterClientOptions {
  port: number
  originHost?: string
  originRealm?: string
  /** Answers requests of the node, such as RAR: returns the Result-Code, or 0 for no answer. */
  onRequest?: (bytes: Buffer) => number
  /** Receives answers to requests of other senders on the socket, by Hop-by-Hop identifier. */
  onAnswer?: (hopByHopId: number, bytes: Buffer) => void
}

interface Waiting {
  resolve: (answer: Buffer) => void
  reject: (error: Error) => void
}

/** Connects on demand. Replaces the Hop-by-Hop identifier of each message. */
export class DiameterClient {
  #socket: Socket | null = null
  #opening: Promise<Socket> | null = null
  #received: Buffer = Buffer.alloc(0)
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1
  readonly #options: Required<DiameterClientOptions>

  constructor(options: DiameterClientOptions) {
    const { originHost = 'client.example.net', originRealm = 'example.net' } = options
    const { onRequest = () => 2001, onAnswer = () => undefined } = options
    this.#options = { port: options.port, originHost, originRealm, onRequest, onAnswer }
  }

  /**
   * Sends a complete request and returns the complete answer. Rejects with `ConnectionLostError`.
   */
  async send(request: Buffer): Promise<Buffer> {
    return this.#exchange(await this.open(), request)
  }

  /** Sends a request and cuts the connection immediately: whether it arrived is unknown. */
  async sendAndCut(request: Buffer): Promise<void> {
    const socket = await this.open()
    await new Promise<void>((resolve) => socket.write(request, () => resolve()))
    this.close()
  }

  close(): void {
    this.#socket?.destroy()
  }

  /** The connection after the capabilities exchange. */
  open(): Promise<Socket> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  async #connect(): Promise<Socket> {
    const socket = connect({ port: this.#options.port, host: '127.0.0.1', noDelay: true })
    this.#received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => this.#take(socket, chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#lost(socket))
    this.#socket = socket
    const answer = await this.#exchange(socket, this.#capabilities())
    const code = uint32Of(readMessage(answer).avps, avpCode.resultCode)
    if (code === 2001) return socket
    socket.destroy()
    throw new Error(`capabilities were answered ${code}`)
  }

  #capabilities(): Buffer {
    return this.#message(command.capabilitiesExchange, application.base, flags.request, [
      avp(avpCode.hostIpAddress, Buffer.from([0, 1, 127, 0, 0, 1])),
      uint32Avp(avpCode.vendorId, 0),
      textAvp(avpCode.productName, 'bench'),
      uint32Avp(avpCode.authApplicationId, application.creditControl),
    ])
  }

  #message(
    code: number,
    applicationId: number,
    bits: number,
    more: readonly WireAvp[],
    ids = { hopByHopId: 0, endToEndId: 0 },
  ): Buffer {
    const { originHost, originRealm } = this.#options
    const origin = [
      textAvp(avpCode.originHost, originHost),
      textAvp(avpCode.originRealm, originRealm),
    ]
    const header = { flags: bits, command: code, application: applicationId, ...ids }
    return writeMessage({ ...header, avps: [...origin, ...more] })
  }

  #exchange(socket: Socket, request: Buffer): Promise<Buffer> {
    const id = this.#nextId
    this.#nextId = (this.#nextId + 1) >>> 0
    request.writeUInt32BE(id, 12)
    return new Promise((resolve, reject) => {
      if (socket.destroyed) {
        reject(new ConnectionLostError('connection lost'))
        return
      }
      this.#waiting.set(id, { resolve, reject })
      socket.write(request)
    })
  }

  #take(socket: Socket, chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    let at = 0
    while (bytes.length - at >= HEADER_BYTES) {
      const length = bytes.readUIntBE(at + 1, 3)
      if (bytes.length - at < length) break
      this.#one(socket, bytes.subarray(at, at + length))
      at += length
    }
    this.#received = bytes.subarray(at)
  }

  #one(socket: Socket, message: Buffer): void {
    const header = readHeader(message)
    if ((header.flags & flags.request) !== 0) {
      this.#serve(socket, message)
      return
    }
    const waiting = this.#waiting.get(header.hopByHopId)
    this.#waiting.delete(header.hopByHopId)
    if (waiting === undefined) this.#options.onAnswer(header.hopByHopId, message)
    else waiting.resolve(message)
  }

  #serve(socket: Socket, request: Buffer): void {
    const header = readHeader(request)
    const isOfPeers =
      header.command === command.watchdog || header.command === command.disconnectPeer
    const code = isOfPeers ? 2001 : this.#options.onRequest(request)
    if (code === 0) return
    const sessionId = find(readMessage(request).avps, avpCode.sessionId)
    const more = [...(sessionId ? [sessionId] : []), uint32Avp(avpCode.resultCode, code)]
    const bits = header.flags & flags.proxiable
    socket.write(this.#message(header.command, header.application, bits, more, header))
  }

  #lost(socket: Socket): void {
    if (this.#socket === socket) {
      this.#socket = null
      this.#opening = null
    }
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new ConnectionLostError('connection lost'))
  }
}
