import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { lingerAfterAnswers, lingerAndClose } from '../../runtime/lingering.ts'
import { trackPendingAnswers } from '../../runtime/pending-answers.ts'
import { secureContext } from '../../runtime/tls-files.ts'
import { followTls, startTls } from '../../runtime/tls-reload.ts'
import type { Endpoints } from './endpoints.ts'
import { type HttpStatus, statusTexts } from './exchange.ts'
import { refuseCertificates } from './javascript-certificates.ts'
import { JavaScriptExchange, readHead } from './javascript-exchange.ts'
import { type HttpServer, ListenError, type ListenOptions, tlsListener } from './listening.ts'

/** Limits equal to those built into uWebSockets.js, in milliseconds and bytes. */
const RECEIVE_MS = 10_000
const CHECK_INTERVAL_MS = 1_000
const HEAD_BYTES_MAX = 16_384

/** Undocumented and missing in Node's types, but present since its first releases. */
type HalfOpen = Server & { httpAllowHalfOpen?: boolean }

/**
 * The server based on Node's HTTP module: for Node versions without a binary of uWebSockets.js, and
 * for clients that it does not support (pipelining, half-closed connections, HTTP/1.0).
 */
export async function startJavaScriptServer(
  options: ListenOptions,
  endpoints: Endpoints,
): Promise<HttpServer> {
  const server: HalfOpen = createPlainOrTls(options)
  // A client that has half-closed the connection after its request still receives the answer.
  server.httpAllowHalfOpen = true
  server.maxConnections = options.connectionsMax
  lingerAfterAnswers(server)
  // Registered first, because it must see a request before it is answered.
  refuseGarbage(server, options)
  answerRequests(server, endpoints)
  const port = await listen(server, options)
  warnOfDrops(server, options)
  const stop = () => {
    endpoints.stop()
    server.close()
  }
  return {
    port,
    stop,
    close() {
      stop()
      server.closeAllConnections()
    },
  }
}

function createPlainOrTls(options: ListenOptions): Server {
  const limits = {
    headersTimeout: RECEIVE_MS,
    requestTimeout: RECEIVE_MS,
    keepAliveTimeout: RECEIVE_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    maxHeaderSize: HEAD_BYTES_MAX,
    noDelay: true,
    // Refused together with other framing errors, so that the connection is closed as well.
    requireHostHeader: false,
  }
  const { tls } = options
  if (tls === null) return createServer(limits)
  const listener = tlsListener(tls, options)
  const files = startTls(listener)
  const server = createTlsServer({
    ...limits,
    ...secureContext(files, tls),
    handshakeTimeout: RECEIVE_MS,
    requestCert: files.ca !== undefined,
    rejectUnauthorized: files.ca !== undefined && tls.clientCertificates === 'required',
  })
  if (files.ca !== undefined) refuseCertificates(server, options)
  followTls(server, listener, files)
  return server
}

function answerRequests(server: Server, endpoints: Endpoints): void {
  // Node emits further requests that have arrived on a connection about to be closed (RFC 9112
  // section 9.6).
  const ending = new WeakSet<Duplex>()
  server.on('request', (request, response) => {
    const { socket } = request
    if (ending.has(socket)) return
    const head = readHead(request)
    const exchange = new JavaScriptExchange(request, response, head, () => ending.add(socket))
    endpoints.handle(exchange, head)
  })
}

/**
 * Answers input that is not valid HTTP with its error, and closes the connection. If an earlier
 * request of the connection has not been answered, it is only closed: the refusal would be taken
 * for that answer. The same applies to a failed TLS handshake.
 */
function refuseGarbage(server: Server, { encodeRefusal }: ListenOptions): void {
  const isAnswerable = trackPendingAnswers(server)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isHandshake = /^ERR_(?:SSL|TLS)_/.test(error.code ?? '')
    if (isHandshake || !isAnswerable(socket)) {
      socket.destroy()
      return
    }
    const [status, field, why] = refusals[error.code ?? ''] ?? NOT_HTTP
    const json = encodeRefusal('malformed', `${field} ${why}`)
    const head = [
      `HTTP/1.1 ${status} ${statusTexts[status]}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(json)}`,
      'Connection: close',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${json}`)
    lingerAndClose(socket)
  })
}

type Refusal = readonly [status: HttpStatus, field: string, why: string]

const NOT_HTTP: Refusal = [400, 'message', 'is not HTTP/1.1']
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [431, 'head', `must have at most ${HEAD_BYTES_MAX} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'message', 'must be complete within 10 seconds'],
  HPE_INVALID_CONTENT_LENGTH: [400, 'content-length', 'must be a number, and the only length'],
  HPE_UNEXPECTED_CONTENT_LENGTH: [400, 'content-length', 'must be given once'],
  HPE_INVALID_TRANSFER_ENCODING: [400, 'transfer-encoding', 'must be chunked'],
}

async function listen(server: Server, options: ListenOptions): Promise<number> {
  server.listen({ host: options.host, port: options.port, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'the port is in use' : message
    throw new ListenError(options, why)
  }
  server.on('error', (error) => options.log.error({ err: error }, 'HTTP server failed'))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : options.port
}

/** Logs once, until connections are accepted again, that connections are refused. */
function warnOfDrops(server: Server, { log, port }: ListenOptions): void {
  const connectionsMax = server.maxConnections
  let isFull = false
  server.on('drop', () => {
    if (!isFull)
      log.warn({ port, connectionsMax }, 'too many connections: further ones are refused')
    isFull = true
  })
  server.on('connection', () => {
    isFull = false
  })
}
