import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MongoServer, startMongoServer } from '../../src/embedded/mongo/server.ts'

/** Less than the lifetime of a transaction by far: locks of a dead client must be gone. */
const WAIT_MS = 5_000
/** Several times the grace period of the server. */
const PAUSE_MS = 1_000

let folder: string
let server: MongoServer
let client: MongoClient

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tg-mongo-'))
  server = await startMongoServer({ dataDir: join(folder, 'data'), socketPath: join(folder, 's') })
  client = await new MongoClient(server.url).connect()
})

afterAll(async () => {
  await client?.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

type Doc = { _id: number; n: number }
const collectionOf = (of: MongoClient): Collection<Doc> => of.db('t').collection<Doc>('c')

/** A program that leaves its transaction open. */
const HOLDER = `
  import { MongoClient } from 'mongodb'
  const client = await new MongoClient(process.argv[1]).connect()
  const collection = client.db('t').collection('c')
  await Promise.all([1, 2, 3].map(() => collection.findOne()))
  const session = client.startSession()
  session.startTransaction()
  await collection.updateOne({ _id: 1 }, { $inc: { n: 100 } }, { session })
  await collection.insertOne({ _id: 2, n: 0 }, { session })
  console.log('open')
  setInterval(() => {}, 1000)
`

describe('a client with an open transaction', () => {
  it('that is killed releases its documents', async () => {
    await collectionOf(client).insertOne({ _id: 1, n: 0 })
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', HOLDER, server.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    const updates = [{ q: { _id: 1 }, u: { $inc: { n: 1 } } }]
    const update = client.db('t').command({ update: 'c', updates, maxTimeMS: WAIT_MS })
    holder.kill('SIGKILL')
    expect(await update).toMatchObject({ n: 1, nModified: 1 })
    await collectionOf(client).insertOne({ _id: 2, n: 5 })
    expect(await collectionOf(client).find().toArray()).toEqual([
      { _id: 1, n: 1 },
      { _id: 2, n: 5 },
    ])
  })

  it('whose pool closes a connection keeps it', async () => {
    const own = await new MongoClient(server.url, { maxPoolSize: 4 }).connect()
    const closed = new Set<number>()
    const used: number[] = []
    own.on('connectionClosed', ({ connectionId }) => closed.add(Number(connectionId)))
    own.on('connectionCheckedOut', ({ connectionId }) => used.push(Number(connectionId)))
    try {
      const collection = collectionOf(own)
      for (let i = 0; i < 3; i++) {
        await Promise.all([1, 2, 3, 4].map(() => collection.findOne({ _id: 1 })))
      }
      await own.withSession(async (session) => {
        session.startTransaction()
        await collection.updateOne({ _id: 1 }, { $inc: { n: 10 } }, { session })
        await destroyConnection(own, used.at(-1)!)
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        await collection.updateOne({ _id: 1 }, { $inc: { n: 10 } }, { session })
        await session.commitTransaction()
      })
      expect(await collection.findOne({ _id: 1 })).toEqual({ _id: 1, n: 21 })
    } finally {
      await own.close()
    }
  })

  it('that closes leaves nothing', async () => {
    const own = await new MongoClient(server.url).connect()
    const session = own.startSession()
    session.startTransaction()
    await collectionOf(own).updateOne({ _id: 1 }, { $inc: { n: 1000 } }, { session })
    await own.close()
    const updates = [{ q: { _id: 1 }, u: { $set: { n: 0 } } }]
    const update = client.db('t').command({ update: 'c', updates, maxTimeMS: WAIT_MS })
    expect(await update).toMatchObject({ n: 1 })
  })
})

/** Closes one connection of a pool, as the pool closes an idle one. */
async function destroyConnection(of: MongoClient, id: number): Promise<void> {
  const { topology } = of as unknown as { topology: Topology }
  const [one] = topology.s.servers.values()
  const connection = [...one!.pool.connections.toArray()].find((each) => each.id === id)
  expect(connection).toBeDefined()
  connection!.destroy()
}

type Topology = {
  readonly s: {
    readonly servers: Map<
      string,
      { pool: { connections: { toArray(): { id: number; destroy(): void }[] } } }
    >
  }
}
