import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type Collection, type Document, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startMongoServer } from '../../src/embedded/mongo/server.ts'
import { startRedis } from '../../src/embedded/redis.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'
import { compileEmbedded, type MongoProcess, startMongoProcess } from './mongo-process.ts'

const MIB = 1024 * 1024
const OUT_OF_DISK_SPACE = 14031
const problem = mountProblem()
const title = problem === undefined ? 'on a full disk' : `on a full disk (skipped: ${problem})`

describe.skipIf(problem !== undefined)(title, () => {
  let folder: string
  let disk: SmallDisk

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tg-full-'))
    disk = mountSmallDisk(join(folder, 'disk'), 48 * MIB)
  })

  afterEach(() => {
    disk.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  mongoOnFullDisk(
    () => folder,
    () => disk,
  )
  redisOnFullDisk(() => disk)
})

function mongoOnFullDisk(folder: () => string, disk: () => SmallDisk): void {
  describe('the embedded MongoDB', () => {
    let built: ReturnType<typeof compileEmbedded>
    let server: MongoProcess
    let client: MongoClient
    let lines: Collection<Document>

    beforeAll(() => {
      built = compileEmbedded()
    })
    afterAll(() => built.remove())

    const start = async () => {
      server = await startMongoProcess(built.main, join(disk().path, 'm'), join(folder(), 'm.sock'))
      client = await new MongoClient(server.url).connect()
      lines = client.db('t').collection<Document>('lines')
    }

    beforeEach(start)
    afterEach(async () => {
      await client.close()
      server.child.kill('SIGKILL')
      await server.ended
    })

    /** Inserts from several clients until all are refused; gives what was acknowledged. */
    const insertUntilRefused = async (from: number): Promise<number[]> => {
      const acknowledged: number[] = []
      const insert = async (writer: number) => {
        for (let i = 0; ; i++) {
          const n = from + writer * 1e5 + i
          const doc = { n, owner: n % 7, tags: [n, 'x'], text: 'y'.repeat((n * 37) % 9000) }
          await lines.insertOne(doc)
          acknowledged.push(n)
        }
      }
      const ends = await Promise.allSettled(Array.from({ length: 8 }, (_, w) => insert(w)))
      for (const end of ends) expect(end).toMatchObject({ reason: { code: OUT_OF_DISK_SPACE } })
      return acknowledged
    }

    const storedNumbers = async (): Promise<number[]> => {
      const docs = await lines.find().toArray()
      for (const { n, text } of docs) expect(text).toHaveLength((n * 37) % 9000)
      return docs.map(({ n }) => n as number).sort((a, b) => a - b)
    }

    it('refuses writes with OutOfDiskSpace, reads on, and heals when there is room', async () => {
      await lines.createIndex({ n: 1 }, { unique: true })
      await lines.createIndex({ owner: 1, tags: 1 })
      await lines.insertOne({ n: -1, text: '' }).then(() => lines.deleteOne({ n: -1 }))
      const inserting = insertUntilRefused(0)
      disk().fill()
      const acknowledged = await inserting
      const sorted = [...acknowledged].sort((a, b) => a - b)
      expect(await storedNumbers()).toEqual(sorted)
      expect(await lines.countDocuments({ n: sorted.at(-1) })).toBe(1)
      const refused = { code: OUT_OF_DISK_SPACE, codeName: 'OutOfDiskSpace' }
      const large = Array.from({ length: 50 }, (_, i) => ({ n: 1e7 + i, text: 'z'.repeat(9999) }))
      await expect(lines.insertMany(large)).rejects.toMatchObject(refused)
      await expect(lines.createIndex({ text: 1 })).rejects.toBeInstanceOf(Error)
      expect(await storedNumbers()).toEqual(sorted)
      disk().makeRoom()
      await lines.insertOne({ n: 1e8, text: 'y'.repeat((1e8 * 37) % 9000) })
      expect(await storedNumbers()).toEqual([...sorted, 1e8])
    })

    it('restarts with all that it has acknowledged, while the disk is still full', async () => {
      await lines.createIndex({ n: 1 }, { unique: true })
      disk().fill()
      const acknowledged = await insertUntilRefused(0)
      await client.close()
      server.child.kill('SIGKILL')
      await server.ended
      await start()
      expect(await storedNumbers()).toEqual(acknowledged.sort((a, b) => a - b))
      disk().makeRoom()
      await lines.insertOne({ n: 1e8, text: 'y'.repeat((1e8 * 37) % 9000) })
    })

    it('fills the disk by itself, and is whole', async () => {
      await lines.createIndex({ n: 1 }, { unique: true })
      const acknowledged = await insertUntilRefused(0)
      expect(acknowledged.length).toBeGreaterThan(100)
      expect(await storedNumbers()).toEqual(acknowledged.sort((a, b) => a - b))
    })

    it('names the reason when a new store has no room to begin', async () => {
      disk().fill()
      const other = startMongoServer({
        dataDir: join(disk().path, 'm2'),
        socketPath: join(folder(), 'other.sock'),
      })
      await expect(other).rejects.toMatchObject({ name: 'DiskFullError' })
    })
  })
}

