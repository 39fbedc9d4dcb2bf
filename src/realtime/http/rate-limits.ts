/** How many requests a peer may send. */
export type Rate = {
  readonly name: string
  /** Requests that each second allows; 0 for no bound. */
  readonly requestsPerSecond: number
  /** Requests that may come at once; 0 for those of one second. */
  readonly burst: number
}

export interface RateLimits {
  /** Takes one request: 0 if it may pass, else whole seconds until there is room for it. */
  take(rate: Rate): number
}

interface Bucket {
  tokens: number
  /** When they were counted. */
  atMs: number
}

/**
 * A token bucket per peer, by its name: it stays as full as it is while the catalogue is read anew.
 * `elapsedMs` never goes back. Buckets are few (configured peers), and none is ever dropped.
 */
export function createRateLimits(elapsedMs: () => number): RateLimits {
  const buckets = new Map<string, Bucket>()
  return {
    take({ name, requestsPerSecond, burst }) {
      if (requestsPerSecond <= 0) return 0
      const nowMs = elapsedMs()
      const size = Math.max(1, burst > 0 ? burst : requestsPerSecond)
      let bucket = buckets.get(name)
      if (bucket === undefined) {
        bucket = { tokens: size, atMs: nowMs }
        buckets.set(name, bucket)
      }
      const gained = ((nowMs - bucket.atMs) * requestsPerSecond) / 1000
      bucket.tokens = Math.min(size, bucket.tokens + gained)
      bucket.atMs = nowMs
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / requestsPerSecond)
      bucket.tokens -= 1
      return 0
    },
  }
}
