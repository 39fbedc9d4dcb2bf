/**
 * Messages from process to process by Redis' publish and subscribe. Whoever does not listen at that
 * moment misses them for good, so they may only speed up what comes about without them.
 */
import { Redis } from 'ioredis'
import type { Logger } from '../runtime/log.ts'
import type { RedisConnection } from './redis.ts'

/** Sends a message to all who listen. Never rejects; false: Redis did not take it. */
export function publish(
  redis: RedisConnection,
  channel: string,
  payload: string,
): Promise<boolean> {
  return redis.guard(redis.client.publish(channel, payload)).then(
    () => true,
    () => false,
  )
}

export interface Subscription {
  /** False while messages are missed. */
  isListening(): boolean
  close(): void
}

const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 2_000
/** A connection on which nothing comes may be dead: its other end is asked so often. */
const PING_MS = 5_000

/**
 * Listens on a connection of its own, to any node of a cluster: a message reaches all of them. It
 * comes back by itself, in a cluster at the next node. What a listener throws is logged.
 */
export function subscribe(
  redis: Pick<RedisConnection, 'nodes'>,
  channel: string,
  listener: (payload: string) => void,
  log: Pick<Logger, 'warn' | 'error'>,
): Subscription {
  return new ChannelSubscription(redis, channel, listener, log)
}

class ChannelSubscription implements Subscription {
  readonly #redis: Pick<RedisConnection, 'nodes'>
  readonly #channel: string
  readonly #listener: (payload: string) => void
  readonly #log: Pick<Logger, 'warn' | 'error'>
  #client: Redis | null = null
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isSubscribed = false
  #isClosed = false

  constructor(...[redis, channel, listener, log]: Parameters<typeof subscribe>) {
    this.#redis = redis
    this.#channel = channel
    this.#listener = listener
    this.#log = log
    this.#connect()
  }

  isListening(): boolean {
    return this.#isSubscribed
  }

  close(): void {
    this.#isClosed = true
    this.#isSubscribed = false
    clearTimeout(this.#timer)
    this.#client?.disconnect()
  }

  #connect(): void {
    const nodes = this.#redis.nodes()
    const options = nodes[this.#failures % nodes.length] ?? {}
    // It is made anew and does not connect again: the next one may be to another node.
    const client = new Redis({ ...options, retryStrategy: () => null, autoResubscribe: false })
    this.#client = client
    client.on('error', () => undefined)
    client.on('message', (_channel: string, payload: string) => this.#deliver(payload))
    client.once('ready', () => void this.#subscribe(client))
    client.once('end', () => this.#ended())
  }

  async #subscribe(client: Redis): Promise<void> {
    try {
      await client.subscribe(this.#channel)
    } catch (error) {
      if (this.#failures === 0) this.#log.warn({ err: error }, 'cannot subscribe to hints in redis')
      client.disconnect()
      return
    }
    this.#isSubscribed = !this.#isClosed
    this.#failures = 0
    this.#watch(client)
  }

  #watch(client: Redis): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      client.ping().then(
        () => this.#watch(client),
        () => client.disconnect(),
      )
    }, PING_MS)
    this.#timer.unref()
  }

  #ended(): void {
    this.#isSubscribed = false
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const waitMs = Math.min(RETRY_MS_MIN * 2 ** Math.min(this.#failures, 10), RETRY_MS_MAX)
    this.#failures += 1
    this.#timer = setTimeout(() => this.#connect(), waitMs)
    this.#timer.unref()
  }

  #deliver(payload: string): void {
    // What had arrived before it was closed.
    if (this.#isClosed) return
    try {
      this.#listener(payload)
    } catch (error) {
      this.#log.error({ err: error }, 'defect')
    }
  }
}
