import type { Socket } from 'node:net'
import { FrameReader } from './frames.ts'
import { encodeAnswer, parseRequest, type Request } from './request.ts'

/** Answers a request with an encoded document. */
export type Respond = (request: Request) => Promise<Uint8Array>

/** One client connection. Requests are answered in order, one at a time. */
export class WireConnection {
  readonly #socket: Socket
  readonly #respond: Respond
  readonly #frames = new FrameReader()
  #work: Promise<void> = Promise.resolve()
  #answerId = 0

  /** `onBroken` receives a protocol error of the client, which ends the connection. */
  constructor(socket: Socket, respond: Respond, onBroken: (error: unknown) => void) {
    this.#socket = socket
    this.#respond = respond
    const fail = (error: unknown) => {
      socket.destroy()
      onBroken(error)
    }
    socket.on('data', (chunk) => {
      try {
        for (const frame of this.#frames.push(chunk)) {
          this.#work = this.#work.then(() => this.#handle(frame)).catch(fail)
        }
      } catch (error) {
        fail(error)
      }
    })
    // Writes of a disconnected client are still executed; reads end (`Context.isAbandoned`).
    socket.on('error', () => socket.destroy())
  }

  /** Completes the received requests and closes the connection. */
  async close(): Promise<void> {
    this.#socket.pause()
    await this.#work
    this.#socket.destroySoon()
  }

  async #handle(frame: Buffer): Promise<void> {
    if (this.#socket.destroyed) return
    const request = parseRequest(frame)
    const body = await this.#respond(request)
    if (request.isUnacknowledged || this.#socket.destroyed) return
    this.#answerId = (this.#answerId + 1) | 0
    this.#socket.cork()
    for (const part of encodeAnswer(request, this.#answerId, body)) this.#socket.write(part)
    this.#socket.uncork()
  }
}
