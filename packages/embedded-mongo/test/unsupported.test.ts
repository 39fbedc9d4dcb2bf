import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Document, Long, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MongoServer, startMongoServer } from '../src/server.ts'

const NOT_IMPLEMENTED = 238

let folder: string
let server: MongoServer
let client: MongoClient
let nowMs = 1_800_000_000_000

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tg-mongo-'))
  const clock = { nowMs: () => nowMs }
  const options = { dataDir: join(folder, 'data'), socketPath: join(folder, 's'), clock }
  server = await startMongoServer(options)
  client = await new MongoClient(server.url).connect()
})

afterAll(async () => {
  await client?.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

const collection = (): Collection<Document> => client.db('t').collection('c')

/** Features of a real server that this one refuses, so that no answer is wrong. */
const UNSUPPORTED: readonly [what: string, work: () => Promise<unknown>][] = [
  [
    'an index with a time to live',
    () => collection().createIndex({ a: 1 }, { expireAfterSeconds: 1 }),
  ],
  ['a text index', () => collection().createIndex({ a: 'text' })],
  ['a wildcard index', () => collection().createIndex({ '$**': 1 })],
  ['an index on a position', () => collection().createIndex({ 'a.0': 1 })],
  [
    'a collation',
    () =>
      collection()
        .find({}, { collation: { locale: 'de' } })
        .toArray(),
  ],
  ['a hint', () => collection().find({}, { hint: '_id_' }).toArray()],
  ['a positional update', () => collection().updateOne({ a: 1 }, { $set: { 'a.$': 1 } })],
  ['an update of all elements', () => collection().updateOne({}, { $set: { 'a.$[]': 1 } })],
  [
    'array filters',
    () => collection().updateOne({}, { $set: { 'a.$[x]': 1 } }, { arrayFilters: [{ x: 1 }] }),
  ],
  ['a pipeline as update', () => collection().updateOne({}, [{ $set: { a: 1 } }])],
  ['$rename', () => collection().updateOne({}, { $rename: { a: 'b' } })],
  [
    '$push with $sort',
    () => collection().updateOne({}, { $push: { a: { $each: [1], $sort: 1 } } } as never),
  ],
  [
    'a positional projection',
    () =>
      collection()
        .find({}, { projection: { 'a.$': 1 } })
        .toArray(),
  ],
  [
    'a projection of a slice',
    () =>
      collection()
        .find({}, { projection: { a: { $slice: 1 } } })
        .toArray(),
  ],
  [
    'syntax of PCRE',
    () =>
      collection()
        .find({ a: /x/ })
        .filter({ a: { $regex: '\\Ax' } })
        .toArray(),
  ],
  [
    '$lookup with let',
    () =>
      collection()
        .aggregate([{ $lookup: { from: 'x', let: { a: '$b' }, pipeline: [], as: 'c' } }])
        .toArray(),
  ],
  [
    '$convert to int',
    () =>
      collection()
        .aggregate([{ $project: { a: { $convert: { input: '$b', to: 'int' } } } }])
        .toArray(),
  ],
  ['a capped collection', () => client.db('t').createCollection('x', { capped: true, size: 9 })],
  ['a linearizable read', () => collection().find({}, { readConcern: 'linearizable' }).toArray()],
]

describe('features of a real server only', () => {
  it.each(UNSUPPORTED)('are refused by name: %s', async (_what, work) => {
    await expect(work()).rejects.toMatchObject({ code: NOT_IMPLEMENTED })
  })

  it.each([
    ['$graphLookup', 40324],
    ['$facet', 40324],
    ['$out', 40324],
  ])('are refused as unknown: %s', async (stage, code) => {
    const work = collection()
      .aggregate([{ [stage]: {} }])
      .toArray()
    await expect(work).rejects.toMatchObject({ code })
  })

  it('include long keys of unique indexes, which are refused', async () => {
    const keyed = client.db('t').collection('keyed')
    await keyed.createIndex({ a: 1 }, { unique: true })
    const work = keyed.insertOne({ a: 'x'.repeat(3000) })
    await expect(work).rejects.toMatchObject({ code: 17280 })
    expect(await keyed.countDocuments()).toBe(0)
    await keyed.insertOne({ a: 'x'.repeat(1500), b: 'x'.repeat(9000) })
  })
})

describe('cursors', () => {
  it('end after ten minutes without a request', async () => {
    await collection().insertMany([{}, {}, {}, {}])
    const opened = await client.db('t').command({ find: 'c', batchSize: 1 })
    const id = Long.fromValue(opened['cursor'].id)
    const more = () => client.db('t').command({ getMore: id, collection: 'c', batchSize: 1 })
    nowMs += 9 * 60_000
    await more()
    nowMs += 9 * 60_000
    await more()
    nowMs += 11 * 60_000
    await expect(more()).rejects.toMatchObject({ code: 43 })
  })
})
