import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Document, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DataFolderInUseError } from '../src/data-folder.ts'
import { SocketPathError, startMongoServer } from '../src/server.ts'
import { compileEmbedded, type MongoProcess, startMongoProcess } from './support/server-process.ts'

let built: Awaited<ReturnType<typeof compileEmbedded>>
let folder: string
const running: MongoProcess[] = []

beforeAll(async () => {
  built = await compileEmbedded()
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
  const client = await new MongoClient(url).connect()
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

describe('the process of the embedded server', () => {
  it('keeps documents, indexes and their types over a restart', async () => {
    const first = await start()
    expect(statSync(data()).mode & 0o777).toBe(0o700)
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

  it('holds its folder exclusively as long as it lives', async () => {
    const { url, child, ended } = await start()
    const other = startMongoServer({ dataDir: data(), socketPath: join(folder, 'other.sock') })
    await expect(other).rejects.toBeInstanceOf(DataFolderInUseError)
    const process = startMongoProcess(built.main, data(), join(folder, 'third.sock'))
    await expect(process).rejects.toThrow(/ended with 1:.*DataFolderInUseError/s)
    await within(url, (client) => client.db('t').collection<Document>('c').insertOne({ k: 1 }))
    child.kill('SIGKILL')
    await ended
    const next = await startMongoProcess(built.main, data(), join(folder, 'third.sock'))
    running.push(next)
    const found = await within(next.url, (client) => client.db('t').collection('c').findOne())
    expect(found).toMatchObject({ k: 1 })
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

  it('names its missing arguments', async () => {
    const start = startMongoProcess(built.main, '', socket())
    await expect(start).rejects.toThrow(/ended with 1:.*--data DIR and --socket PATH/s)
  })
})
