import type { Socket } from 'node:net'
import { FrameReader } from './frames.ts'
import { encodeAnswer, parseRequest, type Request } from './request.ts'

/** Answers a request with the bytes of a document. */
export type Respond = (request: Request) => Promise<Uint8Array>

/** One client. Its requests are answered one after the other, in their order. */
export class WireConnection {
  readonly #socket: Socket
  readonly #respond: Respond
  readonly #frames = new FrameReader()
  #work: Promise<void> = Promise.resolve()
  #answerId = 0

  /** `onBroken` hears of what is wrong with the bytes of the client, which ends the connection. */
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
    // Writes of a client that is gone are done all the same; reads end (`Context.isAbandoned`).
    socket.on('error', () => socket.destroy())
  }

  /** Waits for the requests that have come, and hangs up. */
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
