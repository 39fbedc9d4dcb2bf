import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnswerOptions, Exchange, Head, HttpStatus } from './exchange.ts'

/** An exchange of Node's own server. */
export class JavaScriptExchange implements Exchange {
  readonly #request: IncomingMessage
  #response: ServerResponse | null
  readonly #declaredBytes: number

  constructor(request: IncomingMessage, response: ServerResponse, head: Head) {
    this.#request = request
    this.#response = response
    this.#declaredBytes = Number(head.framing.length)
    response.on('close', () => {
      this.#response = null
    })
    // What a connection does that is cut; the response hears of it as well.
    request.on('error', () => undefined)
    response.on('error', () => undefined)
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

  answer(status: HttpStatus, json: string, { header, closeConnection }: AnswerOptions = {}): void {
    const response = this.#response
    if (response === null) return
    this.#response = null
    const headers: Record<string, string | number> = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(json),
    }
    if (header !== undefined) headers[header[0]] = header[1]
    if (closeConnection === true) headers['Connection'] = 'close'
    response.writeHead(status, headers).end(json)
  }
}

/** Node itself refuses two lengths, and a length beside an encoding. */
export function readHead({ headers }: IncomingMessage): Head {
  const length = headers['content-length']
  const encoding = headers['transfer-encoding']
  return {
    contentType: headers['content-type'] ?? '',
    framing: {
      lengths: length === undefined ? 0 : 1,
      length: length ?? '',
      encodings: encoding === undefined ? 0 : 1,
      encoding: encoding ?? '',
    },
  }
}