function redisOnFullDisk(disk: () => SmallDisk): void {
  describe('the embedded Redis', () => {
    const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const start = (appendfsync: 'always' | 'everysec') =>
      startRedis({
        dataDir: join(disk().path, 'r'),
        runDir: disk().path,
        appendfsync,
        log: silent,
      })
    const SCRIPT = `
      local n = redis.call('INCR', KEYS[1])
      redis.call('HSET', KEYS[2], n, string.rep('x', 1000))
      return n`

    /** Runs the script until Redis refuses or ends; gives how often it was done, and the error. */
    const commitUntilRefused = async (redis: Redis): Promise<{ done: number; error: unknown }> => {
      for (let done = 0; ; ) {
        try {
          done = Number(await redis.eval(SCRIPT, 2, 'n', 'h'))
        } catch (error) {
          return { done, error }
        }
      }
    }

    it('with everysec refuses scripts that write, whole, and heals', async () => {
      const store = await start('everysec')
      const redis = new Redis(store.socketPath, { maxRetriesPerRequest: 1 })
      await redis.eval(SCRIPT, 2, 'n', 'h')
      disk().fill()
      const { error } = await commitUntilRefused(redis)
      expect(String(error)).toMatch(/MISCONF/)
      const done = Number(await redis.get('n'))
      expect(await redis.hlen('h')).toBe(done)
      expect(Number(await redis.hstrlen('h', String(done)))).toBe(1000)
      // So that whoever asks for its health hears of it.
      await expect(redis.ping()).rejects.toThrow(/MISCONF/)
      disk().makeRoom()
      await waitUntil('Redis takes writes again', () =>
        redis.eval(SCRIPT, 2, 'n', 'h').then(
          () => true,
          () => false,
        ),
      )
      expect(await redis.get('n')).toBe(String(done + 1))
      redis.disconnect()
      await store.close()
    })

    it('with always ends itself, and keeps all that it has acknowledged', async () => {
      const store = await start('always')
      const redis = new Redis(store.socketPath, { maxRetriesPerRequest: 0, retryStrategy: null })
      redis.on('error', () => undefined)
      await redis.eval(SCRIPT, 2, 'n', 'h')
      disk().fill()
      const { done } = await commitUntilRefused(redis)
      expect(await store.exited).toEqual({ code: 1, signal: null })
      redis.disconnect()
      disk().makeRoom()
      const again = await start('always')
      const second = new Redis(again.socketPath)
      const stored = Number(await second.get('n'))
      expect(stored - done).toBeGreaterThanOrEqual(0)
      expect(stored - done).toBeLessThanOrEqual(1)
      expect(await second.hlen('h')).toBe(stored)
      second.disconnect()
      await again.close()
    })
  })
}
