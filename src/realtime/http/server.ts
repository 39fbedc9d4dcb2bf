import uws, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import { closedReason, type OpenTo } from '../../config/hosts.ts'
import type { Reason } from '../../domain/charge-outcome.ts'
import { httpStatus } from '../codecs/result-codes.ts'
import { type AnswerOptions, Exchange, type HttpStatus } from './exchange.ts'

export interface HttpServerOptions {
  readonly host: string
  /** Who may use it without authentication. A host that others reach has to be opened. */
  readonly openTo: OpenTo
  /** 0 takes any free port. */
  readonly port: number
  readonly bodyBytesMax: number
  /** Takes a body, valid during the call, and answers once: at once or later. */
  readonly charge: (body: Buffer, answer: (reason: Reason, text: string) => void) => void
  /** Why a message was refused before it was decoded, in the dialect of the clients. */
  readonly encodeError: (field: string, why: string) => string
  readonly isReady: () => boolean
}

export interface HttpServer {
  readonly port: number
  /** Takes no new connections, and ends each one that is open with its next answer. */
  stop(): void
  /** Cuts what is still connected. */
  close(): void
}

/** The address cannot be listened on; the message says why. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/** Not in the library's types; its JavaScript fallback has none and lets connections run out. */
type App = TemplatedApp & { close?: () => void }

/** Listens for charge requests. Throws `ListenError`. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port } = options
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const reason = closedReason(host, options.openTo, 'realtime.openTo')
  if (reason !== undefined) throw new ListenError(`cannot listen on ${address}: host ${reason}`)
  const app: App = uws.App()
  const state = { isStopping: false }
  addRoutes(app, options, state)
  const listening = await listen(app, host, port)
  if (listening === false) {
    app.close?.()
    throw new ListenError(`cannot listen on ${address}: ${WHY_NOT}`)
  }
  let socket: us_listen_socket | null = listening
  const stop = () => {
    state.isStopping = true
    if (socket !== null) uws.us_listen_socket_close(socket)
    socket = null
  }
  return {
    port: uws.us_socket_local_port(listening),
    stop,
    close() {
      stop()
      app.close?.()
    },
  }
}

function addRoutes(
  app: TemplatedApp,
  options: HttpServerOptions,
  state: { isStopping: boolean },
): void {
  const { bodyBytesMax, charge, encodeError, isReady } = options

  const answer = (exchange: Exchange, status: HttpStatus, text: string, more?: AnswerOptions) => {
    const plain = status === 503 ? RETRY : more
    exchange.answer(status, text, state.isStopping ? { ...plain, closeConnection: true } : plain)
  }
  const tooLarge = encodeError('body', `must have at most ${bodyBytesMax} bytes`)

  app.post('/realtime', (response, request) => {
    const exchange = new Exchange(response, request)
    if (!isJson(request.getHeader('content-type'))) {
      answer(exchange, 415, encodeError('content-type', 'must be application/json'))
      return
    }
    exchange.readBody(
      bodyBytesMax,
      (body) => charge(body, (reason, text) => answer(exchange, httpStatus[reason], text)),
      // What was announced can be skipped; without an announcement there may be no end.
      (isAnnounced) => answer(exchange, 413, tooLarge, { closeConnection: !isAnnounced }),
    )
  })
  app.get('/health/live', (response, request) => {
    answer(new Exchange(response, request), 200, '{"status":1}')
  })
  app.get('/health/ready', (response, request) => {
    const status = isReady() ? 1 : 0
    answer(new Exchange(response, request), status === 1 ? 200 : 503, `{"status":${status}}`)
  })
  for (const [path, method] of METHODS) {
    app.any(path, (response, request) => {
      const text = encodeError('method', `must be ${method}`)
      answer(new Exchange(response, request), 405, text, { header: ['Allow', method] })
    })
  }
  app.any('/*', (response, request) => {
    answer(new Exchange(response, request), 404, encodeError('path', 'is unknown'))
  })
}

/** The library does not say which. */
const WHY_NOT = 'the port is in use, or the system does not allow it'

const METHODS = [
  ['/realtime', 'POST'],
  ['/health/live', 'GET'],
  ['/health/ready', 'GET'],
] as const
const RETRY: AnswerOptions = { header: ['Retry-After', '1'] }

/** Absent is taken for JSON; a `charset` or another parameter is ignored. */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void

/**
 * Without the option a second process would share the port (SO_REUSEPORT) and silently take half of
 * the connections. The form with host and option exists but is not in the library's types.
 */
function listen(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket | false> {
  const exclusively = app.listen.bind(app) as unknown as ListenExclusively
  return new Promise((resolve) => {
    exclusively(host, port, EXCLUSIVE_PORT, resolve)
  })
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`; the types have it as a const of an enum. */
const EXCLUSIVE_PORT = 1
