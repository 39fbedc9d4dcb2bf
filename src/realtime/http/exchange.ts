import type { HttpRequest, HttpResponse } from 'uWebSockets.js'

export interface AnswerOptions {
  /** One more header, such as `Allow` or `Retry-After`. */
  readonly header?: readonly [name: string, value: string]
  readonly closeConnection?: boolean
}

const statusLines = {
  200: '200 OK',
  400: '400 Bad Request',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  503: '503 Service Unavailable',
} as const

export type HttpStatus = keyof typeof statusLines

/**
 * One HTTP request and its answer. The only code that touches the socket's objects: a response of
 * uWebSockets.js must not be used after it ended or was aborted, and an unanswered one must have an
 * abort handler, or the process ends.
 */
export class Exchange {
  #response: HttpResponse | null
  readonly #declaredBytes: number

  constructor(response: HttpResponse, request: HttpRequest) {
    this.#response = response
    // An absent length gives 0, an unusable one NaN: the server closes the connection itself.
    this.#declaredBytes = Number(request.getHeader('content-length'))
    response.onAborted(() => {
      this.#response = null
    })
  }

  /**
   * Collects the body, up to `bytesMax`, and hands it over once; valid during the call only. A
   * longer one is reported at once: by its declared length, or when it grows too long.
   */
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

  /** Answers with JSON, once; later calls, and calls after the client has gone, do nothing. */
  answer(status: HttpStatus, json: string, { header, closeConnection }: AnswerOptions = {}): void {
    const response = this.#response
    if (response === null) return
    this.#response = null
    response.cork(() => {
      if (status !== 200) response.writeStatus(statusLines[status])
      response.writeHeader('Content-Type', 'application/json')
      if (header !== undefined) response.writeHeader(header[0], header[1])
      response.end(json, closeConnection ?? false)
    })
  }
}
