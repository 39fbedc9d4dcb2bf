/**
 * Messages between processes by Redis Pub/Sub. A process that is not subscribed at that moment
 * misses a message permanently, so messages may only speed up what happens without them.
 */
import { Redis } from 'ioredis'
import type { Logger } from '../runtime/log.ts'
import type { RedisConnection } from './redis.ts'

/** Publishes a message. Never rejects; returns false if Redis did not accept it. */
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
  /** False while messages may be missed. */
  isListening(): boolean
  close(): void
}

const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 2_000
/** Interval of PINGs: an idle connection may be dead. */
const PING_MS = 5_000

/**
 * Subscribes on a separate connection, to any node of a cluster: messages reach all of them.
 * Reconnects automatically, in a cluster to the next node. Exceptions of the listener are logged.
 * `onListening` is called each time that messages are received from now on; before, some may have
 * been missed.
 */
export function subscribe(
  redis: Pick<RedisConnection, 'nodes'>,
  channel: string,
  listener: (payload: string) => void,
  log: Pick<Logger, 'warn' | 'error'>,
  onListening: () => void = () => undefined,
): Subscription {
  return new ChannelSubscription(redis, channel, listener, log, onListening)
}

class ChannelSubscription implements Subscription {
  readonly #redis: Pick<RedisConnection, 'nodes'>
  readonly #channel: string
  readonly #listener: (payload: string) => void
  readonly #log: Pick<Logger, 'warn' | 'error'>
  readonly #onListening: () => void
  #client: Redis | null = null
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isSubscribed = false
  #isClosed = false

  constructor(
    ...[redis, channel, listener, log, onListening]: Required<Parameters<typeof subscribe>>
  ) {
    this.#redis = redis
    this.#channel = channel
    this.#listener = listener
    this.#log = log
    this.#onListening = onListening
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
    // Each attempt uses a new client without reconnection, because the next attempt may use another
    // node.
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
      if (this.#failures === 0)
        this.#log.warn({ err: error, channel: this.#channel }, 'cannot subscribe in redis')
      client.disconnect()
      return
    }
    this.#isSubscribed = !this.#isClosed
    this.#failures = 0
    if (this.#isSubscribed) this.#onListening()
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
    // Messages that had arrived before `close`.
    if (this.#isClosed) return
    try {
      this.#listener(payload)
    } catch (error) {
      this.#log.error({ err: error }, 'defect')
    }
  }
}
