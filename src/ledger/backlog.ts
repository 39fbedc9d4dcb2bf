/**
 * Memory of Redis that the streams for the recorder take. If they keep growing, no memory is left
 * for the usage that open sessions still have to report.
 */
import { StoreDownError } from '../store/redis.ts'
import type { Ledger } from './ledger.ts'

export interface Backlog {
  /** Memory of the streams of all partitions, as Redis estimates it. */
  streamBytes: number
  /**
   * Memory that Redis may use: its `maxmemory`, or the memory of the machine if it has no limit.
   */
  limitBytes: number
}

/**
 * In a cluster it is the sum over the available masters. Throws `StoreDownError` if none is
 * available: an empty backlog would clear the alarm.
 */
export async function readBacklog({ redis, keys }: Ledger): Promise<Backlog> {
  const limits = redis.onEachMaster(async (master) => {
    const memory = master.info('memory')
    return limitIn(await (redis.isCluster ? memory.catch(() => '') : memory))
  })
  const sizes = Array.from({ length: keys.partitions }, async (_, partition) => {
    const size = redis.guard(redis.client.memory('USAGE', keys.stream(partition)))
    return Number((await (redis.isCluster ? size.catch(() => 0) : size)) ?? 0)
  })
  const [limitBytes, streamBytes] = await Promise.all([limits, Promise.all(sizes)])
  if (limitBytes.every((bytes) => bytes === 0)) throw new StoreDownError('redis: no master answers')
  return { streamBytes: sum(streamBytes), limitBytes: sum(limitBytes) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function limitIn(memory: string): number {
  const bytesOf = (name: string) =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0)
  const maxmemory = bytesOf('maxmemory')
  return maxmemory > 0 ? maxmemory : bytesOf('total_system_memory')
}

/** Share of the limit that the streams take, in percent; 0 if no limit is known. */
export function backlogPercent({ streamBytes, limitBytes }: Backlog): number {
  return limitBytes > 0 ? (streamBytes / limitBytes) * 100 : 0
}

/**
 * Exceeded from an upper mark until the value falls below a lower one, so that it does not flicker.
 */
export class Threshold {
  isExceeded = false
  readonly #from: number
  readonly #below: number

  constructor(from: number, below: number) {
    this.#from = from
    this.#below = below
  }

  /** Returns whether the value has changed the state. */
  update(value: number): boolean {
    const before = this.isExceeded
    this.isExceeded = value >= (before ? this.#below : this.#from)
    return this.isExceeded !== before
  }
}
