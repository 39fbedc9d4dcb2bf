import { createHash } from 'node:crypto'
import type { Peer } from '../../catalog/settings/peers.ts'

/** How many requests a peer may send. */
export type Rate = Pick<Peer, 'name' | 'requestsPerSecond' | 'burst'>

export interface RateLimits {
  /** Takes one request: 0 if it may pass, else whole seconds until there is room for it. */
  take(rate: Rate): number
}

/** What event loops that share a port share of rates: a peer has one rate, wherever it connects. */
export type RateTable = SharedArrayBuffer

/** Peers with a rate, of which there are far fewer; memory is only taken for those there are. */
const PEERS_MAX = 16_384
/** A peer has two cells: who it is, and until when what it has sent takes its rate. */
const CELLS = 2
const NS_PER_MS = 1e6
const NS_PER_S = 1e9

export function createRateTable(peersMax = PEERS_MAX): RateTable {
  return new SharedArrayBuffer(peersMax * CELLS * BigInt64Array.BYTES_PER_ELEMENT)
}

/**
 * A bucket of `burst` tokens per peer, by its name: it stays as full as it is while the catalogue
 * is read anew. Kept as the time at which it is full again (the generic cell rate algorithm): one
 * number, so that threads need no lock. `elapsedMs` never goes back, and is the same in
 * all threads that have the table. No bucket is ever dropped; of more peers than the table has
 * places for, some share a rate.
 */
export function createRateLimits(elapsedMs: () => number, table = createRateTable()): RateLimits {
  const cells = new BigInt64Array(table)
  const places = new Map<string, number>()

  const placeOf = (name: string): number => {
    let place = places.get(name)
    if (place === undefined) {
      place = findSlot(cells, name)
      places.set(name, place)
    }
    return place
  }

  return {
    take({ name, requestsPerSecond, burst }) {
      if (requestsPerSecond <= 0) return 0
      const full = placeOf(name) + 1
      const nowNs = BigInt(Math.round(elapsedMs() * NS_PER_MS))
      const perRequestNs = BigInt(Math.max(1, Math.round(NS_PER_S / requestsPerSecond)))
      const aheadNs = BigInt(Math.round((Math.max(1, burst) - 1) * Number(perRequestNs)))
      let seenNs = Atomics.load(cells, full)
      for (;;) {
        const fullNs = seenNs > nowNs ? seenNs : nowNs
        const waitNs = fullNs - nowNs - aheadNs
        if (waitNs > 0n) return Math.ceil(Number(waitNs) / NS_PER_S)
        const found = Atomics.compareExchange(cells, full, seenNs, fullNs + perRequestNs)
        if (found === seenNs) return 0
        seenNs = found
      }
    },
  }
}

/** The place of a peer in the table: its own, or one that is free and is its own from now on. */
function findSlot(cells: BigInt64Array, name: string): number {
  const digest = createHash('sha256').update(name).digest()
  // 0 marks a place that is free.
  const identity = digest.readBigInt64LE(0) | 1n
  const home = digest.readUInt32LE(8) % (cells.length / CELLS)
  for (let step = 0; step < cells.length; step += CELLS) {
    const place = (home * CELLS + step) % cells.length
    const holder = Atomics.compareExchange(cells, place, 0n, identity)
    if (holder === 0n || holder === identity) return place
  }
  return home * CELLS
}
