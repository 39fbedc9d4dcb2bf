/**
 * How the connections of the control plane are shared out: so many in all, so many of one address,
 * and a reserve beside them on which health and metrics are answered whatever holds the others.
 */
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from '../runtime/log.ts'
import { errorBody } from './client-errors.ts'
import { networksOf } from './networks.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered on the connections of the reserve, too: cheap, and needed when all else is full. */
    inReserve?: true
  }
}

export interface ConnectionSettings {
  readonly connectionsMax: number
  /** Of IPv6: of a /64; twice as many of a /56, four times as many of a /48. */
  readonly connectionsPerAddressMax: number
  /** Proxies bring the connections of many clients. */
  readonly isTrustedProxy: (address: string) => boolean
}

/** Connections beside `connectionsMax`. Each is closed after one answer. */
export const RESERVED_MAX = 64
/** In which that answer must have been asked for, given and read. */
const RESERVED_MS_MAX = 10_000

const RETRY_AFTER_S = '5'

type Limit = 'all' | 'address'

interface Reserved {
  readonly socket: Duplex
  readonly address: string
  readonly limit: Limit
  /** While it has a request that is answered here. */
  isBusy: boolean
}

/** A socket of TCP, also below TLS. */
interface Socket extends Duplex {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

/** Before hooks are added that cost anything. */
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
    // Also where a client would go on: others need the place.
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
  /** By the other end: above TLS the socket is another object. In the order of their beginning. */
  readonly #reserve = new Map<string, Reserved>()
  /** Which limits were told of, until there is room again. */
  readonly #reported = new Set<Limit>()

  constructor(settings: ConnectionSettings, log: Pick<Logger, 'warn'>) {
    this.#settings = settings
    this.#log = log
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress
    // The client has left already.
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
   * Closes the oldest connection of the address that has most of the reserve: one without a
   * request, or one of an address that has more than the new one. So an address that fills the
   * reserve takes nothing from others, and a client that asks at once is answered.
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
    const told = { address, connectionsPerAddressMax }
    this.#log.warn(told, 'too many connections to the control plane from one address')
  }
}

function endOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
