/** Where a design saturates on so many cores, from the processor time that each part takes. */

/** µs per request, as measured. */
export interface PartCosts {
  main: number
  workers: number
  helpers: number
  redis: number
}

export interface Saturation {
  /** Requests per second of one event loop with as many workers as help. */
  oneLoop: number
  heldBy: 'cores' | 'main thread' | 'Redis'
  /** Event loops that the machine has room for, and what they do on one Redis. */
  listeners: number
  loops: number
  /** The same with a Redis of its own for every three. */
  clustered: number
}

/** What is left for the product: the rest is the kernel's, for the network. */
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
  // A listener is as many cores as it keeps busy while its main thread has no rest.
  const coresOfOne = (server + redis) / main
  const listeners = Math.max(1, Math.floor(usable / coresOfOne))
  const loops = Math.min(byCores, listeners * byMain, byRedis)
  const masters = Math.ceil(listeners / LISTENERS_PER_REDIS)
  const clustered = Math.min(byCores, listeners * byMain, masters * byRedis)
  return { oneLoop, heldBy, listeners, loops, clustered }
}
