import type { IncomingMessage, ServerResponse } from 'node:http'
import { framingOf } from '../../runtime/http-framing.ts'
import {
  type AnswerOptions,
  type Exchange,
  type Head,
  type HttpStatus,
  isCacheable,
  NO_STORE,
} from './exchange.ts'
import { addressOf, certificateNamesOf } from './javascript-certificates.ts'

/** An exchange of Node's own server. */
export class JavaScriptExchange implements Exchange {
  readonly #request: IncomingMessage
  #response: ServerResponse | null
  readonly #declaredBytes: number
  readonly #isCacheable: boolean
  readonly #onLast: () => void

  /** `onLast` is called before an answer that closes the connection. */
  constructor(request: IncomingMessage, response: ServerResponse, head: Head, onLast: () => void) {
    this.#onLast = onLast
    this.#request = request
    this.#response = response
    this.#declaredBytes = Number(head.framing.length)
    this.#isCacheable = isCacheable(head)
    response.on('close', () => {
      this.#response = null
    })
    // Errors of aborted connections are reported to the response as well.
    request.on('error', () => undefined)
    response.on('error', () => undefined)
  }

  get isGone(): boolean {
    return this.#response === null
  }

  readBody(
    bytesMax: number,
    onBody: (body: Buffer) => void,
    onTooLarge: (isAnnounced: boolean) => void,
  ): void {
    if (this.#declaredBytes > bytesMax) {
      onTooLarge(true)
      return
    }
    let chunks: Buffer[] = []
    let sizeBytes = 0
    this.#request.on('data', (chunk: Buffer) => {
      if (this.#response === null || sizeBytes > bytesMax) return
      sizeBytes += chunk.byteLength
      if (sizeBytes <= bytesMax) {
        chunks.push(chunk)
        return
      }
      chunks = []
      onTooLarge(false)
    })
    this.#request.on('end', () => {
      if (this.#response === null || sizeBytes > bytesMax) return
      onBody(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
    })
  }

  remoteAddress(): string {
    return addressOf(this.#request.socket)
  }

  certificateNames(): readonly string[] | null {
    return certificateNamesOf(this.#request.socket)
  }

  answer(
    status: HttpStatus,
    contentType: string,
    text: string,
    { header, closeConnection }: AnswerOptions = {},
  ): void {
    const response = this.#response
    if (response === null) return
    this.#response = null
    const headers: Record<string, string | number> = {
      'Content-Type': contentType,
      'Content-Length': Buffer.byteLength(text),
    }
    if (header !== undefined) headers[header[0]] = header[1]
    if (this.#isCacheable) headers[NO_STORE[0]] = NO_STORE[1]
    if (closeConnection === true) {
      headers['Connection'] = 'close'
      this.#onLast()
    }
    response.writeHead(status, headers).end(text)
  }
}

/** Node itself refuses repeated lengths, and a length together with an encoding. */
export function readHead(request: IncomingMessage): Head {
  const { headers, rawHeaders, httpVersion, method = '', url = '' } = request
  const end = url.indexOf('?')
  const apiKey = headers['x-api-key']
  return {
    method,
    path: end < 0 ? url : url.slice(0, end),
    query: end < 0 ? '' : url.slice(end + 1),
    contentType: headers['content-type'] ?? '',
    authorization: headers.authorization ?? null,
    apiKey: (Array.isArray(apiKey) ? apiKey[0] : apiKey) ?? null,
    host: headers.host ?? '',
    isBrowser: headers.origin !== undefined || headers['sec-fetch-site'] !== undefined,
    framing: framingOf(rawHeaders, httpVersion),
    readsChunks: true,
  }
}
