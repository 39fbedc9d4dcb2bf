import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import {
  type AnswerOptions,
  type Exchange,
  type Head,
  type HttpStatus,
  isCacheable,
  NO_STORE,
  statusTexts,
} from './exchange.ts'
import { refuseAndClose } from './native-refusal.ts'

/**
 * An exchange of uWebSockets.js. With `native-refusal.ts` the only code that touches its objects: a
 * response must not be used after it ended or was aborted, and an unanswered one must have an abort
 * handler, or the process ends.
 */
export class NativeExchange implements Exchange {
  #response: HttpResponse | null
  readonly #declaredBytes: number
  readonly #hasLength: boolean
  /** What it would be is told, but a body would be taken for the next answer. */
  readonly #isHead: boolean
  readonly #isCacheable: boolean
  /** Whether the library is still in the bytes that this request came with. */
  #isArriving = true
  /** Whether the library has just handed over the body; it may have bytes of a next request. */
  #isTakingBody = false

  constructor(response: HttpResponse, head: Head) {
    this.#response = response
    // An absent length gives 0.
    this.#declaredBytes = Number(head.framing.length)
    this.#hasLength = head.framing.lengths > 0
    this.#isHead = head.method === 'HEAD'
    this.#isCacheable = isCacheable(head)
    response.onAborted(() => {
      this.#response = null
    })
  }

  /** To be called when the library has been told what to do with the request. */
  arrived(): void {
    this.#isArriving = false
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
    this.#response?.onData((chunk, isLast) => {
      if (this.#response === null) return
      sizeBytes += chunk.byteLength
      if (sizeBytes > bytesMax) {
        chunks = []
        onTooLarge(false)
        return
      }
      const bytes = Buffer.from(chunk)
      if (isLast) {
        this.#isTakingBody = true
        onBody(chunks.length === 0 ? bytes : Buffer.concat([...chunks, bytes]))
        this.#isTakingBody = false
        // The chunk's memory is taken back after this call.
      } else chunks.push(Buffer.from(bytes))
    })
  }

  remoteAddress(): string {
    if (this.#response === null) return ''
    return addressText(new Uint8Array(this.#response.getRemoteAddress()))
  }

  /** The library does not tell: with certificates of clients HTTP is served in JavaScript. */
  certificateNames(): null {
    return null
  }

  answer(
    status: HttpStatus,
    contentType: string,
    text: string,
    options: AnswerOptions = NO_OPTIONS,
  ): void {
    const isLast = options.closeConnection ?? false
    if (isLast && this.#isArriving && !this.#isHead) {
      this.#refuseAndClose(status, contentType, text, options)
    } else if (this.#mayHaveMore(isLast)) {
      // Once it is answered, the library would take what follows in the same bytes for the next
      // request. While it is not answered, that ends the connection.
      setImmediate(() => this.#end(status, contentType, text, options))
    } else this.#end(status, contentType, text, options)
  }

  /** Whether bytes behind this request may be no request, or must not be taken for one. */
  #mayHaveMore(isLast: boolean): boolean {
    // The library overlooks a length behind a header without a name.
    if (this.#isArriving) return isLast || !this.#hasLength
    return isLast && this.#isTakingBody
  }

  #refuseAndClose(
    status: HttpStatus,
    contentType: string,
    text: string,
    options: AnswerOptions,
  ): void {
    const response = this.#response
    if (response === null) return
    this.#response = null
    const headers = this.#headers(contentType, options)
    refuseAndClose(response, { status: `${status} ${statusTexts[status]}`, headers, text })
  }

  #headers(contentType: string, { header }: AnswerOptions): (readonly [string, string])[] {
    return [
      ['Content-Type', contentType],
      ...(header === undefined ? [] : [header]),
      ...(this.#isCacheable ? [NO_STORE] : []),
    ]
  }

  #end(status: HttpStatus, contentType: string, text: string, options: AnswerOptions): void {
    const { header, closeConnection } = options
    const response = this.#response
    if (response === null) return
    this.#response = null
    response.cork(() => {
      if (status !== 200) response.writeStatus(`${status} ${statusTexts[status]}`)
      response.writeHeader('Content-Type', contentType)
      if (header !== undefined) response.writeHeader(header[0], header[1])
      if (this.#isCacheable) response.writeHeader(NO_STORE[0], NO_STORE[1])
      const isLast = closeConnection ?? false
      if (!this.#isHead) {
        response.end(text, isLast)
        return
      }
      // Asked with arguments, the library ends the connection with the next request.
      response.writeHeader('Content-Length', String(Buffer.byteLength(text)))
      if (isLast) response.endWithoutBody(undefined, true)
      else response.endWithoutBody()
    })
  }
}

const NO_OPTIONS: AnswerOptions = {}

/**
 * Must be called before the handler of the request returns. `method` is in capitals, `path` without
 * the query.
 */
export function readHead(request: HttpRequest, method: string, path: string): Head {
  let contentType = ''
  let authorization: string | null = null
  let apiKey: string | null = null
  let hosts = 0
  let host = ''
  let isBrowser = false
  let lengths = 0
  let length = ''
  let encodings = 0
  let encoding = ''
  // The library itself takes the first of two lengths and any encoding for chunked.
  request.forEach((name, value) => {
    if (name === 'content-type') contentType = value
    else if (name === 'content-length') {
      lengths += 1
      length = value
    } else if (name === 'transfer-encoding') {
      encodings += 1
      encoding = value
    } else if (name === 'authorization') authorization ??= value
    // As Node does it: several keys are none.
    else if (name === 'x-api-key') apiKey = apiKey === null ? value : `${apiKey}, ${value}`
    else if (name === 'host') {
      hosts += 1
      host = value
    } else if (name === 'origin' || name === 'sec-fetch-site') isBrowser = true
  })
  // The library itself refuses HTTP/1.0.
  const framing = { lengths, length, encodings, encoding, hosts, isOld: false }
  // Without a question mark there is none, whatever the types of the library say.
  const query = request.getQuery() ?? ''
  const address = { method, path, query, readsChunks: false }
  return { ...address, contentType, authorization, apiKey, host, isBrowser, framing }
}

const MAPPED_BYTES = 12
const HEXTETS = 8

/** The text of an address of 4 or 16 bytes. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (isMapped(bytes)) return bytes.subarray(MAPPED_BYTES).join('.')
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const hextets = Array.from({ length: HEXTETS }, (_, index) =>
    view.getUint16(index * 2).toString(16),
  )
  // The shortest form, in brackets.
  return new URL(`http://[${hextets.join(':')}]/`).hostname.slice(1, -1)
}

/** Whether an IPv6 address is an IPv4 one, as `::ffff:127.0.0.1` is. */
function isMapped(bytes: Uint8Array): boolean {
  for (let index = 0; index < MAPPED_BYTES - 2; index += 1) if (bytes[index] !== 0) return false
  return bytes[MAPPED_BYTES - 2] === 0xff && bytes[MAPPED_BYTES - 1] === 0xff
}
