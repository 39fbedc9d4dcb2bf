import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Document, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FolderInUseError } from '../../src/embedded/folder-lock.ts'
import { SocketPathError, startMongoServer } from '../../src/embedded/mongo/server.ts'
import { compileEmbedded, type MongoProcess, startMongoProcess } from './mongo-process.ts'

let built: ReturnType<typeof compileEmbedded>
let folder: string
const running: MongoProcess[] = []

beforeAll(() => {
  built = compileEmbedded()
})

afterAll(() => built.remove())

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tg-mongo-'))
})

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

const data = () => join(folder, 'data')
const socket = () => join(folder, 'm.sock')

async function start(): Promise<MongoProcess> {
  const server = await startMongoProcess(built.main, data(), socket())
  running.push(server)
  return server
}

async function within<T>(url: string, work: (client: MongoClient) => Promise<T>): Promise<T> {
  // Who asks a server that was killed should hear so soon.
  const client = await new MongoClient(url, { serverSelectionTimeoutMS: 2_000 }).connect()
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

/** Writes from several clients until the server is gone; returns what was acknowledged. */
async function writeUntilKilled(server: MongoProcess, round: number): Promise<number[]> {
  const acknowledged: number[] = []
  await within(server.url, async (client) => {
    const lines = client.db('t').collection<Document>('lines')
    await lines.createIndex({ stamp: 1 }, { unique: true })
    await lines.createIndex({ owner: 1, tags: 1 })
    const write = async (writer: number) => {
      for (let i = 0; ; i++) {
        const n = round * 1e6 + writer * 1e4 + i
        const stamp = `s${n}`
        const update = { $set: { n, owner: n % 7, tags: [n % 3, 'x'], text: 'y'.repeat(n % 999) } }
        await lines.updateOne({ stamp }, update, { upsert: true })
        acknowledged.push(n)
        if (acknowledged.length === 400) server.child.kill('SIGKILL')
      }
    }
    // Each of them ends with the connection it has lost.
    await Promise.allSettled(Array.from({ length: 20 }, (_, writer) => write(writer)))
  })
  expect(await server.ended).toEqual([null, 'SIGKILL'])
  return acknowledged
}

describe('the process of the embedded server', () => {
  it('loses nothing that it has acknowledged when killed in the middle of writes', async () => {
    const acknowledged: number[] = []
    for (let round = 1; round <= 3; round++) {
      acknowledged.push(...(await writeUntilKilled(await start(), round)))
      const { url, child, ended } = await start()
      await within(url, async (client) => {
        const lines = client.db('t').collection<Document>('lines')
        const docs = await lines.find().toArray()
        const stored = new Set(docs.map((doc) => doc['n'] as number))
        expect(acknowledged.filter((n) => !stored.has(n))).toEqual([])
        // Indexes and documents are of one mind.
        expect(new Set(docs.map((doc) => doc['stamp'])).size).toBe(docs.length)
        let byIndex = 0
        for (let owner = 0; owner < 7; owner++) {
          const found = await lines.find({ owner, tags: { $gte: 0 } }).toArray()
          byIndex += found.length
        }
        expect(byIndex).toBe(docs.length)
        for (const { stamp } of docs.slice(-20))
          expect(await lines.countDocuments({ stamp })).toBe(1)
      })
      child.kill('SIGKILL')
      await ended
    }
  })

  it('keeps documents, indexes and their kinds over a restart', async () => {
    const first = await start()
    await within(first.url, async (client) => {
      const collection = client.db('t').collection<Document>('c')
      await collection.createIndex({ k: 1 }, { unique: true })
      await collection.createIndex({ tags: 1 }, { partialFilterExpression: { live: true } })
      await collection.insertMany([{ k: 1 }, { k: 2, live: true, tags: ['a', 'b'] }])
    })
    first.child.kill('SIGTERM')
    expect(await first.ended).toEqual([0, null])
    expect(existsSync(socket())).toBe(false)
    const second = await start()
    await within(second.url, async (client) => {
      const collection = client.db('t').collection<Document>('c')
      await expect(collection.insertOne({ k: 1 })).rejects.toMatchObject({ code: 11000 })
      await collection.insertOne({ k: 3 })
      const names = (await collection.indexes()).map(({ name }) => name)
      expect(names).toEqual(['_id_', 'k_1', 'tags_1'])
      expect(await collection.countDocuments({ live: true, tags: 'b' })).toBe(1)
      const found = await collection.find().toArray()
      expect(found.map((doc) => doc['k'])).toEqual([1, 2, 3])
    })
  })

  it('has its folder for itself', async () => {
    const { url } = await start()
    const other = startMongoServer({ dataDir: data(), socketPath: join(folder, 'other.sock') })
    await expect(other).rejects.toBeInstanceOf(FolderInUseError)
    const process = startMongoProcess(built.main, data(), join(folder, 'third.sock'))
    await expect(process).rejects.toThrow(/ended with 1:.*FolderInUseError/s)
    await within(url, (client) => client.db('t').collection('c').insertOne({}))
  })

  it('refuses a socket on which another server listens, and paths that are too long', async () => {
    await start()
    const taken = startMongoServer({ dataDir: join(folder, 'other'), socketPath: socket() })
    await expect(taken).rejects.toBeInstanceOf(SocketPathError)
    const long = join(folder, `${'x'.repeat(120)}.sock`)
    const tooLong = startMongoServer({ dataDir: join(folder, 'other'), socketPath: long })
    await expect(tooLong).rejects.toBeInstanceOf(SocketPathError)
  })

  it('leaves SIGINT to its supervisor and ends with it', async () => {
    const { child, url, ended } = await start()
    child.kill('SIGINT')
    await within(url, (client) => client.db('t').collection('c').insertOne({}))
    child.disconnect()
    expect(await ended).toEqual([0, null])
  })

  it('says what it needs', async () => {
    const start = startMongoProcess(built.main, '', socket())
    await expect(start).rejects.toThrow(/ended with 1:.*--data DIR and --socket PATH/s)
  })
})
