import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import { codeAt, lengthOf } from '../domain/text-codes.ts'

/** Selects the worker of a request, so that requests of one account keep their order. */
export interface Routes {
  /** Number of the worker. */
  workerOf(request: ChargeRequest): number
  /** Caches the worker of the account for its session and its subscriber. */
  learn(request: ChargeRequest, outcome: ChargeOutcome): void
}

/** Learned routes, shared by event loops: all of them send an account to the same worker. */
export type RouteTable = SharedArrayBuffer

/** Sessions and subscribers that the table has room for, four bytes each. */
const ROUTES_MAX = 2 ** 20
/** Places of one key; if all are occupied, the key replaces one of them. */
const WAYS = 8
/** A cell holds the bits of the hash that do not select its place, and the worker plus one. */
const WORKER_BITS = 17
const WORKER_MASK = 2 ** WORKER_BITS - 1
/** First values of the hashes: they distinguish sessions from subscribers. */
const SESSION = 0x811c9dc5
const SUBSCRIBER = 0x1b873593
const PRIME = 0x01000193

/** `routesMax` is a power of two. By default a cell and its place hold the whole hash. */
export function createRouteTable(routesMax = ROUTES_MAX): RouteTable {
  return new SharedArrayBuffer(routesMax * Int32Array.BYTES_PER_ELEMENT)
}

/**
 * Routes by account if an earlier outcome has shown it, otherwise by subscriber or session. A wrong
 * route is not an error (the commit compares versions): it costs a conflict or an additional load.
 * Therefore the table needs no lock, and keys with equal hashes share a cell.
 */
export function createRoutes(workers: number, table = createRouteTable()): Routes {
  if (workers === 1) return { workerOf: () => 0, learn: () => undefined }
  const cells = new Cells(table)
  const hashes = new Hashes()
  return {
    workerOf(request) {
      // The session takes precedence: it stays with the account in which it was opened.
      const session = hashes.ofSession(request)
      const bySession = cells.find(session)
      if (bySession >= 0) return bySession
      if (request.subscriberKey === 'none') return session % workers
      const subscriber = hashes.ofSubscriber(request)
      const bySubscriber = cells.find(subscriber)
      return bySubscriber >= 0 ? bySubscriber : subscriber % workers
    },
    learn(request, outcome) {
      if (outcome.aid <= 0) return
      const worker = outcome.aid % workers
      if (request.subscriberKey !== 'none') cells.set(hashes.ofSubscriber(request), worker)
      if (request.kind === 'release') cells.remove(hashes.ofSession(request))
      else if (request.kind !== 'event') cells.set(hashes.ofSession(request), worker)
    },
  }
}

/** Workers by the hashes of keys. */
class Cells {
  readonly #cells: Int32Array
  readonly #sets: number

  constructor(table: RouteTable) {
    this.#cells = new Int32Array(table)
    this.#sets = Math.max(1, this.#cells.length / WAYS)
  }

  /** -1 if the worker is not known. */
  find(hash: number): number {
    const index = this.#indexOf(hash)
    return index < 0 ? -1 : (Atomics.load(this.#cells, index) & WORKER_MASK) - 1
  }

  set(hash: number, worker: number): void {
    const value = this.#tagOf(hash) | (worker + 1)
    const index = this.#indexOf(hash)
    if (index < 0) Atomics.store(this.#cells, this.#placeOf(hash), value)
    else if (Atomics.load(this.#cells, index) !== value) Atomics.store(this.#cells, index, value)
  }

  remove(hash: number): void {
    const index = this.#indexOf(hash)
    if (index >= 0) Atomics.store(this.#cells, index, 0)
  }

  /** -1 if the table does not have the key. */
  #indexOf(hash: number): number {
    const tag = this.#tagOf(hash)
    const first = (hash % this.#sets) * WAYS
    for (let index = first; index < first + WAYS; index += 1) {
      const cell = Atomics.load(this.#cells, index)
      if (cell !== 0 && (cell & ~WORKER_MASK) === tag) return index
    }
    return -1
  }

  /** A free place for the key, otherwise one that depends on the key only. */
  #placeOf(hash: number): number {
    const first = (hash % this.#sets) * WAYS
    for (let index = first; index < first + WAYS; index += 1) {
      if (Atomics.load(this.#cells, index) === 0) return index
    }
    return first + ((hash >>> WORKER_BITS) % WAYS)
  }

  #tagOf(hash: number): number {
    return (hash >>> WORKER_BITS) << WORKER_BITS
  }
}

/** 32-bit hashes of keys, without building a text of them. */
class Hashes {
  #origin = ''
  #ofOrigin = hashed(SESSION, '')

  ofSession({ origin, sessionId }: ChargeRequest): number {
    // Consecutive requests mostly have the same origin.
    if (origin !== this.#origin) {
      this.#origin = origin
      this.#ofOrigin = hashed(SESSION, origin)
    }
    return finished(hashed(Math.imul(this.#ofOrigin, PRIME), sessionId))
  }

  ofSubscriber({ subscriberKey, subscriberValue }: ChargeRequest): number {
    return finished(hashed(hashed(SUBSCRIBER, subscriberKey), subscriberValue))
  }
}

/** FNV-1a over UTF-16 units, continued from `value`. */
function hashed(value: number, text: string): number {
  let hash = value
  const length = lengthOf(text)
  for (let index = 0; index < length; index += 1) {
    hash = Math.imul(hash ^ codeAt(text, index), PRIME)
  }
  return hash
}

/** Every bit of the result depends on every bit of the value (MurmurHash3). Not negative. */
function finished(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
