import { Binary, type Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, refused } from './collection.ts'

const DUPLICATE_KEY = 11000

/** Commands on an existing collection `c`, and the error codes of a real server. */
const COMMANDS: readonly [command: (c: string) => Document, code: number][] = [
  [(c) => ({ insert: c, documents: [] }), 21],
  [(c) => ({ insert: c }), 40414],
  [(c) => ({ update: c, updates: [] }), 21],
  [(c) => ({ update: c, updates: [{ q: {} }] }), 40414],
  [(c) => ({ update: c, updates: [{ u: {} }] }), 40414],
  [(c) => ({ update: c, updates: [{ q: 5, u: {} }] }), 14],
  [(c) => ({ update: c, updates: [{ q: {}, u: {}, noSuch: 1 }] }), 40415],
  [(c) => ({ delete: c, deletes: [{ q: {} }] }), 40414],
  [(c) => ({ delete: c, deletes: [{ q: {}, limit: 2 }] }), 9],
  [(c) => ({ delete: c, deletes: [{ q: 5, limit: 1 }] }), 14],
  [(c) => ({ findAndModify: c, query: {}, remove: true, new: true }), 9],
  [(c) => ({ findAndModify: c, query: {}, update: { $set: { _id: 5 } } }), 66],
  [(c) => ({ findAndModify: c, query: {}, update: { $inc: { k: 1 }, $set: { k: 1 } } }), 40],
  [(c) => ({ aggregate: c, pipeline: [{ $changeStream: {} }], cursor: {} }), 40573],
  [(c) => ({ aggregate: c, pipeline: [5], cursor: {} }), 14],
  [(c) => ({ aggregate: c, pipeline: [{ $limit: 'x' }], cursor: {} }), 5107201],
  [(c) => ({ count: c, query: { $noSuch: 1 } }), 2],
  [(c) => ({ distinct: c, key: 5 }), 14],
  [(c) => ({ distinct: c }), 40414],
  [(c) => ({ dropIndexes: c, index: 'none' }), 27],
  [(c) => ({ dropIndexes: c, index: '_id_' }), 72],
  [() => ({ dropIndexes: 'not_there', index: '*' }), 26],
  [() => ({ listIndexes: 'not_there' }), 26],
  [(c) => ({ createIndexes: c, indexes: [] }), 2],
]

const INDEXES: readonly [key: Document, options: Document, code: number][] = [
  [{}, { name: 'x' }, 67],
  [{ a: 0 }, {}, 67],
  [{ a: true }, {}, 67],
  [{ a: 'noSuchKind' }, {}, 67],
  [{ '': 1 }, {}, 67],
  [{ 'a..b': 1 }, {}, 67],
  [{ a: 1 }, { noSuchOption: 1 }, 197],
  [{ a: 1 }, { unique: 'yes' }, 14],
  [{ a: 1 }, { partialFilterExpression: 5 }, 14],
  [{ a: 1 }, { partialFilterExpression: { a: { $ne: 1 } } }, 67],
  [{ a: 1 }, { sparse: true, partialFilterExpression: { a: { $gt: 1 } } }, 67],
  [{ _id: 1 }, { sparse: true }, 197],
  [{ _id: 1 }, { unique: true }, 197],
]

export function codeContract(db: Database): void {
  commands(db)
  duplicates(db)
  bulks(db)
  sizes(db)
}

function commands(db: Database): void {
  describe('commands with an error code of the server', () => {
    it.each(COMMANDS.map(([command, code]) => [command('c'), code, command] as const))(
      '%j with code %i',
      async (_shown, code, command) => {
        const collection = await filled(db, [{ _id: 1, k: 1 }])
        await refused(code, db().command(command(collection.collectionName)))
        expect(await collection.find().toArray()).toEqual([{ _id: 1, k: 1 }])
      },
    )

    it.each(INDEXES)('an index %j %j with code %i', async (key, options, code) => {
      const collection = await filled(db, [{ _id: 1 }])
      const indexes = [{ key, name: 'given', ...options }]
      await refused(code, db().command({ createIndexes: collection.collectionName, indexes }))
      expect(await collection.indexes()).toHaveLength(1)
    })

    it('an index direction can be any number: only its sign counts', async () => {
      const collection = fresh(db)
      await collection.createIndex({ a: 5, b: -0.5 } as never)
      await collection.insertMany([
        { a: 1, b: 1 },
        { a: 1, b: 2 },
        { a: 0, b: 3 },
      ])
      const found = await collection
        .find({ a: { $gte: 0 } })
        .sort({ a: 1, b: -1 })
        .toArray()
      expect(found.map((doc) => doc['b'])).toEqual([3, 2, 1])
    })

    it('an upsert whose _id differs from that of its filter', async () => {
      const collection = fresh(db)
      const options = { upsert: true }
      await refused(66, collection.updateOne({ _id: 1 }, { $set: { _id: 2 } }, options))
      await refused(66, collection.replaceOne({ _id: 1 }, { _id: 2 } as never, options))
      expect(await collection.countDocuments()).toBe(0)
    })

    it('an invalid _id', async () => {
      const collection = fresh(db)
      await refused(53, collection.insertOne({ _id: /x/ } as never))
      await refused(53, collection.insertOne({ _id: [1] }))
      await refused(52, collection.insertOne({ _id: { $a: 1 } } as never))
      expect(await collection.countDocuments()).toBe(0)
    })
  })
}

