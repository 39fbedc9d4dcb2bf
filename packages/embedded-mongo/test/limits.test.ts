/**
 * Reads stop in the server on a time limit, when they are killed, and when their client
 * disconnects.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BSON, type Document } from 'bson'
import { type Collection, MongoClient, MongoServerError } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MongoServer, startMongoServer } from '../src/server.ts'

const DOCUMENTS = 40_000

let folder: string
let server: MongoServer
let client: MongoClient
let things: Collection<Document>
/** Milliseconds that pass with each reading of the clock. */
let stepMs = 0
let nowMs = 1_700_000_000_000

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tg-limits-'))
  const clock = {
    nowMs: () => {
      nowMs += stepMs
      return nowMs
    },
  }
  const socketPath = join(folder, 's.sock')
  server = await startMongoServer({ dataDir: join(folder, 'd'), socketPath, clock })
  client = await new MongoClient(server.url).connect()
  things = client.db('t').collection('things')
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ n, group: n % 7 }))
  await things.insertMany(documents)
})

afterAll(async () => {
  await client.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

async function examined(): Promise<number> {
  const status = await client.db('t').command({ serverStatus: 1 })
  return status['metrics'].queryExecutor.scannedObjects
}

/** The number of documents examined during an operation and after it. */
async function examinedBy(act: () => Promise<unknown>): Promise<number> {
  const before = await examined()
  await act()
  let last = await examined()
  for (;;) {
    const now = await examined()
    if (now === last) return now - before
    last = now
  }
}

const NOTHING = { n: -1 }

describe('maxTimeMS', () => {
  const reads: Record<string, () => Promise<unknown>> = {
    find: () => things.find(NOTHING, { maxTimeMS: 10 }).toArray(),
    'find with a sort': () => things.find({}, { sort: { group: 1 }, maxTimeMS: 10 }).toArray(),
    aggregate: () => things.aggregate([{ $group: { _id: '$group' } }], { maxTimeMS: 10 }).toArray(),
    count: () => things.countDocuments({ group: 3 }, { maxTimeMS: 10 }),
    distinct: () => things.distinct('group', {}, { maxTimeMS: 10 }),
  }

  it.each(Object.keys(reads))('%s: stops the work', async (name) => {
    stepMs = 1
    const act = async () => {
      const error = await reads[name]?.().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(MongoServerError)
      expect(error).toMatchObject({ code: 50, codeName: 'MaxTimeMSExpired' })
    }
    expect(await examinedBy(act)).toBeLessThan(DOCUMENTS / 2)
    stepMs = 0
  })

  it('covers all batches of a cursor together', async () => {
    stepMs = 1
    const cursor = things.find({}, { batchSize: 1000, maxTimeMS: 60 })
    await expect(cursor.toArray()).rejects.toMatchObject({ code: 50 })
    stepMs = 0
    expect(await things.find({}, { batchSize: 10_000, maxTimeMS: 60 }).toArray()).toHaveLength(
      DOCUMENTS,
    )
  })

  it('0 means no limit', async () => {
    stepMs = 1
    expect(await things.countDocuments({ group: 3 }, { maxTimeMS: 0 })).toBeGreaterThan(0)
    stepMs = 0
  })
})

describe('a client that has disconnected', () => {
  /** Sends a command and disconnects once the server has started it. */
  async function ask(command: Document): Promise<void> {
    const body = BSON.serialize({ ...command, $db: 't' })
    const head = Buffer.alloc(21)
    head.writeInt32LE(head.length + body.length, 0)
    head.writeInt32LE(2013, 12)
    const begun = await examined()
    const socket = connect(join(folder, 's.sock'))
    socket.write(Buffer.concat([head, body]))
    while ((await examined()) === begun);
    await new Promise((resolve) => socket.once('close', resolve).destroy())
  }

  it.each([
    { find: 'things', filter: NOTHING },
    { aggregate: 'things', pipeline: [{ $match: NOTHING }], cursor: {} },
    { count: 'things', query: { group: 99 } },
    { distinct: 'things', key: 'group' },
  ])('%o: nothing more is read for it', async (command) => {
    expect(await examinedBy(() => ask(command))).toBeLessThan(DOCUMENTS)
  })

  it('is simulated by a driver whose signal is aborted', async () => {
    const act = async () => {
      const controller = new AbortController()
      const begun = await examined()
      const { signal } = controller
      const reading = things.find(NOTHING, { signal }).toArray()
      const ended = expect(reading).rejects.toThrow()
      while ((await examined()) === begun);
      controller.abort()
      await ended
    }
    expect(await examinedBy(act)).toBeLessThan(DOCUMENTS)
    expect(await things.countDocuments({ n: 1 })).toBe(1)
  })
})

it('killCursors stops a batch in progress', async () => {
  const database = client.db('t')
  const first = await database.command({ find: 'things', filter: {}, batchSize: 1 })
  const { id } = first['cursor']
  const act = async () => {
    const begun = await examined()
    // All documents are examined before they fill one batch.
    const more = database.command({ getMore: id, collection: 'things', batchSize: DOCUMENTS })
    const killed = expect(more).rejects.toMatchObject({ codeName: 'CursorKilled' })
    while ((await examined()) === begun);
    await database.command({ killCursors: 'things', cursors: [id] })
    await killed
  }
  expect(await examinedBy(act)).toBeLessThan(DOCUMENTS)
})

it('a value that is too long for an index is not found', async () => {
  const named = client.db('t').collection('named')
  await named.createIndex({ name: 1 })
  await named.createIndex({ key: 1 }, { unique: true })
  await named.insertOne({ name: 'a', key: 'b' })
  for (const long of ['x'.repeat(1_975), 'x'.repeat(5_000), 'x'.repeat(100_000)]) {
    for (const filter of [{ name: long }, { key: long }, { name: { $in: [long, 'a'] } }]) {
      const isThere = 'name' in filter && typeof filter.name === 'object'
      expect(await named.find(filter).toArray()).toHaveLength(isThere ? 1 : 0)
      expect(await named.countDocuments(filter)).toBe(isThere ? 1 : 0)
    }
    expect(await named.countDocuments({ name: { $lt: long } })).toBe(1)
    expect(await named.countDocuments({ key: { $gt: long } })).toBe(0)
  }
})

it('values that are too long for an index are found by it, once each', async () => {
  const texts = client.db('t').collection('texts')
  const begin = 'x'.repeat(3_000)
  const names = ['w', `${begin}a`, `${begin}b`, `${begin}c`, 'y']
  await texts.insertMany(names.map((name) => ({ name })))
  await texts.createIndex({ name: 1 })
  const found = async (name: unknown) => {
    const all = await texts.find({ name } as Document).toArray()
    return all.map((each) => names.indexOf(String(each['name']))).sort()
  }
  expect(await found(names[2])).toEqual([2])
  expect(await found({ $in: names })).toEqual([0, 1, 2, 3, 4])
  expect(await found({ $gt: names[1] })).toEqual([2, 3, 4])
  expect(await found({ $gte: names[2], $lt: names[3] })).toEqual([2])
  expect(await found({ $lte: names[2] })).toEqual([0, 1, 2])
  expect(await found({ $gte: 'x', $lt: 'y' })).toEqual([1, 2, 3])
  expect(await found({ $regex: '^xx', $gte: begin })).toEqual([1, 2, 3])
  await texts.updateOne({ name: names[1]! }, { $set: { name: `${begin}d` } })
  await texts.deleteOne({ name: names[2]! })
  expect(await texts.countDocuments({ name: { $gte: 'x', $lt: 'y' } })).toBe(2)
  expect(await texts.countDocuments({ name: `${begin}d` })).toBe(1)
  const unique = { code: 17280 }
  await expect(texts.createIndex({ name: -1 }, { unique: true })).rejects.toMatchObject(unique)
})

it('groups have a memory limit, for their number and for the values in them', async () => {
  const large = client.db('t').collection('large')
  for (let n = 0; n < 7; n += 1) await large.insertOne({ text: String(n).repeat(10_000_000) })
  const grouped = (all: Document) =>
    large.aggregate([{ $group: { _id: null, all } }, { $project: { all: { $size: '$all' } } }])
  await expect(grouped({ $push: '$text' }).toArray()).rejects.toMatchObject({ code: 292 })
  await expect(grouped({ $addToSet: '$text' }).toArray()).rejects.toMatchObject({ code: 292 })
  expect(await grouped({ $push: '$_id' }).toArray()).toEqual([{ _id: null, all: 7 }])
  const byText = large.aggregate([{ $group: { _id: '$text' } }, { $count: 'n' }])
  await expect(byText.toArray()).rejects.toMatchObject({ code: 292 })
})
