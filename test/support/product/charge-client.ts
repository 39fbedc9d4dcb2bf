/**
 * A small HTTP client on one keep-alive connection: on a machine of two cores its own cost counts.
 */
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  body: string
}

/** The connection ended before the answer was complete: the outcome is unknown. */
export class ConnectionLostError extends Error {
  override name = 'ConnectionLostError'
}

/**
 * Bounds a load by the number of its requests: time would let a fast machine send many, and a slow
 * one few. Clients wait when all allowed ones are sent. Without a call of `allow` it has no bound.
 */
export class LoadBound {
  /** Requests so far, without repetitions, and those that wait for an answer at this moment. */
  sent = 0
  inFlight = 0
  #allowed = Number.POSITIVE_INFINITY
  #waiting: (() => void)[] = []

  /** This many more; all that follow with `Infinity`. */
  allow(requests: number): void {
    this.#allowed = this.sent + requests
    this.#wake()
  }

  /** Resolves as soon as this many more are sent. */
  async untilSent(requests: number): Promise<void> {
    const enough = this.sent + requests
    while (this.sent < enough) await this.#change()
  }

  /** Waits until one more request may be sent; repetitions need no turn. */
  async turn(): Promise<void> {
    while (this.sent >= this.#allowed) await this.#change()
    this.sent += 1
    this.#wake()
  }

  /** Counts the request while it waits for its answer. */
  async count<T>(request: Promise<T>): Promise<T> {
    this.inFlight += 1
    try {
      return await request
    } finally {
      this.inFlight -= 1
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

/** Sends one request at a time; connects when necessary. */
export class Client {
  #socket: Socket | null = null
  #received = ''
  #resolve: ((answer: Answer) => void) | null = null
  #reject: ((error: Error) => void) | null = null
  readonly #port: number
  readonly #head: string

  constructor(port: number, path = '/realtime', contentType = 'application/json') {
    this.#port = port
    const headers = `Host: localhost\r\nContent-Type: ${contentType}\r\n`
    this.#head = `POST ${path} HTTP/1.1\r\n${headers}Content-Length: `
  }

  post(body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      const length = Buffer.byteLength(body)
      this.#connection().write(`${this.#head}${length}\r\n\r\n${body}`)
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
  }

  #connection(): Socket {
    if (this.#socket !== null) return this.#socket
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    socket.setEncoding('latin1')
    this.#received = ''
    socket.on('data', (chunk: string) => this.#take(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = null
      const reject = this.#reject
      this.#resolve = null
      this.#reject = null
      reject?.(new ConnectionLostError('connection lost'))
    })
    this.#socket = socket
    return socket
  }

  #take(chunk: string): void {
    this.#received += chunk
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const at = this.#received.toLowerCase().indexOf('content-length: ')
    const length = Number.parseInt(this.#received.slice(at + 16, at + 26), 10)
    if (this.#received.length < headEnd + 4 + length) return
    const body = this.#received.slice(headEnd + 4, headEnd + 4 + length)
    const status = Number(this.#received.slice(9, 12))
    this.#received = ''
    const resolve = this.#resolve
    this.#resolve = null
    this.#reject = null
    resolve?.({ status, body: Buffer.from(body, 'latin1').toString() })
  }
}
