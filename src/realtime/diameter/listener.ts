/** Accepts connections of peers over TCP and TLS, and checks their timers. */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Config } from '../../config/schema.ts'
import { secureContext } from '../../runtime/tls-files.ts'
import type { TlsMetrics } from '../../runtime/tls-metrics.ts'
import { followTls, startTls } from '../../runtime/tls-reload.ts'
import { dnsNames } from '../certificate-names.ts'
import { ListenError } from '../http/listening.ts'
import { disconnectCause, PeerConnection } from './connection.ts'
import type { ConnectionContext } from './connection-context.ts'

export interface ListenerOptions {
  readonly settings: Pick<Config['diameter'], 'host' | 'port' | 'connectionsMax' | 'tls'>
  readonly context: ConnectionContext
  readonly tlsMetrics: TlsMetrics
}

export interface Listener {
  /** 0 if it does not listen for TCP or TLS, respectively. */
  readonly port: number
  readonly tlsPort: number
  /** All current connections. */
  connections(): Iterable<PeerConnection>
  /** Accepts no new connections, and sends DPR on the open ones. */
  stop(): void
  /** Resolves when all connections are closed; those still open after `answerTimeoutMs` are cut. */
  close(): Promise<void>
}

/** Another process uses the port. */
export class PortTakenError extends ListenError {
  override name = 'PortTakenError'
  constructor(endpoint: { host: string; port: number }) {
    super(endpoint, 'the port is in use')
  }
}

/** Timer checks within the shortest time-out. */
const CHECKS_PER_TIMEOUT = 8
const CHECK_INTERVAL_MS = { min: 10, max: 1000 } as const

/** `connectionsMax` applies to both ports together. Throws `ListenError` and `TlsFileError`. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { settings, context } = options
  const { host, tls } = settings
  const accepted = createAcceptedConnections(settings.connectionsMax, context)
  const servers: Server[] = []
  const open = async (server: Server, port: number) => {
    server.prependListener('connection', accepted.count)
    servers.push(server)
    return listen(server, { host, port }, context)
  }
  try {
    const tlsServer = tls.enabled ? createTls(options, accepted.take) : null
    const plain = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      accepted.take(socket, null)
    })
    const port = tls.only ? 0 : await open(plain, settings.port)
    const tlsPort = tlsServer === null ? 0 : await open(tlsServer, tls.port)
    return { port, tlsPort, ...superviseConnections(servers, accepted, context) }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
}

type OnConnection = (socket: Socket, certificateNames: readonly string[] | null) => void

function createTls(options: ListenerOptions, take: OnConnection): Server {
  const { settings, log } = options.context
  const { tls } = options.settings
  const listener = { section: 'diameter.tls', settings: tls, log, metrics: options.tlsMetrics }
  const files = startTls(listener)
  const mustShow = files.ca !== undefined
  const server = createTlsServer({
    ...secureContext(files, tls),
    requestCert: mustShow,
    rejectUnauthorized: mustShow,
    handshakeTimeout: settings.capabilitiesTimeoutMs,
    allowHalfOpen: true,
    noDelay: true,
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    take(socket, mustShow ? dnsNames(socket.getPeerCertificate().subjectaltname) : null)
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const why = error.code ?? error.message
    log.warn({ address: socket.remoteAddress, why }, 'a Diameter peer is refused by TLS')
    socket.destroy()
  })
  followTls(server, listener, files)
  return server
}

/** Open connections of both ports. */
interface AcceptedConnections {
  readonly connections: ReadonlySet<PeerConnection>
  /** Includes sockets in a TLS handshake. */
  readonly sockets: ReadonlySet<Socket>
  /** Called for each accepted socket. */
  readonly count: (socket: Socket) => void
  readonly take: OnConnection
}

function createAcceptedConnections(
  connectionsMax: number,
  context: ConnectionContext,
): AcceptedConnections {
  const connections = new Set<PeerConnection>()
  const sockets = new Set<Socket>()
  let isFull = false
  return {
    connections,
    sockets,
    count(socket) {
      if (sockets.size >= connectionsMax) {
        if (!isFull) context.log.warn({ connectionsMax }, 'too many Diameter connections')
        isFull = true
        socket.destroy()
        return
      }
      sockets.add(socket)
      isFull = false
      socket.once('close', () => sockets.delete(socket))
    },
    take(socket, certificateNames) {
      if (socket.destroyed) return
      const connection = new PeerConnection(socket, certificateNames, context)
      connections.add(connection)
      socket.once('close', () => connections.delete(connection))
    },
  }
}

async function listen(
  server: Server,
  endpoint: { host: string; port: number },
  { log }: ConnectionContext,
): Promise<number> {
  server.listen({ ...endpoint, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === 'EADDRINUSE' ? new PortTakenError(endpoint) : new ListenError(endpoint, message)
  }
  server.on('error', (error) => log.error({ err: error }, 'Diameter server failed'))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : endpoint.port
}

function superviseConnections(
  servers: readonly Server[],
  { connections, sockets }: AcceptedConnections,
  { settings, elapsedMs }: ConnectionContext,
): Omit<Listener, 'port' | 'tlsPort'> {
  const { capabilitiesTimeoutMs, watchdogMs, answerTimeoutMs } = settings
  const shortestMs = Math.min(capabilitiesTimeoutMs, watchdogMs, answerTimeoutMs)
  const checkMs = Math.min(
    CHECK_INTERVAL_MS.max,
    Math.max(CHECK_INTERVAL_MS.min, shortestMs / CHECKS_PER_TIMEOUT),
  )
  const timer = setInterval(() => {
    const nowMs = elapsedMs()
    for (const connection of connections) connection.checkTimers(nowMs)
  }, checkMs)
  const stop = () => {
    for (const server of servers) if (server.listening) server.close()
    for (const connection of connections) {
      connection.stop(disconnectCause.rebooting, 'the node stops')
    }
  }
  return {
    connections: () => connections,
    stop,
    async close() {
      stop()
      const closed = Promise.all(servers.map(closedServer))
      const cut = setTimeout(() => {
        for (const connection of connections) connection.destroy('the node stops')
        for (const socket of sockets) socket.destroy()
      }, answerTimeoutMs)
      await closed
      clearTimeout(cut)
      clearInterval(timer)
    },
  }
}

/** A server is closed when its last socket is closed. */
function closedServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
  })
}
