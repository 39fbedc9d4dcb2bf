import type { HttpResponse, us_listen_socket } from 'uWebSockets.js'
import { descriptorCeiling, nextDescriptor } from '../descriptors.ts'
import { CHARGE_PATH, type Endpoints } from './endpoints.ts'
import type { Head } from './exchange.ts'
import { type HttpServer, ListenError, type ListenOptions } from './listening.ts'
import { NativeExchange, readHead } from './native-exchange.ts'
import { type App, createApps } from './native-tls.ts'

export type Uws = typeof import('uWebSockets.js')

/**
 * The server of uWebSockets.js. Its own limits (docs/OPERATING.md): a connection that has sent half
 * a request, or nothing, for 10 seconds is closed, and so is one that pipelines or closes its half
 * while an answer is due.
 */
export async function startNativeServer(
  uws: Uws,
  options: ListenOptions,
  endpoints: Endpoints,
): Promise<HttpServer> {
  const apps = createApps(uws, options, (app) => addRoutes(app, endpoints))
  const app = apps.first
  const first = await listenFirst(uws, app, options)
  if (first === false) {
    apps.close()
    throw new ListenError(options, 'the port is in use, or the system does not allow it')
  }
  const port = uws.us_socket_local_port(first)
  const door = createConnectionGate(uws, app, { ...options, port }, first)
  const stop = () => {
    endpoints.stop()
    door.close()
  }
  return {
    port,
    stop,
    close() {
      stop()
      apps.close()
    },
  }
}

function addRoutes(app: App, endpoints: Endpoints): void {
  const take = (response: HttpResponse, head: Head) => {
    const exchange = new NativeExchange(response, head)
    endpoints.take(exchange, head)
    exchange.arrived()
  }
  // What most requests are need not be asked for.
  app.post(CHARGE_PATH, (response, request) =>
    take(response, readHead(request, 'POST', CHARGE_PATH)),
  )
  app.any('/*', (response, request) => {
    take(response, readHead(request, request.getMethod().toUpperCase(), request.getUrl()))
  })
}

/** Milliseconds between two looks at how many connections there are. */
const CHECK_INTERVAL_MS = 20
/** Share of the connections at which new ones are taken again. */
const REOPEN_AT = 0.9

/**
 * Takes connections while there is room. The library cannot refuse one, nor count them, and without
 * file descriptors it would spin; so the door itself is shut for as long as there are too many.
 * New connections are then refused by the system, and those that there are go on.
 */
function createConnectionGate(uws: Uws, app: App, options: ListenOptions, first: us_listen_socket) {
  const { host, port, sharing, connectionsMax, log } = options
  const base = sharing?.firstDescriptor ?? nextDescriptor()
  const ceiling = descriptorCeiling(base, connectionsMax)
  const reopenBelow = base + (ceiling - base) * REOPEN_AT
  let socket: us_listen_socket | null = first
  let isOpening = false
  let isClosed = false

  const shut = () => {
    if (socket !== null) uws.us_listen_socket_close(socket)
    socket = null
  }
  const open = async () => {
    isOpening = true
    const opened = await listen(app, host, port, sharing === null ? EXCLUSIVELY : SHARED)
    isOpening = false
    if (opened === false) log.error({ port }, 'port cannot be listened on again')
    else {
      socket = opened
      if (isClosed) shut()
      else log.warn({ port }, 'connections are taken again')
    }
  }
  const timer = setInterval(() => {
    const next = nextDescriptor()
    if (socket !== null && next >= ceiling) {
      shut()
      log.warn({ port, connectionsMax: ceiling - base }, 'too many connections, no more are taken')
    } else if (socket === null && !isOpening && next < reopenBelow) void open()
  }, CHECK_INTERVAL_MS)
  timer.unref()

  return {
    close() {
      isClosed = true
      clearInterval(timer)
      shut()
    },
  }
}

/**
 * Who shares a port cannot hold it for himself, and other programs that share theirs would get in
 * unnoticed. So the first one takes it for itself, and at once again as one that is shared. Of any
 * free port, too: only of a port that it was told does the library say that it may be taken again
 * while connections of a process that has ended are fading away (SO_REUSEADDR, TIME_WAIT).
 */
async function listenFirst(
  uws: Uws,
  app: App,
  { host, port, sharing }: ListenOptions,
): Promise<us_listen_socket | false> {
  if (sharing !== null && !sharing.isFirst) return listen(app, host, port, SHARED)
  if (sharing === null && port !== 0) return listen(app, host, port, EXCLUSIVELY)
  const probe = await listen(app, host, port, EXCLUSIVELY)
  if (probe === false) return false
  const found = uws.us_socket_local_port(probe)
  uws.us_listen_socket_close(probe)
  return listen(app, host, found, sharing === null ? EXCLUSIVELY : SHARED)
}

type ListenWithOption = (
  host: string,
  port: number,
  option: number,
  done: (socket: us_listen_socket | false) => void,
) => void

/** The form with host and option exists but is not in the library's types. */
function listen(
  app: App,
  host: string,
  port: number,
  option: number,
): Promise<us_listen_socket | false> {
  const listenWith = app.listen.bind(app) as unknown as ListenWithOption
  return new Promise((resolve) => {
    listenWith(host, port, option, resolve)
  })
}

/**
 * `LIBUS_LISTEN_EXCLUSIVE_PORT` and `LIBUS_LISTEN_DEFAULT`; the types have them as a const of an
 * enum. Shared (SO_REUSEPORT), a second process would silently take half of the connections.
 */
const EXCLUSIVELY = 1
const SHARED = 0
