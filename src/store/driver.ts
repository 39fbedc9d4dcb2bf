/** What `redis.ts` needs of a driver's client, be it of one Redis or of a cluster. */
import type { ChainableCommander, RedisCommander } from 'ioredis'
import type { ConnectionOptions } from './redis-options.ts'

/** For commands and pipelines whose keys are all in one slot. */
export interface RedisClient extends RedisCommander {
  pipeline(): ChainableCommander
}

export interface DriverClient extends RedisClient {
  readonly status: string
  defineCommand(name: string, definition: { lua: string }): void
  disconnect(): void
  on(event: string, listener: (...args: never[]) => void): unknown
}

/** A driver's client with what differs between one Redis and many. */
export interface Driver {
  client: DriverClient
  masters(): RedisCommander[]
  /** With what one more connection is made, to each of the nodes as far as they are known. */
  nodes(): ConnectionOptions[]
  onLost(listener: () => void): void
  isReady(): boolean
  /** Called upon each outage: it may have to look where its nodes are now. */
  onOutage(): void
}
