/** The part of a driver's client that `redis.ts` uses, for a single Redis or a cluster. */
import type { ChainableCommander, RedisCommander } from 'ioredis'
import type { ConnectionOptions } from './redis-options.ts'

/** Commands and pipelines; all keys of a pipeline are in one slot. */
export interface RedisClient extends RedisCommander {
  pipeline(): ChainableCommander
}

export interface DriverClient extends RedisClient {
  readonly status: string
  defineCommand(name: string, definition: { lua: string }): void
  disconnect(): void
  on(event: string, listener: (...args: never[]) => void): unknown
}

/** A driver's client and the operations that differ between a single Redis and a cluster. */
export interface Driver {
  client: DriverClient
  masters(): RedisCommander[]
  /** Options of an additional connection to each of the known nodes. */
  nodes(): ConnectionOptions[]
  onLost(listener: () => void): void
  isReady(): boolean
  /** Called at each outage: a cluster refreshes its topology. */
  onOutage(): void
}
