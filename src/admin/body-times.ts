/**
 * Deadlines for request bodies. Otherwise a client that sends a few bytes now and then could hold
 * its connection for as long as the upload of a large file may take.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { AnswerClientError } from './client-errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * For files and long documents: the deadline is extended as data arrives. Other bodies are
     * small.
     */
    bodies?: 'large'
  }
}

export type BodyTimes = Pick<
  Config['admin'],
  'bodyTimeoutMs' | 'bodyBytesPerSecondMin' | 'requestTimeoutMs'
>

const SECOND_MS = 1_000
/** Minimum interval between two checks of a large body. */
const CHECK_MS_MIN = 100

/** `answer` refuses a late request and closes its connection. */
export function limitBodyTimes(
  server: FastifyInstance,
  times: BodyTimes,
  answer: AnswerClientError,
): void {
  server.addHook('onRequest', async (request, reply) => {
    if (hasBody(request)) watch(request, reply, times, answer)
  })
}

/** Maximum time without progress while a client reads an answer, ms. */
export function stalledMsMax({ routeOptions }: FastifyRequest, times: BodyTimes): number {
  const { requestTimeoutMs, bodyTimeoutMs } = times
  if (routeOptions.config.bodies === 'large') return requestTimeoutMs
  return Math.min(bodyTimeoutMs, requestTimeoutMs)
}

function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return encoding !== undefined || Number(length) > 0
}

function watch(
  { raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  times: BodyTimes,
  answer: AnswerClientError,
): void {
  const { socket } = raw
  const isLarge = routeOptions.config.bodies === 'large'
  const before = socket.bytesRead
  const allowedMs = () => allowed(isLarge ? socket.bytesRead - before : 0, times)
  let waitedMs = 0
  let timer: NodeJS.Timeout
  const check = (ms: number) => {
    timer = setTimeout(() => {
      if (raw.complete) return
      waitedMs += ms
      const leftMs = allowedMs() - waitedMs
      if (leftMs > 0) check(Math.max(leftMs, CHECK_MS_MIN))
      // The client would take a second answer for that of the next request.
      else if (reply.sent) socket.destroy()
      else answer(tooLate(), socket)
    }, ms)
    timer.unref()
  }
  check(allowedMs())
  raw.once('close', () => clearTimeout(timer))
}

function allowed(arrivedBytes: number, times: BodyTimes): number {
  const { bodyTimeoutMs, bodyBytesPerSecondMin, requestTimeoutMs } = times
  const byBytesMs = (SECOND_MS * arrivedBytes) / bodyBytesPerSecondMin
  return Math.min(requestTimeoutMs, bodyTimeoutMs + byBytesMs)
}

/** The same error as Node's for a late request. */
function tooLate(): NodeJS.ErrnoException {
  return Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
}