function duplicates(db: Database): void {
  describe('a duplicate key', () => {
    const detail = { keyPattern: { k: 1 }, keyValue: { k: 2 } }

    it('is reported in the same way by every kind of write', async () => {
      const collection = await filled(db, [
        { _id: 1, k: 1 },
        { _id: 2, k: 2 },
      ])
      await collection.createIndex({ k: 1 }, { unique: true })
      const set = { $set: { k: 2 } }
      const works: Promise<unknown>[] = [
        collection.insertOne({ k: 2 }),
        collection.updateOne({ _id: 1 }, set),
        collection.updateOne({ _id: 3 }, set, { upsert: true }),
        collection.replaceOne({ _id: 1 }, { k: 2 }),
        collection.findOneAndUpdate({ _id: 1 }, set),
        collection.findOneAndReplace({ _id: 9 }, { k: 2 }, { upsert: true }),
      ]
      for (const end of await Promise.allSettled(works)) {
        expect(end).toMatchObject({ reason: { code: DUPLICATE_KEY, ...detail } })
      }
      expect(await collection.countDocuments()).toBe(2)
    })

    it('in a bulk write is reported with its index', async () => {
      const { collectionName } = await filled(db, [{ _id: 1 }])
      const documents = [{ _id: 2 }, { _id: 1 }, { _id: 3 }]
      const answer = await db().command({ insert: collectionName, documents, ordered: false })
      expect(answer).toMatchObject({
        ok: 1,
        n: 2,
        writeErrors: [
          { index: 1, code: DUPLICATE_KEY, keyPattern: { _id: 1 }, keyValue: { _id: 1 } },
        ],
      })
    })

    it('of a document with several duplicate keys names the first one', async () => {
      const collection = fresh(db)
      await collection.createIndex({ tags: 1 }, { unique: true })
      await collection.insertOne({ tags: ['b'] })
      const work = collection.insertOne({ tags: ['a', 'b', 'c'] })
      await expect(work).rejects.toMatchObject({ keyValue: { tags: 'b' } })
      await collection.insertOne({ tags: ['a', 'a'] })
    })
  })
}

function bulks(db: Database): void {
  const operations = () => [
    { insertOne: { document: { _id: 1, v: 1 } } },
    { updateOne: { filter: { _id: 1 }, update: { $inc: { v: 1 } } } },
    { insertOne: { document: { _id: 1 } } },
    { updateOne: { filter: { _id: 1 }, update: { $inc: { v: 10 } } } },
    { updateOne: { filter: { _id: 1 }, update: { $push: { v: 1 } } as never } },
    { replaceOne: { filter: { _id: 2 }, replacement: { v: 5 } as Any, upsert: true } },
    { deleteOne: { filter: { _id: 1 } } },
  ]

  describe('a bulk write', () => {
    it('that is ordered stops at the first error and reports what was done', async () => {
      const collection = fresh(db)
      const failure = await collection.bulkWrite(operations()).catch((error: unknown) => error)
      expect(failure).toMatchObject({
        code: DUPLICATE_KEY,
        insertedCount: 1,
        modifiedCount: 1,
        upsertedCount: 0,
        writeErrors: [{ index: 2, code: DUPLICATE_KEY }],
      })
      expect(await collection.find().toArray()).toEqual([{ _id: 1, v: 2 }])
    })

    it('that is unordered executes all valid operations and lists each error', async () => {
      const collection = fresh(db)
      const failure = await collection
        .bulkWrite(operations(), { ordered: false })
        .catch((error: unknown) => error)
      const { writeErrors } = failure as { writeErrors: { index: number; code: number }[] }
      const found = writeErrors.map(({ index, code }) => [index, code])
      expect(found.sort()).toEqual([
        [2, DUPLICATE_KEY],
        [4, 2],
      ])
      expect(failure).toMatchObject({ insertedCount: 1, upsertedCount: 1, deletedCount: 1 })
      expect(await collection.find().toArray()).toEqual([{ _id: 2, v: 5 }])
    })
  })
}

function sizes(db: Database): void {
  const MIB = 1024 * 1024
  const blob = (bytes: number) => ({ blob: new Binary(Buffer.alloc(bytes)) })

  describe('a document that is too large', () => {
    it('is refused by the server', async () => {
      const collection = fresh(db)
      await refused(2, collection.insertOne(blob(16 * MIB)))
      await refused(10334, collection.insertOne(blob(16.5 * MIB)))
      expect(await collection.countDocuments()).toBe(0)
    })

    it('cannot be created by an update', async () => {
      const collection = await filled(db, [{ _id: 1, ...blob(16 * MIB - 1000) }])
      await refused(17419, collection.updateOne({}, { $set: { more: 'x'.repeat(2000) } }))
      expect(await collection.countDocuments({ more: { $exists: true } })).toBe(0)
    })
  })
}
