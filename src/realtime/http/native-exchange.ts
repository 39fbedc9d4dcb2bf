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
 * An exchange of uWebSockets.js. Only this file and `native-refusal.ts` use its objects: a response
 * must not be used after it has ended or been aborted, and an unanswered one must have an abort
 * handler, otherwise the process ends.
 */
export class NativeExchange implements Exchange {
  #response: HttpResponse | null
  readonly #declaredBytes: number
  readonly #hasLength: boolean
  /** HEAD: the answer has a length but no body, which would be taken for the next answer. */
  readonly #isHead: boolean
  readonly #isCacheable: boolean
  /** Whether the library is still processing the bytes in which this request arrived. */
  #isArriving = true
  /** Whether the library is delivering the body, whose bytes may include a next request. */
  #isTakingBody = false

  constructor(response: HttpResponse, head: Head) {
    this.#response = response
    // An absent length becomes 0.
    this.#declaredBytes = Number(head.framing.length)
    this.#hasLength = head.framing.lengths > 0
    this.#isHead = head.method === 'HEAD'
    this.#isCacheable = isCacheable(head)
    response.onAborted(() => {
      this.#response = null
    })
  }

  /** Called when the library's handler of the request has finished. */
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
        // The memory of the chunk is released after this call.
      } else chunks.push(Buffer.from(bytes))
    })
  }

  remoteAddress(): string {
    if (this.#response === null) return ''
    return addressText(new Uint8Array(this.#response.getRemoteAddress()))
  }

  /** The library does not provide them: with client certificates HTTP is served in JavaScript. */
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
      // After the answer, the library would process further bytes of the same read as the next
      // request. While the request is unanswered, such bytes close the connection.
      setImmediate(() => this.#end(status, contentType, text, options))
    } else this.#end(status, contentType, text, options)
  }

  /** Whether bytes behind this request may not be a request, or must not be processed as one. */
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
      // If called with arguments, the library closes the connection on the next request.
      response.writeHeader('Content-Length', String(Buffer.byteLength(text)))
      if (isLast) response.endWithoutBody(undefined, true)
      else response.endWithoutBody()
    })
  }
}

const NO_OPTIONS: AnswerOptions = {}

/**
 * Must be called before the handler of the request returns. `method` is in upper case, `path`
 * without the query.
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
  // The library uses the first of two lengths, and takes any encoding for chunked.
  request.forEach((name, value) => {
    if (name === 'content-type') contentType = value
    else if (name === 'content-length') {
      lengths += 1
      length = value
    } else if (name === 'transfer-encoding') {
      encodings += 1
      encoding = value
    } else if (name === 'authorization') authorization ??= value
    // As Node does: several keys are joined, which yields an invalid one.
    else if (name === 'x-api-key') apiKey = apiKey === null ? value : `${apiKey}, ${value}`
    else if (name === 'host') {
      hosts += 1
      host = value
    } else if (name === 'origin' || name === 'sec-fetch-site') isBrowser = true
  })
  // The library itself refuses HTTP/1.0.
  const framing = { lengths, length, encodings, encoding, hosts, isOld: false }
  // Undefined without a question mark, contrary to the library's types.
  const query = request.getQuery() ?? ''
  // No spread: V8 would create new hidden classes for each request.
  return {
    method,
    path,
    query,
    contentType,
    authorization,
    apiKey,
    host,
    isBrowser,
    framing,
    readsChunks: false,
  }
}

const MAPPED_BYTES = 12
const HEXTETS = 8

/** Text of an address of 4 or 16 bytes. */
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

/** Whether an IPv6 address is IPv4-mapped, as `::ffff:127.0.0.1`. */
function isMapped(bytes: Uint8Array): boolean {
  for (let index = 0; index < MAPPED_BYTES - 2; index += 1) if (bytes[index] !== 0) return false
  return bytes[MAPPED_BYTES - 2] === 0xff && bytes[MAPPED_BYTES - 1] === 0xff
}
