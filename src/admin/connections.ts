/**
 * Connection limits of the control plane: a total, a limit per address, and a reserve on which
 * health and metrics are answered even if the limits are reached.
 */
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { networksOf } from '../identity/networks.ts'
import type { Logger } from '../runtime/log.ts'
import { errorBody } from './client-errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Also answered on reserved connections: cheap, and needed under overload. */
    inReserve?: true
  }
}

export interface ConnectionSettings {
  readonly connectionsMax: number
  /** For IPv6 the limit of a /64; twice as many for a /56, four times as many for a /48. */
  readonly connectionsPerAddressMax: number
  /** Exempt from the limit per address: proxies forward many clients. */
  readonly isTrustedProxy: (address: string) => boolean
}

/** Connections in addition to `connectionsMax`. Each is closed after one answer. */
export const RESERVED_MAX = 64
/** Deadline for request, answer and delivery on a reserved connection. */
const RESERVED_MS_MAX = 10_000

const RETRY_AFTER_S = '5'

type Limit = 'all' | 'address'

interface Reserved {
  readonly socket: Duplex
  readonly address: string
  readonly limit: Limit
  /** True while a request is being answered. */
  isBusy: boolean
}

/** A TCP socket, possibly underneath TLS. */
interface Socket extends Duplex {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

/** Must run before expensive hooks are added. */
export function limitConnections(
  server: FastifyInstance,
  settings: ConnectionSettings,
  log: Pick<Logger, 'warn'>,
): void {
  const shares = new ConnectionLimiter(settings, log)
  server.server.on('connection', (socket: Socket) => shares.add(socket))
  server.addHook('onRequest', async (request, reply) => {
    const reserved = shares.reserved(request)
    if (reserved === undefined) return
    // Overrides keep-alive: others need the reserved connection.
    reply.header('connection', 'close')
    if (request.routeOptions.config.inReserve === true) {
      reserved.isBusy = true
      return
    }
    const isOwn = reserved.limit === 'address'
    const code = isOwn ? 429 : 503
    const desc = isOwn
      ? 'this address has too many connections: close some, or use them again'
      : 'the control plane has too many connections: try again later'
    return reply.code(code).header('retry-after', RETRY_AFTER_S).send(errorBody(code, desc))
  })
}

class ConnectionLimiter {
  readonly #settings: ConnectionSettings
  readonly #log: Pick<Logger, 'warn'>
  #total = 0
  readonly #byNetwork = new Map<string, number>()
  /**
   * By remote address and port, because TLS wraps the socket in another object. In order of
   * arrival.
   */
  readonly #reserve = new Map<string, Reserved>()
  /** Limits that have been logged, until a connection is admitted again. */
  readonly #reported = new Set<Limit>()

  constructor(settings: ConnectionSettings, log: Pick<Logger, 'warn'>) {
    this.#settings = settings
    this.#log = log
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress
    // The client has already disconnected.
    if (address === undefined) return
    const networks = networksOf(address)
    const limit = this.#limitReached(address, networks)
    if (limit !== null) {
      this.#report(limit, address)
      this.#addReserved(socket, address, limit)
      return
    }
    this.#reported.clear()
    this.#total += 1
    for (const { name } of networks) this.#count(name, 1)
    socket.once('close', () => {
      this.#total -= 1
      for (const { name } of networks) this.#count(name, -1)
    })
  }

  reserved({ raw }: FastifyRequest): Reserved | undefined {
    return this.#reserve.get(endOf(raw.socket))
  }

  #limitReached(address: string, networks: ReturnType<typeof networksOf>): Limit | null {
    const { connectionsMax, connectionsPerAddressMax, isTrustedProxy } = this.#settings
    const isFull = networks.some(({ name, times }) => {
      return (this.#byNetwork.get(name) ?? 0) >= times * connectionsPerAddressMax
    })
    if (isFull && !isTrustedProxy(address)) return 'address'
    return this.#total >= connectionsMax ? 'all' : null
  }

  #count(name: string, change: 1 | -1): void {
    const count = (this.#byNetwork.get(name) ?? 0) + change
    if (count === 0) this.#byNetwork.delete(name)
    else this.#byNetwork.set(name, count)
  }

  #addReserved(socket: Socket, address: string, limit: Limit): void {
    if (this.#reserve.size >= RESERVED_MAX && !this.#makeRoom(address)) {
      socket.destroy()
      return
    }
    const end = endOf(socket)
    const entry: Reserved = { socket, address, limit, isBusy: false }
    this.#reserve.set(end, entry)
    const timer = setTimeout(() => socket.destroy(), RESERVED_MS_MAX)
    timer.unref()
    socket.once('close', () => {
      clearTimeout(timer)
      if (this.#reserve.get(end) === entry) this.#reserve.delete(end)
    })
  }

  /**
   * Closes the oldest connection of the address with the most reserved connections: an idle one, or
   * one of an address that has more than the new one. So an address that fills the reserve does not
   * affect others, and a client that sends its request immediately is answered.
   */
  #makeRoom(address: string): boolean {
    const counts = new Map<string, number>()
    for (const each of this.#reserve.values()) {
      counts.set(each.address, (counts.get(each.address) ?? 0) + 1)
    }
    const own = counts.get(address) ?? 0
    const rank = (each: Reserved) => counts.get(each.address) ?? 0
    const mayGo = [...this.#reserve].filter(([, each]) => !each.isBusy || rank(each) > own + 1)
    const [first, ...others] = mayGo
    if (first === undefined) return false
    const victim = others.reduce(
      (most, each) => (rank(each[1]) > rank(most[1]) ? each : most),
      first,
    )
    this.#reserve.delete(victim[0])
    victim[1].socket.destroy()
    return true
  }

  #report(limit: Limit, address: string): void {
    if (this.#reported.has(limit)) return
    this.#reported.add(limit)
    const { connectionsMax, connectionsPerAddressMax } = this.#settings
    if (limit === 'all') {
      this.#log.warn({ connectionsMax }, 'too many connections to the control plane')
      return
    }
    const details = { address, connectionsPerAddressMax }
    this.#log.warn(details, 'too many connections to the control plane from one address')
  }
}

function endOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
