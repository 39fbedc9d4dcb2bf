import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Database, filled, fresh, idsOf, refused } from './collection.ts'

export function documentContract(db: Database): void {
  storing(db)
  manyAtOnce(db)
  collections(db)
  findAndModify(db)
}

function storing(db: Database): void {
  describe('documents', () => {
    it('are inserted, found, replaced and deleted', async () => {
      const collection = fresh(db)
      const { insertedId } = await collection.insertOne({ name: 'a', list: [1, { b: 2 }] })
      expect(insertedId).toBeInstanceOf(ObjectId)
      const stored = { _id: insertedId, name: 'a', list: [1, { b: 2 }] }
      expect(await collection.findOne({ _id: insertedId })).toEqual(stored)
      const replaced = await collection.replaceOne({ _id: insertedId }, { name: 'b' })
      expect(replaced).toMatchObject({ matchedCount: 1, modifiedCount: 1, upsertedCount: 0 })
      expect(await collection.findOne({ name: 'b' })).toEqual({ _id: insertedId, name: 'b' })
      expect(await collection.deleteOne({ name: 'a' })).toMatchObject({ deletedCount: 0 })
      expect(await collection.deleteOne({ name: 'b' })).toMatchObject({ deletedCount: 1 })
      expect(await collection.findOne({})).toBeNull()
    })

    it('are returned in insertion order without a sort, and _id comes first', async () => {
      const collection = await filled(db, [
        { x: 1, _id: 'b' },
        { x: 2, _id: 'a' },
      ])
      const found = await collection.find().toArray()
      expect(found.map((doc) => doc._id)).toEqual(['b', 'a'])
      expect(found.map((doc) => Object.keys(doc))).toEqual([
        ['_id', 'x'],
        ['_id', 'x'],
      ])
    })

    it('of an ordered insert stop at the first error; an unordered insert continues', async () => {
      const docs = [{ _id: 1 }, { _id: 1 }, { _id: 2 }]
      const ordered = fresh(db)
      const failure = await ordered.insertMany(docs).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 11000, insertedCount: 1 })
      expect(await idsOf(ordered, {})).toEqual([1])
      const unordered = fresh(db)
      const failures = await unordered
        .insertMany(docs, { ordered: false })
        .catch((error: unknown) => error)
      expect(failures).toMatchObject({ code: 11000, writeErrors: [{ index: 1 }] })
      expect(await idsOf(unordered, {})).toEqual([1, 2])
    })
  })
}

function manyAtOnce(db: Database): void {
  describe('sets of documents', () => {
    it('can be counted, and their distinct values listed', async () => {
      const collection = await filled(db, [{ a: 1 }, { a: [1, 2] }, { a: 'x' }, { b: 1 }])
      expect(await collection.countDocuments()).toBe(4)
      expect(await collection.countDocuments({ a: 1 })).toBe(2)
      expect(await collection.countDocuments({ a: 1 }, { skip: 1 })).toBe(1)
      expect(await collection.countDocuments({ a: 7 })).toBe(0)
      expect(await collection.estimatedDocumentCount()).toBe(4)
      const values = await collection.distinct('a')
      expect(values.sort()).toEqual([1, 2, 'x'])
      expect(await collection.distinct('a', { a: 'x' })).toEqual(['x'])
    })

    it('are deleted by a filter', async () => {
      const collection = await filled(db, [{ a: 1 }, { a: 2 }, { a: 1 }])
      expect(await collection.deleteMany({ a: 1 })).toMatchObject({ deletedCount: 2 })
      expect(await collection.countDocuments()).toBe(1)
      expect(await collection.deleteMany({})).toMatchObject({ deletedCount: 1 })
    })

    it('keep their _id', async () => {
      const collection = await filled(db, [{ _id: 1, a: 1 }])
      await refused(66, collection.updateOne({ _id: 1 }, { $set: { _id: 2 } }))
      await refused(66, collection.replaceOne({ _id: 1 }, { _id: 2 } as never))
      const same = await collection.updateOne({ _id: 1 }, { $set: { _id: 1, a: 2 } })
      expect(same).toMatchObject({ modifiedCount: 1 })
      await refused(53, collection.insertOne({ _id: [1] }))
    })
  })
}

