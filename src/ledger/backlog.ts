/**
 * Memory of Redis that the streams for the recorder take. If they keep growing, no memory is left
 * for the usage that open sessions still have to report.
 */
import { StoreDownError } from '../store/redis.ts'
import type { Ledger } from './ledger.ts'

export interface Backlog {
  /** Memory of the streams of all partitions, as Redis estimates it. */
  streamBytes: number
  /** Memory of everything else in Redis: `used_memory` without the streams. */
  otherBytes: number
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
  const memories = redis.onEachMaster(async (master) => {
    const memory = master.info('memory')
    return redis.isCluster ? memory.catch(() => '') : memory
  })
  const sizes = Array.from({ length: keys.partitions }, async (_, partition) => {
    const size = redis.guard(redis.client.memory('USAGE', keys.stream(partition)))
    return Number((await (redis.isCluster ? size.catch(() => 0) : size)) ?? 0)
  })
  const [infos, streams] = await Promise.all([memories, Promise.all(sizes)])
  if (infos.every((info) => info === '')) throw new StoreDownError('redis: no master answers')
  const streamBytes = sum(streams)
  const usedBytes = sum(infos.map((info) => bytesIn(info, 'used_memory')))
  const otherBytes = Math.max(0, usedBytes - streamBytes)
  return { streamBytes, otherBytes, limitBytes: sum(infos.map(limitIn)) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function limitIn(info: string): number {
  const maxmemory = bytesIn(info, 'maxmemory')
  return maxmemory > 0 ? maxmemory : bytesIn(info, 'total_system_memory')
}

function bytesIn(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
}

/**
 * Share that the streams take of the memory that nothing else uses, in percent; 0 if no limit is
 * known. The rest of it is left for reports of open sessions.
 */
export function backlogPercent({ streamBytes, otherBytes, limitBytes }: Backlog): number {
  if (limitBytes <= 0 || streamBytes === 0) return 0
  return (streamBytes / Math.max(streamBytes, limitBytes - otherBytes)) * 100
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
