import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, idsOf, refused } from './collection.ts'

export function indexContract(db: Database): void {
  uniqueKeys(db)
  uniqueUnderUpserts(db)
  uniqueInPart(db)
  definitions(db)
}

function uniqueKeys(db: Database): void {
  describe('unique indexes', () => {
    it('refuse a second document with the key, and name the key', async () => {
      const collection = fresh(db)
      await collection.createIndex({ stamp: 1 }, { unique: true })
      await collection.insertOne({ stamp: 'abc' })
      const failure = await collection.insertOne({ stamp: 'abc' }).catch((error: unknown) => error)
      expect(failure).toMatchObject({
        code: 11000,
        keyPattern: { stamp: 1 },
        keyValue: { stamp: 'abc' },
      })
      const namespace = `${db().databaseName}.${collection.collectionName}`
      expect((failure as Error).message).toContain(
        `E11000 duplicate key error collection: ${namespace} index: stamp_1 ` +
          'dup key: { stamp: "abc" }',
      )
      await refused(
        11000,
        collection.insertOne({ _id: 1 }).then(() => collection.insertOne({ _id: 1 })),
      )
    })

    it('are enforced for updates, and a refused update changes nothing', async () => {
      const collection = await filled(db, [
        { _id: 1, k: 1, m: 1 },
        { _id: 2, k: 2 },
      ])
      await collection.createIndex({ k: 1 }, { unique: true })
      await collection.createIndex({ m: 1 })
      await refused(11000, collection.updateOne({ _id: 1 }, { $set: { k: 2, m: 5 } }))
      expect(await collection.findOne({ m: 1 })).toEqual({ _id: 1, k: 1, m: 1 })
      expect(await collection.findOne({ m: 5 })).toBeNull()
      await collection.updateOne({ _id: 1 }, { $set: { k: 3 } })
      await collection.updateOne({ _id: 2 }, { $set: { k: 1 } })
      expect(await idsOf(collection, { k: { $in: [1, 3] } })).toEqual([1, 2])
    })

    it('treat numbers of all types as equal, and missing fields as null', async () => {
      const collection = fresh(db)
      await collection.createIndex({ k: 1 }, { unique: true })
      await collection.insertMany([{ k: 1 }, { k: '1' }, {}])
      await refused(11000, collection.insertOne({ k: 1.0 }))
      await refused(11000, collection.insertOne({ k: null }))
      await collection.insertOne({ k: 1.5 })
    })

    it('are enforced for elements of arrays and for compound and dotted keys', async () => {
      const collection = fresh(db)
      await collection.createIndex({ 'o.k': 1, n: -1 }, { unique: true })
      await collection.createIndex({ tags: 1 }, { unique: true, sparse: true })
      await collection.insertOne({ o: { k: 1 }, n: 1, tags: ['a', 'b', 'a'] })
      await collection.insertOne({ o: { k: 1 }, n: 2 })
      await collection.insertOne({ o: { k: 2 }, n: 1 })
      await refused(11000, collection.insertOne({ o: { k: 1 }, n: 1 }))
      await refused(11000, collection.insertOne({ o: [{ k: 3 }, { k: 2 }], n: 1 }))
      await refused(11000, collection.insertOne({ n: 9, tags: ['c', 'b'] }))
      await collection.insertOne({ n: 8, tags: ['c'] })
    })
  })
}

function uniqueUnderUpserts(db: Database): void {
  describe('unique indexes under upserts', () => {
    it('produce one document for concurrent upserts of one key', async () => {
      const collection = fresh(db)
      await collection.createIndex({ k: 1 }, { unique: true })
      // A real server may refuse one of two concurrent first inserts; the document exists then.
      const upsert = async (): Promise<void> => {
        try {
          await collection.updateOne({ k: 'one' }, { $inc: { n: 1 } }, { upsert: true })
        } catch (error) {
          if ((error as { code?: number }).code !== 11000) throw error
          await upsert()
        }
      }
      await Promise.all(Array.from({ length: 50 }, upsert))
      const docs = await collection.find().toArray()
      expect(docs).toHaveLength(1)
      expect(docs[0]).toMatchObject({ k: 'one', n: 50 })
    })

    it('allow a recorder to upsert only newer documents', async () => {
      const collection = fresh(db)
      await collection.createIndex({ stamp: 1 }, { unique: true })
      const upsert = (stamp: string, v: number) => ({
        updateOne: {
          filter: { stamp, v: { $lt: v } },
          update: { $set: { stamp, v, text: `${stamp}${v}` } },
          upsert: true,
        },
      })
      await collection.bulkWrite([upsert('a', 5), upsert('b', 1)], { ordered: false })
      const failure = await collection
        .bulkWrite([upsert('a', 4), upsert('b', 2), upsert('a', 5), upsert('c', 1)], {
          ordered: false,
        })
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({
        code: 11000,
        writeErrors: [
          { index: 0, code: 11000 },
          { index: 2, code: 11000 },
        ],
      })
      const docs = await collection.find().sort({ stamp: 1 }).toArray()
      expect(docs.map(({ stamp, v, text }: Any) => [stamp, v, text])).toEqual([
        ['a', 5, 'a5'],
        ['b', 2, 'b2'],
        ['c', 1, 'c1'],
      ])
    })
  })
}

