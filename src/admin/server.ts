/** HTTP server of the control plane: common handling of requests and answers. */
import type { Duplex } from 'node:stream'
import type { Server as TlsServer } from 'node:tls'
import { type FastifyError, type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import type { Config } from '../config/schema.ts'
import { apiErrorOf } from '../requests/api-errors.ts'
import { framingError, framingOf } from '../runtime/http-framing.ts'
import { lingerAfterAnswers } from '../runtime/lingering.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { limitBodyTimes, stalledMsMax } from './body-times.ts'
import { clientErrors, errorBody, HEAD_BYTES_MAX } from './client-errors.ts'
import { limitConnections } from './connections.ts'
import { readForwarded, trustedProxyCheck } from './forwarded.ts'
import { AdminResponse } from './headers.ts'
import { errorHandler } from './http/answer.ts'
import { bodyErrorOf } from './http/body.ts'
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
/** Maximum length of a URL with its query, characters. */
const URL_LENGTH_MAX = 16 * 1024
const HEADERS_MAX = 200
/** Request heads are short and arrive immediately. */
const HEAD_MS_MAX = 10_000
/** Longer than load balancers keep idle connections (a minute), so that they close them first. */
const KEEP_ALIVE_MS = 72_000
/** Maximum interval between two checks for late requests. */
const CHECK_MS_MAX = 1_000
const CHECKS_PER_TIMEOUT = 4

/**
 * A server without routes. All errors are JSON and disclose nothing about the implementation.
 * Throws `AdminListenError` for unusable TLS files; `metrics` counts their changes.
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
    // Fastify's answer would have a different format.
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
  noteWrites(server)
  answerErrors(server, log)
  return server
}

function limitsOf(requestTimeoutMs: number) {
  return {
    ServerResponse: AdminResponse,
    maxHeaderSize: HEAD_BYTES_MAX,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(HEAD_MS_MAX, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(CHECK_MS_MAX, requestTimeoutMs / CHECKS_PER_TIMEOUT),
    // Refused below, in the common error format.
    requireHostHeader: false,
  }
}

/** An invalid URL or an overlong segment; no route was looked up. */
function refuseAddress(
  { statusCode = 400 }: FastifyError,
  _request: FastifyRequest,
  reply: Parameters<FastifyInstance['errorHandler']>[2],
): void {
  const desc =
    statusCode === 414 ? 'a part of the address is too long' : 'the address is not a path'
  void reply.code(statusCode).send(errorBody(statusCode, desc))
}

/** Runs first: refuses requests that could be parsed in two ways. */
function refuseAmbiguous(server: FastifyInstance): void {
  let isClosing = false
  // Node still delivers data that arrived on a connection that is about to end (RFC 9112, 9.6).
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
    // Node would drop headers above its own limit.
    if (raw.rawHeaders.length > 2 * HEADERS_MAX) {
      return refuse(431, `a request has at most ${HEADERS_MAX} headers`)
    }
    const error = framingError(framingOf(raw.rawHeaders, raw.httpVersion), headers.host ?? '')
    if (error !== null) {
      ending.add(raw.socket)
      reply.header('connection', 'close')
      return refuse(error.status, `${error.field} ${error.why}`)
    }
    // The absolute form, for proxies, names a host in addition to the header.
    if (!url.startsWith('/')) return refuse(400, 'the address is not a path')
  })
}

/** A client that does not read its answer must not hold it in memory indefinitely. */
function cutStalled(server: FastifyInstance, settings: ServerSettings): void {
  server.addHook('onSend', async (request, reply, payload) => {
    reply.raw.setTimeout(stalledMsMax(request, settings))
    return payload
  })
}

/** Before a handler begins nothing is written; it may know better than its method. */
function noteWrites(server: FastifyInstance): void {
  server.decorateRequest('mayHaveWritten', false)
  server.addHook('preHandler', async (request) => {
    request.mayHaveWritten = request.method !== 'GET' && request.method !== 'HEAD'
  })
}

function answerErrors(server: FastifyInstance, log: Pick<Logger, 'error'>): void {
  server.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send(errorBody(404, `there is no route for ${request.method} ${pathOf(request.url)}`)),
  )
  const answerApiError = errorHandler(log)
  server.setErrorHandler((error: FastifyError, request, reply) => {
    if (apiErrorOf(bodyErrorOf(error)) !== null) return answerApiError(error, request, reply)
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
