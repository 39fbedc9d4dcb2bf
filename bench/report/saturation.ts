/** Saturation of a design by number of cores, computed from the processor time of each part. */

/** µs per request, as measured. */
export interface PartCosts {
  main: number
  workers: number
  helpers: number
  redis: number
}

export interface Saturation {
  /** Requests per second of one event loop with the optimal number of workers. */
  oneLoop: number
  heldBy: 'cores' | 'main thread' | 'Redis'
  /** The number of event loops that fit on the machine, and their throughput on one Redis. */
  listeners: number
  loops: number
  /** The same with one Redis for every three event loops. */
  clustered: number
}

/** The share for the product: the kernel uses the rest for the network. */
const SHARE_OF_CORES = 0.9
const LISTENERS_PER_REDIS = 3
const MICROS = 1_000_000

export function saturation(
  { main, workers, helpers, redis }: PartCosts,
  cores: number,
): Saturation {
  const usable = cores * SHARE_OF_CORES
  const server = main + workers + helpers
  const byCores = (usable * MICROS) / (server + redis)
  const byMain = MICROS / main
  const byRedis = MICROS / redis
  const oneLoop = Math.min(byCores, byMain, byRedis)
  const heldBy = oneLoop === byCores ? 'cores' : oneLoop === byMain ? 'main thread' : 'Redis'
  // A listener occupies as many cores as it uses while its main thread is saturated.
  const coresOfOne = (server + redis) / main
  const listeners = Math.max(1, Math.floor(usable / coresOfOne))
  const loops = Math.min(byCores, listeners * byMain, byRedis)
  const masters = Math.ceil(listeners / LISTENERS_PER_REDIS)
  const clustered = Math.min(byCores, listeners * byMain, masters * byRedis)
  return { oneLoop, heldBy, listeners, loops, clustered }
}
