import { createHash } from 'node:crypto'
import type { Peer } from '../../catalog/settings/peers/peers.ts'

/** Rate that a peer may send. */
export type Rate = Pick<Peer, 'name' | 'requestsPerSecond' | 'burst'>

export interface RateLimits {
  /** Counts a request: 0 if it may pass, otherwise the whole seconds until it may. */
  take(rate: Rate): number
}

/** Rates shared by event loops: a peer has one rate regardless of the loop it is connected to. */
export type RateTable = SharedArrayBuffer

/** Limit of peers with a rate, far above any actual number; only used memory is allocated. */
const PEERS_MAX = 16_384
/** Two cells per peer: its identity, and the time at which its bucket is full again. */
const CELLS = 2
const NS_PER_MS = 1e6
const NS_PER_S = 1e9

export function createRateTable(peersMax = PEERS_MAX): RateTable {
  return new SharedArrayBuffer(peersMax * CELLS * BigInt64Array.BYTES_PER_ELEMENT)
}

/**
 * A bucket of `burst` tokens per peer, by its name, so that a reload of the configuration does not
 * refill it. It is stored as the time at which it is full again (generic cell rate algorithm): a
 * single number, so that threads need no lock. `elapsedMs` is monotonic and the same in all threads
 * that share the table. Buckets are never dropped; if there are more peers than slots, some share a
 * rate.
 */
export function createRateLimits(elapsedMs: () => number, table = createRateTable()): RateLimits {
  const cells = new BigInt64Array(table)
  const slots = new Map<string, number>()

  const slotOf = (name: string): number => {
    let slot = slots.get(name)
    if (slot === undefined) {
      slot = findSlot(cells, name)
      slots.set(name, slot)
    }
    return slot
  }

  return {
    take({ name, requestsPerSecond, burst }) {
      if (requestsPerSecond <= 0) return 0
      const full = slotOf(name) + 1
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

/** Slot of a peer in the table: its own, or a free one that it then occupies. */
function findSlot(cells: BigInt64Array, name: string): number {
  const digest = createHash('sha256').update(name).digest()
  // 0 marks a free slot.
  const identity = digest.readBigInt64LE(0) | 1n
  const preferred = digest.readUInt32LE(8) % (cells.length / CELLS)
  for (let step = 0; step < cells.length; step += CELLS) {
    const slot = (preferred * CELLS + step) % cells.length
    const holder = Atomics.compareExchange(cells, slot, 0n, identity)
    if (holder === 0n || holder === identity) return slot
  }
  return preferred * CELLS
}
