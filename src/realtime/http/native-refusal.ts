import type { HttpResponse } from 'uWebSockets.js'
import { LINGER_BYTES_MAX, LINGER_MS_MAX } from '../../runtime/lingering.ts'

/** Longest wait for the end of a body before the refusal is sent. */
const ANSWER_MS = 200
/** Bytes of an answer that the library buffers before it writes to the socket. */
const CORK_BYTES = 16 * 1024

export interface LastAnswer {
  readonly status: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly text: string
}

/**
 * Answers a request that uWebSockets.js may delimit wrongly, and closes its connection. Nothing
 * behind the request is processed: the library does not notice the answer, and closes a connection
 * that sends a further request while one is due. Until the client has sent what the library takes
 * for the body, that data is discarded, within limits: a connection reset could destroy the answer.
 *
 * Must be called before the handler of the request returns.
 */
export function refuseAndClose(response: HttpResponse, answer: LastAnswer): void {
  let isGone = false
  let isAnswered = false
  let sizeBytes = 0
  const send = () => {
    if (isGone || isAnswered) return
    isAnswered = true
    response.cork(() => writeWhole(response, answer))
  }
  const close = () => {
    if (!isGone) response.close()
  }
  const timers = [setTimeout(send, ANSWER_MS), setTimeout(close, LINGER_MS_MAX)]
  for (const timer of timers) timer.unref()
  response.onAborted(() => {
    isGone = true
    for (const timer of timers) clearTimeout(timer)
  })
  response.onData((chunk, isLast) => {
    sizeBytes += chunk.byteLength
    if (!isLast && sizeBytes <= LINGER_BYTES_MAX) return
    // Immediately, because a request in the same bytes makes the library close the connection.
    send()
    setImmediate(close)
  })
}

/**
 * Writes the answer without the library's end function, which would complete the request and start
 * the next one. The last header carries the body, so that no length or encoding is added; blanks
 * exceed the library's buffer, so that everything is written to the socket during this call.
 */
function writeWhole(response: HttpResponse, { status, headers, text }: LastAnswer): void {
  const filler = ' '.repeat(CORK_BYTES)
  response.writeStatus(status)
  for (const [name, value] of headers) response.writeHeader(name, value)
  response.writeHeader('Connection', 'close')
  // The library ends the header with a line break, which is the end of the body here.
  const sizeBytes = Buffer.byteLength(text) + filler.length + LINE_BREAK.length
  response.writeHeader('Content-Length', `${sizeBytes}${LINE_BREAK}${LINE_BREAK}${text}${filler}`)
}

const LINE_BREAK = '\r\n'
