/**
 * Keep-alive connections with one request under way on each. Optimised for low processor time,
 * because the generator shares the machine with the product.
 */
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { answerLength, fateOf, type HttpDialect, readAnswer } from './http-messages.ts'
import type { Link, LinkOptions } from './link.ts'
import { answerNumber } from './tally.ts'

const BUFFER_BYTES = 16 * 1024
const LOST = answerNumber(0, 0)
/**
 * The product closes connections that are idle for 10 s, perhaps at the moment of a request. Ones
 * that may be about to be closed are replaced, as connection pools do.
 */
const IDLE_MS_MAX = 8_000

export class HttpLink implements Link {
  readonly slots: number
  readonly #connections: Connection[]

  constructor(dialect: HttpDialect, options: LinkOptions) {
    this.slots = options.connections
    this.#connections = Array.from(
      { length: this.slots },
      (_, slot) => new Connection(slot, dialect, options),
    )
  }

  async open(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.open()))
  }

  send(slot: number, session: number): void {
    this.#connections[slot]?.send(session)
  }

  abandon(slot: number): void {
    this.#connections[slot]?.close()
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

class Connection {
  readonly #slot: number
  readonly #dialect: HttpDialect
  readonly #options: LinkOptions
  readonly #head: string
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #socket: Socket | null = null
  #isBusy = false
  #usedMs = 0
  /** The received part of an incomplete answer. */
  #received = ''

  constructor(slot: number, dialect: HttpDialect, options: LinkOptions) {
    this.#slot = slot
    this.#dialect = dialect
    this.#options = options
    const headers = `Host: localhost\r\nContent-Type: ${dialect.contentType}\r\n`
    this.#head = `POST ${dialect.path} HTTP/1.1\r\n${headers}Content-Length: `
  }

  open(): Promise<void> {
    const socket = this.#connected()
    if (!socket.connecting) return Promise.resolve()
    return new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
  }

  send(session: number): void {
    const { ring, firstSubscriber, run } = this.#options
    const body = this.#dialect.body(ring, session, firstSubscriber, run)
    const socket = this.#connected()
    this.#isBusy = true
    socket.write(`${this.#head}${body.length}\r\n\r\n${body}`, 'latin1')
  }

  close(): void {
    this.#isBusy = false
    this.#disconnect()
  }

  #disconnect(): void {
    this.#received = ''
    const socket = this.#socket
    this.#socket = null
    socket?.destroy()
  }

  #connected(): Socket {
    const nowMs = performance.now()
    if (this.#socket !== null && nowMs - this.#usedMs > IDLE_MS_MAX) this.#disconnect()
    this.#usedMs = nowMs
    if (this.#socket !== null) return this.#socket
    const callback = (bytes: number, buffer: Uint8Array) => {
      if (this.#socket === socket) this.#take((buffer as Buffer).toString('latin1', 0, bytes))
      return true
    }
    const onread = { buffer: this.#buffer, callback }
    const socket = connect({ port: this.#options.port, host: '127.0.0.1', noDelay: true, onread })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#lost(socket))
    this.#socket = socket
    return socket
  }

  #take(text: string): void {
    const whole = this.#received === '' ? text : this.#received + text
    const length = answerLength(whole)
    if (length === 0 || whole.length < length) {
      this.#received = whole
      return
    }
    this.#received = ''
    if (!this.#isBusy) return
    this.#isBusy = false
    const answer = readAnswer(whole, this.#dialect.codeMark)
    this.#options.onAnswer(this.#slot, fateOf(answer), answer)
  }

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return
    this.#socket = null
    this.#received = ''
    if (!this.#isBusy) return
    this.#isBusy = false
    this.#options.onAnswer(this.#slot, 'failed', LOST)
  }
}
