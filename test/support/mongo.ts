/**
 * A MongoDB for tests: TEST_MONGO_URL if it is set, else an embedded one in a folder of its own.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'

export interface TestMongo {
  url: string
  /** A database that nobody else uses. */
  database: string
  close(): Promise<void>
}

export async function startTestMongo(): Promise<TestMongo> {
  const database = `tollgate_test_${randomBytes(6).toString('hex')}`
  const url = process.env['TEST_MONGO_URL']
  if (url !== undefined) return { url, database, close: () => dropDatabase(url, database) }
  // Only here: with a server of one's own the embedded one need not even load.
  const { startMongoServer } = await import('../../src/embedded/mongo/server.ts')
  const folder = mkdtempSync(join(tmpdir(), 'tg-mongo-'))
  const server = await startMongoServer({
    dataDir: join(folder, 'data'),
    socketPath: join(folder, 's.sock'),
  })
  return {
    url: server.url,
    database,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function dropDatabase(url: string, database: string): Promise<void> {
  const client = new MongoClient(url)
  await client.db(database).dropDatabase()
  await client.close()
}

/** Stands between a client and its store, and plays the outages that networks have. */
export interface StoreProxy {
  url: string
  /** Refuses and ends connections. */
  cut(): Promise<void>
  /** Takes what is sent and answers nothing. */
  hang(): void
  /** Bytes that were taken and not passed on. */
  taken(): number
  restore(): Promise<void>
  close(): Promise<void>
}

/** A proxy for the first host of a mongodb:// URL. */
export async function startStoreProxy(storeUrl: string): Promise<StoreProxy> {
  const host = /^mongodb:\/\/(?:[^@/]*@)?([^/?,]+)/.exec(storeUrl)?.[1] ?? ''
  const address = decodeURIComponent(host)
  const sockets = new Set<Socket>()
  let isHanging = false
  let takenBytes = 0
  const server = createServer((client) => {
    const store = address.startsWith('/') ? connect(address) : connect(portOf(address))
    for (const [from, to] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (isHanging) takenBytes += bytes.length
        else to.write(bytes)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const listen = (port: number) =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    })
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  const port = await listen(0)
  const query = storeUrl.includes('?')
    ? '&'
    : storeUrl.replace(/^[^/]*\/\//, '').includes('/')
      ? '?'
      : '/?'
  return {
    url: `${storeUrl.replace(host, `127.0.0.1:${port}`)}${query}directConnection=true`,
    cut: stop,
    hang: () => {
      isHanging = true
    },
    taken: () => takenBytes,
    async restore() {
      isHanging = false
      if (!server.listening) await listen(port)
    },
    close: async () => {
      if (server.listening) await stop()
    },
  }
}

function portOf(address: string): { host: string; port: number } {
  const [host = '', port = '27017'] = address.split(':')
  return { host, port: Number(port) }
}
