import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import {
  type AnswerOptions,
  type Exchange,
  type Head,
  type HttpStatus,
  statusTexts,
} from './exchange.ts'

/**
 * An exchange of uWebSockets.js. The only code that touches its objects: a response must not be
 * used after it ended or was aborted, and an unanswered one must have an abort handler, or the
 * process ends.
 */
export class NativeExchange implements Exchange {
  #response: HttpResponse | null
  readonly #declaredBytes: number
  /** Whether the library is still in the bytes that this request came with. */
  #isArriving = true

  constructor(response: HttpResponse, head: Head) {
    this.#response = response
    // An absent length gives 0.
    this.#declaredBytes = Number(head.framing.length)
    response.onAborted(() => {
      this.#response = null
    })
  }

  /** To be called when the library has been told what to do with the request. */
  arrived(): void {
    this.#isArriving = false
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
      if (isLast) onBody(chunks.length === 0 ? bytes : Buffer.concat([...chunks, bytes]))
      // The chunk's memory is taken back after this call.
      else chunks.push(Buffer.from(bytes))
    })
  }

  answer(status: HttpStatus, json: string, options: AnswerOptions = {}): void {
    // Once it is answered, the library would take what follows in the same bytes for the next
    // request, although the connection is to end. While it is not answered, that ends it.
    if (this.#isArriving && options.closeConnection === true) {
      setImmediate(() => this.#end(status, json, options))
      return
    }
    this.#end(status, json, options)
  }

  #end(status: HttpStatus, json: string, { header, closeConnection }: AnswerOptions): void {
    const response = this.#response
    if (response === null) return
    this.#response = null
    response.cork(() => {
      if (status !== 200) response.writeStatus(`${status} ${statusTexts[status]}`)
      response.writeHeader('Content-Type', 'application/json')
      if (header !== undefined) response.writeHeader(header[0], header[1])
      response.end(json, closeConnection ?? false)
    })
  }
}

/** Must be called before the handler of the request returns. */
export function readHead(request: HttpRequest): Head {
  let contentType = ''
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
    }
  })
  return { contentType, framing: { lengths, length, encodings, encoding } }
}