function uniqueInPart(db: Database): void {
  describe('sparse and partial unique indexes', () => {
    it('do not restrict other documents', async () => {
      const collection = fresh(db)
      await collection.createIndex({ s: 1 }, { unique: true, sparse: true })
      await collection.createIndex(
        { p: 1 },
        { unique: true, partialFilterExpression: { live: true } },
      )
      await collection.insertMany([{ p: 1 }, { p: 1 }, { p: 1, live: true }])
      await refused(11000, collection.insertOne({ p: 1, live: true }))
      await refused(
        11000,
        collection.updateOne({ live: { $exists: false } }, { $set: { live: true } }),
      )
      await collection.insertOne({ s: null })
      await refused(11000, collection.insertOne({ s: null }))
      expect(await collection.countDocuments({ s: null })).toBe(4)
      expect(await collection.countDocuments({ p: 1 })).toBe(3)
      expect(await collection.countDocuments({ p: 1, live: true })).toBe(1)
      expect(await collection.find().sort({ s: 1 }).toArray()).toHaveLength(4)
    })

    it('are not created on documents that violate them', async () => {
      const collection = await filled(db, [{ k: 1 }, { k: 2 }, { k: 1 }])
      await refused(11000, collection.createIndex({ k: 1 }, { unique: true }))
      expect(await collection.indexes()).toHaveLength(1)
      await collection.deleteOne({ k: 1 })
      await collection.createIndex({ k: 1 }, { unique: true })
      await refused(11000, collection.insertOne({ k: 2 }))
    })
  })
}

function definitions(db: Database): void {
  describe('index definitions', () => {
    it('are listed as they were created', async () => {
      const collection = fresh(db)
      expect(await collection.createIndex({ a: 1, 'b.c': -1 })).toBe('a_1_b.c_-1')
      await collection.createIndex({ d: 1 }, { name: 'mine', unique: true, sparse: true })
      await collection.createIndex({ e: 1 }, { partialFilterExpression: { e: { $gt: 5 } } })
      expect(await collection.indexes()).toEqual([
        { v: 2, key: { _id: 1 }, name: '_id_' },
        { v: 2, key: { a: 1, 'b.c': -1 }, name: 'a_1_b.c_-1' },
        { v: 2, key: { d: 1 }, name: 'mine', unique: true, sparse: true },
        { v: 2, key: { e: 1 }, name: 'e_1', partialFilterExpression: { e: { $gt: 5 } } },
      ])
    })

    it('are created once, and conflicts are named', async () => {
      const collection = fresh(db)
      await collection.createIndex({ a: 1 })
      await collection.createIndex({ a: 1 })
      await collection.createIndex({ _id: 1 })
      expect(await collection.indexes()).toHaveLength(2)
      await refused(85, collection.createIndex({ a: 1 }, { name: 'other' }))
      await refused(86, collection.createIndex({ a: 1 }, { unique: true }))
      await refused(86, collection.createIndex({ b: 1 }, { name: 'a_1' }))
    })

    it('are dropped by name, by key or all together', async () => {
      const collection = fresh(db)
      await collection.createIndexes([{ key: { a: 1 }, unique: true }, { key: { b: 1 } }])
      await collection.insertOne({ a: 1 })
      await collection.dropIndex('a_1')
      await collection.insertOne({ a: 1 })
      await refused(27, collection.dropIndex('a_1'))
      await refused(72, collection.dropIndex('_id_'))
      await collection.dropIndexes()
      expect((await collection.indexes()).map(({ name }) => name)).toEqual(['_id_'])
      await refused(26, fresh(db).indexes())
    })

    it('refuse two arrays in one key', async () => {
      const collection = fresh(db)
      await collection.createIndex({ a: 1, b: 1 })
      await collection.insertOne({ a: [1, 2], b: 1 })
      await refused(171, collection.insertOne({ a: [1], b: [1] }))
    })
  })
}
