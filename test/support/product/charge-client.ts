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
