import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe } from 'vitest'
import { scriptContract } from './redis-contract/scripts.ts'
import { streamContract } from './redis-contract/streams.ts'
import { valueContract } from './redis-contract/values.ts'

/** A server under test: its URL and how to stop it. */
export type Server = { readonly url: string; close(): Promise<void> }

export type Scene = {
  /** The same connection for all tests. */
  redis(): Redis
  /** A new connection, closed at the end of the test. */
  connect(): Redis
  /** A key that no other test uses, removed at the end of the test. */
  key(): string
}

/** The Redis features used by the ledger, tested on every server in the same way. */
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
      // By name: the server may contain keys of other programs.
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

/** The driver expects the path of a socket. */
export function pathOf(url: string): string {
  return url.startsWith('unix://') ? decodeURIComponent(url.slice('unix://'.length)) : url
}
