import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe } from 'vitest'
import { scriptContract } from './redis-contract/scripts.ts'
import { streamContract } from './redis-contract/streams.ts'
import { valueContract } from './redis-contract/values.ts'

/** A server to try: its URL, and what ends it. */
export type Server = { readonly url: string; close(): Promise<void> }

export type Scene = {
  /** The same connection for all tests. */
  redis(): Redis
  /** Another connection, closed in the end. */
  connect(): Redis
  /** A key that no other test uses, removed in the end. */
  key(): string
}

/** What the ledger needs of a Redis, the same for every server that calls itself one. */
export function redisContract(name: string, start: () => Promise<Server>): void {
  describe(name, () => {
    const prefix = `contract:${randomBytes(6).toString('hex')}`
    const connections: Redis[] = []
    let server: Server
    let lastKey = 0

    const connect = (): Redis => {
      const redis = new Redis(pathOf(server.url))
      connections.push(redis)
      return redis
    }
    const scene: Scene = {
      redis: () => connections[0] as Redis,
      connect,
      key: () => `${prefix}:${++lastKey}`,
    }

    beforeAll(async () => {
      server = await start()
      connect()
    })

    afterAll(async () => {
      // By name: the server may be somebody else's, with other keys in it.
      const keys = Array.from({ length: lastKey }, (_, n) => `${prefix}:${n + 1}`)
      if (keys.length > 0) await scene.redis().del(...keys)
      for (const redis of connections) redis.disconnect()
      await server?.close()
    })

    scriptContract(scene)
    valueContract(scene)
    streamContract(scene)
  })
}

/** A socket is given to the driver by its path. */
export function pathOf(url: string): string {
  return url.startsWith('unix://') ? decodeURIComponent(url.slice('unix://'.length)) : url
}