function collections(db: Database): void {
  describe('collections', () => {
    it('are created with the first document and listed until they are dropped', async () => {
      const collection = fresh(db)
      const name = collection.collectionName
      const list = () => db().listCollections({ name }).toArray()
      expect(await list()).toEqual([])
      await collection.insertOne({})
      expect(await list()).toMatchObject([{ name, type: 'collection' }])
      expect(await db().listCollections({ name }, { nameOnly: true }).toArray()).toEqual([
        { name, type: 'collection' },
      ])
      await collection.drop()
      expect(await list()).toEqual([])
      expect(await collection.countDocuments()).toBe(0)
    })

    it('can be created without documents', async () => {
      const { collectionName } = fresh(db)
      await db().createCollection(collectionName)
      const listed = await db().listCollections({ name: collectionName }).toArray()
      expect(listed).toHaveLength(1)
    })

    it('of several databases are separate', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      const other = db().client.db(`${db().databaseName}_other`)
      expect(await other.collection(collection.collectionName).countDocuments()).toBe(0)
      await other.collection(collection.collectionName).insertMany([{}, {}])
      const { databases } = await db().admin().listDatabases({ nameOnly: true })
      const names = databases.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining([db().databaseName, other.databaseName]))
      await other.dropDatabase()
      expect(await collection.countDocuments()).toBe(1)
    })
  })
}

function findAndModify(db: Database): void {
  describe('findAndModify', () => {
    it('returns the document before or after the update, and null if there is none', async () => {
      const collection = await filled(db, [
        { _id: 1, n: 1 },
        { _id: 2, n: 5 },
      ])
      const before = await collection.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } })
      expect(before).toEqual({ _id: 1, n: 1 })
      const after = await collection.findOneAndUpdate(
        {},
        { $inc: { n: 1 } },
        { sort: { n: -1 }, returnDocument: 'after', projection: { n: 1, _id: 0 } },
      )
      expect(after).toEqual({ n: 6 })
      expect(await collection.findOneAndUpdate({ _id: 9 }, { $set: { n: 1 } })).toBeNull()
      expect(await collection.findOneAndDelete({ _id: 1 })).toEqual({ _id: 1, n: 2 })
      expect(await idsOf(collection, {})).toEqual([2])
    })

    it('reports whether it inserted', async () => {
      const collection = fresh(db)
      const options = {
        upsert: true,
        returnDocument: 'after',
        includeResultMetadata: true,
      } as const
      const first = await collection.findOneAndUpdate({ _id: 'k' }, { $inc: { n: 1 } }, options)
      expect(first).toMatchObject({
        value: { _id: 'k', n: 1 },
        lastErrorObject: { n: 1, updatedExisting: false, upserted: 'k' },
      })
      const second = await collection.findOneAndReplace({ _id: 'k' }, { m: 1 }, options)
      expect(second).toMatchObject({
        value: { _id: 'k', m: 1 },
        lastErrorObject: { n: 1, updatedExisting: true },
      })
    })

    it('counts exactly when used concurrently', async () => {
      const collection = fresh(db)
      const next = () =>
        collection.findOneAndUpdate(
          { _id: 'counter' },
          { $inc: { n: 1 } },
          { upsert: true, returnDocument: 'after' },
        )
      await next()
      const values = await Promise.all(Array.from({ length: 100 }, next))
      const numbers = values.map((doc) => doc?.['n'] as number).sort((a, b) => a - b)
      expect(numbers).toEqual(Array.from({ length: 100 }, (_, i) => i + 2))
    })
  })
}
