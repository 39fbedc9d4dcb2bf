/** The HTTP server of the control plane: what every request and every answer has in common. */
import type { Duplex } from 'node:stream'
import type { Server as TlsServer } from 'node:tls'
import { type FastifyError, type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import type { Config } from '../config/schema.ts'
import { framingError, framingOf } from '../runtime/http-framing.ts'
import { lingerAfterAnswers } from '../runtime/lingering.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { limitBodyTimes, stalledMsMax } from './body-times.ts'
import { clientErrors, errorBody, HEAD_BYTES_MAX } from './client-errors.ts'
import { limitConnections } from './connections.ts'
import { apiErrorOf, errorHandler } from './entities/answer.ts'
import { readForwarded, trustedProxyCheck } from './forwarded.ts'
import { AdminResponse } from './headers.ts'
import { readAdminTls } from './listening.ts'

export type ServerSettings = Pick<
  Config['admin'],
  | 'tls'
  | 'trustedProxies'
  | 'connectionsMax'
  | 'connectionsPerAddressMax'
  | 'requestTimeoutMs'
  | 'bodyTimeoutMs'
  | 'bodyBytesPerSecondMin'
>

const BODY_BYTES_MAX = 256 * 1024
/** Characters of an address with its query. */
const URL_LENGTH_MAX = 16 * 1024
const HEADERS_MAX = 200
/** The head of a request is short, and comes at once. */
const HEAD_MS_MAX = 10_000
/** Longer than balancers keep idle connections (a minute): they end them then, and not we. */
const KEEP_ALIVE_MS = 72_000
/** Between two looks at what is late, unless that may be less late. */
const LOOK_MS_MAX = 1_000
const LOOKS = 4

/**
 * A server without routes. Every error is JSON, and none tells of what the server is made. Throws
 * `AdminListenError` for files of TLS that cannot be used; `metrics` counts their changes.
 */
export function createServer(
  settings: ServerSettings,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
  metrics?: Pick<Metrics, 'tls'>,
): FastifyInstance {
  const { trustedProxies, requestTimeoutMs } = settings
  const isTrustedProxy = trustedProxyCheck(trustedProxies)
  const tls = readAdminTls(settings, log, metrics?.tls)
  const refusals = clientErrors(tls !== null)
  const common = {
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    // It would be answered in another shape.
    return503OnClosing: false,
    trustProxy: isTrustedProxy,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: refusals.answer,
    frameworkErrors: refuseAddress,
  }
  const limits = limitsOf(requestTimeoutMs)
  const server: FastifyInstance =
    tls === null
      ? fastify({ ...common, http: limits })
      : (fastify({
          ...common,
          https: { ...limits, ...tls.context, handshakeTimeout: HEAD_MS_MAX },
        }) as unknown as FastifyInstance)
  tls?.follow(server.server as unknown as TlsServer)
  lingerAfterAnswers(server.server)
  refusals.follow(server.server)
  refuseAmbiguous(server)
  limitConnections(server, { ...settings, isTrustedProxy }, log)
  readForwarded(server, isTrustedProxy)
  limitBodyTimes(server, settings, refusals.answer)
  cutStalled(server, settings)
  answerErrors(server, log)
  return server
}

function limitsOf(requestTimeoutMs: number) {
  return {
    ServerResponse: AdminResponse,
    maxHeaderSize: HEAD_BYTES_MAX,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(HEAD_MS_MAX, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(LOOK_MS_MAX, requestTimeoutMs / LOOKS),
    // Refused below, in the shape of all errors.
    requireHostHeader: false,
  }
}

/** An address that is none, or a part of it that is too long: no route was looked for. */
function refuseAddress(
  { statusCode = 400 }: FastifyError,
  _request: FastifyRequest,
  reply: Parameters<FastifyInstance['errorHandler']>[2],
): void {
  const desc =
    statusCode === 414 ? 'a part of the address is too long' : 'the address is not a path'
  void reply.code(statusCode).send(errorBody(statusCode, desc))
}

/** Before all else: what could be read in two ways is not read at all. */
function refuseAmbiguous(server: FastifyInstance): void {
  let isClosing = false
  // Node hands over what else has arrived on a connection that is about to end (RFC 9112, 9.6).
  const ending = new WeakSet<Duplex>()
  server.addHook('preClose', async () => {
    isClosing = true
  })
  server.addHook('onRequest', async (request, reply) => {
    if (ending.has(request.raw.socket)) return reply.hijack()
    const refuse = (code: number, desc: string) => reply.code(code).send(errorBody(code, desc))
    if (isClosing) return refuse(503, 'the control plane is stopping')
    const { url, headers, raw } = request
    if (url.length > URL_LENGTH_MAX) {
      return refuse(414, `an address has at most ${URL_LENGTH_MAX} characters`)
    }
    // Of many more Node would leave some out.
    if (raw.rawHeaders.length > 2 * HEADERS_MAX) {
      return refuse(431, `a request has at most ${HEADERS_MAX} headers`)
    }
    const error = framingError(framingOf(raw.rawHeaders, raw.httpVersion), headers.host ?? '')
    if (error !== null) {
      ending.add(raw.socket)
      reply.header('connection', 'close')
      return refuse(error.status, `${error.field} ${error.why}`)
    }
    // The form for proxies names a host beside the one in the header.
    if (!url.startsWith('/')) return refuse(400, 'the address is not a path')
  })
}

/** Who does not read the answer does not hold it, and what it is made from, for ever. */
function cutStalled(server: FastifyInstance, settings: ServerSettings): void {
  server.addHook('onSend', async (request, reply, payload) => {
    reply.raw.setTimeout(stalledMsMax(request, settings))
    return payload
  })
}

function answerErrors(server: FastifyInstance, log: Pick<Logger, 'error'>): void {
  server.setNotFoundHandler((request, reply) =>
    reply.code(404).send(errorBody(404, `nothing is at ${request.method} ${pathOf(request.url)}`)),
  )
  const answerApiError = errorHandler(log)
  server.setErrorHandler((error: FastifyError, request, reply) => {
    if (apiErrorOf(error) !== null) return answerApiError(error, request, reply)
    const status = error.statusCode ?? 500
    const isOurs = status >= 500
    if (isOurs) log.error({ err: error, req: request }, 'request failed')
    const text = isOurs ? 'internal error' : error.message
    return reply.code(status).send(errorBody(status, text))
  })
}

function pathOf(url: string): string {
  return url.replace(/\?.*$/s, '')
}
