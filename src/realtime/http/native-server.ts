import type { HttpResponse, us_listen_socket } from 'uWebSockets.js'
import { nextDescriptor } from '../descriptors.ts'
import { CHARGE_PATH, type Endpoints } from './endpoints.ts'
import type { Head } from './exchange.ts'
import { type HttpServer, ListenError, type ListenOptions } from './listening.ts'
import { NativeExchange, readHead } from './native-exchange.ts'
import type { Uws } from './native-tls.ts'
import { type App, createApps } from './native-tls.ts'

/**
 * The server based on uWebSockets.js. Its built-in limits (docs/OPERATING.md): a connection is
 * closed if it has sent an incomplete request or nothing for 10 seconds, if it pipelines, or if it
 * is half-closed while an answer is due.
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
  const gate = createConnectionGate(uws, app, { ...options, port }, first)
  const stop = () => {
    endpoints.stop()
    gate.close()
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
  const handle = (response: HttpResponse, head: Head) => {
    const exchange = new NativeExchange(response, head)
    endpoints.handle(exchange, head)
    exchange.arrived()
  }
  // A route of its own for most requests, whose method and path need not be read.
  app.post(CHARGE_PATH, (response, request) =>
    handle(response, readHead(request, 'POST', CHARGE_PATH)),
  )
  app.any('/*', (response, request) => {
    handle(response, readHead(request, request.getMethod().toUpperCase(), request.getUrl()))
  })
}

/** Interval between checks of the number of connections, ms. */
const CHECK_INTERVAL_MS = 20
/** Share of the limit below which connections are accepted again. */
const REOPEN_AT = 0.9

/**
 * Accepts connections while there is room. The library can neither refuse nor count connections,
 * and without file descriptors it would spin, so the listening socket is closed while there are too
 * many. The system then refuses new connections; open ones are not affected.
 */
function createConnectionGate(uws: Uws, app: App, options: ListenOptions, first: us_listen_socket) {
  const { host, port, sharing, connectionsMax, log } = options
  const base = sharing?.firstDescriptor ?? nextDescriptor()
  const ceiling = base + connectionsMax
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
      else log.warn({ port }, 'connections are accepted again')
    }
  }
  const timer = setInterval(() => {
    const next = nextDescriptor()
    if (socket !== null && next >= ceiling) {
      shut()
      log.warn({ port, connectionsMax }, 'too many connections: further ones are refused')
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
 * A shared port (SO_REUSEPORT) is not protected from other programs that share it. So the first
 * loop opens it exclusively, and then immediately again as shared. This also applies to port 0: the
 * library sets SO_REUSEADDR only for an explicit port, which is needed while connections of an
 * ended process are in TIME_WAIT.
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

/** The overload with host and option exists but is missing in the library's types. */
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
 * `LIBUS_LISTEN_EXCLUSIVE_PORT` and `LIBUS_LISTEN_DEFAULT`, which the types declare as a const
 * enum. With a shared port (SO_REUSEPORT) a second process would silently receive half of the
 * connections.
 */
const EXCLUSIVELY = 1
const SHARED = 0
