/**
 * Answers to connections whose data never becomes a request: not HTTP, head too large, too slow.
 */

import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { issuesOf } from '../domain/field-errors.ts'
import { answeredIssues, codeOfStatus } from '../requests/errors.ts'
import { lingerAndClose } from '../runtime/lingering.ts'
import { trackPendingAnswers } from '../runtime/pending-answers.ts'
import { headerLines } from './headers.ts'

/** Limit of the head: request line and all headers. */
export const HEAD_BYTES_MAX = 32 * 1024

/** Error format of the deprecated calls: `status` 0 and a text. */
export function errorBody(code: number, desc: string) {
  const errors = answeredIssues(issuesOf(desc, codeOfStatus(code)))
  return { status: 0, code, desc, errors }
}

type Refusal = readonly [status: string, desc: string]

const NOT_HTTP: Refusal = ['400 Bad Request', 'the request is not HTTP/1.1']
const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'the request did not arrive in time']],
  [
    'HPE_HEADER_OVERFLOW',
    ['431 Request Header Fields Too Large', `a head has at most ${HEAD_BYTES_MAX} bytes`],
  ],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', ['413 Content Too Large', 'the chunks have long extensions']],
])

export type AnswerClientError = (error: NodeJS.ErrnoException, socket: Duplex) => void

/**
 * Answers in JSON and closes the connection; only closes it if the client would take the error for
 * the answer to another request. Must be called before other request listeners are added.
 */
export function clientErrors(isSecure: boolean): {
  readonly answer: AnswerClientError
  /** Tracks outstanding answers on the connections of a server. */
  readonly follow: (server: Server) => void
} {
  let isAnswerable: (socket: Duplex) => boolean = () => false
  return {
    answer(error, socket) {
      const { code = '' } = error
      // A failed TLS handshake cannot be answered.
      const isHttp = code.startsWith('HPE_') || code.startsWith('ERR_HTTP_')
      if (!isHttp || !isAnswerable(socket)) {
        socket.destroy()
        return
      }
      socket.write(answerTo(code, isSecure))
      lingerAndClose(socket)
    },
    follow(server) {
      isAnswerable = trackPendingAnswers(server)
    },
  }
}

function answerTo(errorCode: string, isSecure: boolean): string {
  const [status, desc] = REFUSALS.get(errorCode) ?? NOT_HTTP
  const json = JSON.stringify(errorBody(Number.parseInt(status, 10), desc))
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(json)}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n${headerLines(isSecure)}\r\n${json}`
}
