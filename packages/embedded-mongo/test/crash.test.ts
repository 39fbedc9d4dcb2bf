import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, Long, MongoClient } from 'mongodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { compileEmbedded, type MongoProcess, startMongoProcess } from './support/server-process.ts'

const ROUNDS = 2
const ACCOUNTS = 6
const CLIENTS = 4
const AMOUNT = 1000
const TRANSFERS_MIN = 40

let built: Awaited<ReturnType<typeof compileEmbedded>>
let folder: string

beforeAll(async () => {
  built = await compileEmbedded()
})
afterAll(() => built.remove())

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tg-crash-'))
  return () => rmSync(folder, { recursive: true, force: true })
})

function start(): Promise<MongoProcess> {
  return startMongoProcess(built.main, join(folder, 'data'), join(folder, 'm.sock'))
}

async function kill(server: MongoProcess): Promise<void> {
  server.child.kill('SIGKILL')
  await server.ended
}

type Doc = { _id: number; n: number }
const collectionOf = (client: MongoClient): Collection<Doc> => client.db('t').collection<Doc>('c')

async function withClient(
  server: MongoProcess,
  work: (client: MongoClient) => Promise<void>,
): Promise<void> {
  const client = new MongoClient(server.url, { serverSelectionTimeoutMS: 1_000 })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}

describe('the embedded MongoDB killed', () => {
  it('between the operations of a transaction: nothing of it is stored', async () => {
    const first = await start()
    await withClient(first, async (client) => {
      const collection = collectionOf(client)
      await collection.insertOne({ _id: 1, n: 0 })
      const session = client.startSession()
      session.startTransaction()
      await collection.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session })
      await collection.insertOne({ _id: 2, n: 0 }, { session })
      await kill(first)
    })
    const second = await start()
    await withClient(second, async (client) => {
      expect(await collectionOf(client).find().toArray()).toEqual([{ _id: 1, n: 0 }])
      await collectionOf(client).updateOne({ _id: 1 }, { $inc: { n: 5 } })
    })
    await kill(second)
  })

  it('keeps a commit and a retryable write; their repetitions do nothing', async () => {
    let server = await start()
    await withClient(server, async (client) => {
      const collection = collectionOf(client)
      await collection.insertOne({ _id: 1, n: 0 })
      const session = client.startSession()
      const numbered = client.startSession()
      const increment = () =>
        client.db('t').command(
          {
            update: 'c',
            updates: [{ q: { _id: 1 }, u: { $inc: { n: 10 } } }],
            txnNumber: Long.fromNumber(1000),
          },
          { session: numbered },
        )
      session.startTransaction()
      await collection.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session })
      await session.commitTransaction()
      expect(await increment()).toMatchObject({ n: 1, nModified: 1 })
      await kill(server)
      server = await start()
      await session.commitTransaction()
      expect(await increment()).toMatchObject({ n: 1, nModified: 1 })
      expect(await collection.find().toArray()).toEqual([{ _id: 1, n: 11 }])
    })
    await kill(server)
  })

  it('during transfers between documents: none is stored in part', async () => {
    const first = await start()
    await withClient(first, async (client) => {
      const docs = Array.from({ length: ACCOUNTS }, (_, _id) => ({ _id, n: AMOUNT }))
      await collectionOf(client).insertMany(docs)
    })
    let server = first
    for (let round = 0; round < ROUNDS; round++) {
      await transferUntilKilled(server)
      server = await start()
      await withClient(server, async (client) => {
        const docs = await collectionOf(client).find().toArray()
        expect(docs.length).toBe(ACCOUNTS)
        expect(docs.reduce((sum, { n }) => sum + n, 0)).toBe(ACCOUNTS * AMOUNT)
      })
    }
    await kill(server)
  })
})

async function transferUntilKilled(server: MongoProcess): Promise<void> {
  let done = 0
  const transfer = async (seed: number) =>
    withClient(server, async (client) => {
      const collection = collectionOf(client)
      for (let i = seed; ; i++) {
        const [from, to] = [i % ACCOUNTS, (i * 5 + seed + 1) % ACCOUNTS]
        await client.withSession((session) =>
          session.withTransaction(async () => {
            await collection.updateOne({ _id: from }, { $inc: { n: -1 } }, { session })
            await collection.updateOne({ _id: to }, { $inc: { n: 1 } }, { session })
          }),
        )
        if (++done === TRANSFERS_MIN) server.child.kill('SIGKILL')
      }
    })
  const ends = await Promise.allSettled(Array.from({ length: CLIENTS }, (_, i) => transfer(i)))
  for (const end of ends) expect(end.status).toBe('rejected')
  await server.ended
}
