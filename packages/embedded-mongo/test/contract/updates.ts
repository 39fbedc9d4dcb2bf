import { type Document, Double, Int32, Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, refused } from './collection.ts'

const DATE = new Date('2026-03-01T00:00:00Z')

/** Document, update, and the document afterwards (without `_id`). */
const UPDATES: readonly [doc: Any, update: Document, after: Any][] = [
  [{ a: 1 }, { $set: { b: 2, 'c.d': 3 } }, { a: 1, b: 2, c: { d: 3 } }],
  [{ a: { b: 1 } }, { $set: { 'a.c': DATE } }, { a: { b: 1, c: DATE } }],
  [{ a: [1, 2] }, { $set: { 'a.1': 9, 'a.3': 8 } }, { a: [1, 9, null, 8] }],
  [{ a: [{ b: 1 }] }, { $set: { 'a.0.b': 2 } }, { a: [{ b: 2 }] }],
  [{ a: 1, b: { c: 1, d: 2 } }, { $unset: { a: '', 'b.c': 1, x: 1 } }, { b: { d: 2 } }],
  [{ a: [1, 2] }, { $unset: { 'a.0': 1 } }, { a: [null, 2] }],
  [{ a: 1 }, { $inc: { a: 2, b: -3, 'c.d': 1 } }, { a: 3, b: -3, c: { d: 1 } }],
  [{ a: 2 }, { $mul: { a: 3, b: 4 } }, { a: 6, b: 0 }],
  [{ a: 5, b: 5 }, { $min: { a: 3, b: 9, c: 1 } }, { a: 3, b: 5, c: 1 }],
  [{ a: 5, b: 5 }, { $max: { a: 3, b: 9, c: 'x' } }, { a: 5, b: 9, c: 'x' }],
  [{ a: 5 }, { $max: { a: 'text beats numbers' } }, { a: 'text beats numbers' }],
  [{ a: [1] }, { $push: { a: [2], b: 1 } }, { a: [1, [2]], b: [1] }],
  [{ a: [1] }, { $push: { a: { $each: [2, 3] } } }, { a: [1, 2, 3] }],
  [{ a: [1, 2] }, { $push: { a: { $each: [3], $slice: -2 } } }, { a: [2, 3] }],
  [{ a: [1, 2] }, { $push: { a: { $each: [3], $position: 0 } } }, { a: [3, 1, 2] }],
  [{ a: [1] }, { $addToSet: { a: 1, b: { x: 1 } } }, { a: [1], b: [{ x: 1 }] }],
  [{ a: [1] }, { $addToSet: { a: { $each: [1, 2, 2] } } }, { a: [1, 2] }],
  [{ a: [1, 2, 3, 2] }, { $pull: { a: 2 } }, { a: [1, 3] }],
  [{ a: [1, 5, 9] }, { $pull: { a: { $gte: 5 } } }, { a: [1] }],
  [{ a: [{ k: 1, v: 1 }, { k: 2 }] }, { $pull: { a: { k: 1 } } }, { a: [{ k: 2 }] }],
  [{ a: [1, 2, 3] }, { $pullAll: { a: [1, 3] } }, { a: [2] }],
  [{ a: [1, 2, 3] }, { $pop: { a: 1 } }, { a: [1, 2] }],
  [{ a: [1, 2, 3] }, { $pop: { a: -1 } }, { a: [2, 3] }],
  [{ a: 1 }, { $setOnInsert: { b: 1 }, $set: { c: 1 } }, { a: 1, c: 1 }],
]

/** Document, update, and the error code of the refusal. */
const REFUSED: readonly [doc: Any, update: Document, code: number][] = [
  [{}, { $foo: { a: 1 } }, 9],
  [{}, { $set: 5 }, 9],
  [{}, { $set: { a: 1, 'a.b': 2 } }, 40],
  [{}, { $set: { a: 1 }, $inc: { a: 1 } }, 40],
  [{}, { $set: { 'a..b': 1 } }, 56],
  [{}, { $set: { 'a.$x': 1 } }, 52],
  [{ a: 1 }, { $set: { 'a.b': 1 } }, 28],
  [{ a: [1] }, { $set: { 'a.x': 1 } }, 28],
  [{ a: 'x' }, { $inc: { a: 1 } }, 14],
  [{ a: 1 }, { $inc: { a: 'x' } }, 14],
  [{ a: 1 }, { $push: { a: 1 } }, 2],
  [{ a: 1 }, { $addToSet: { a: 1 } }, 2],
  [{ a: 1 }, { $pull: { a: 1 } }, 2],
  [{ a: 1 }, { $pop: { a: 1 } }, 14],
  [{ a: [1] }, { $pop: { a: 2 } }, 9],
]

export function updateContract(db: Database): void {
  operators(db)
  effects(db)
  upserts(db)
}

function operators(db: Database): void {
  describe('update operators', () => {
    it.each(UPDATES)('%j %j', async (doc, update, after) => {
      const collection = await filled(db, [doc])
      const { modifiedCount } = await collection.updateOne({}, update)
      expect(modifiedCount).toBe(1)
      expect(await collection.findOne({}, { projection: { _id: 0 } })).toEqual(after)
    })

    it.each(REFUSED)('%j %j is refused with code %i', async (doc, update, code) => {
      const collection = await filled(db, [doc])
      await refused(code, collection.updateOne({}, update))
      expect(await collection.findOne({}, { projection: { _id: 0 } })).toEqual(doc)
    })

    it('add new fields in the order of their names', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      await collection.updateOne({}, { $set: { c: 1, a: 1 }, $inc: { b: 1 } })
      expect(Object.keys((await collection.findOne()) ?? {})).toEqual(['_id', 'a', 'b', 'c'])
    })

    it('keep the types of numbers', async () => {
      const start = { i: new Int32(1), d: new Double(1), l: Long.fromNumber(1) }
      const collection = await filled(db, [{ _id: 1, ...start, big: new Int32(2 ** 31 - 1) }])
      const one = new Int32(1)
      await collection.updateOne({}, { $inc: { i: one, d: one, l: one, big: one }, $set: { x: 1 } })
      const raw = await collection.findOne({}, { promoteValues: false })
      expect(raw).toMatchObject({
        i: new Int32(2),
        d: new Double(2),
        l: Long.fromNumber(2),
        big: Long.fromNumber(2 ** 31),
      })
      const past = Long.MAX_VALUE
      await collection.updateOne({}, { $set: { l: past } })
      await refused(2, collection.updateOne({}, { $inc: { l: one } }))
    })
  })
}

function effects(db: Database): void {
  describe('updates', () => {
    it('$currentDate sets the time of the server', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      await collection.updateOne({}, { $currentDate: { a: true, b: { $type: 'date' } } as never })
      const doc = await collection.findOne()
      expect(doc?.['a']).toBeInstanceOf(Date)
      expect(doc?.['b']).toEqual(doc?.['a'])
    })

    it('count matched and changed documents', async () => {
      const collection = await filled(db, [{ a: 1 }, { a: 1, b: 1 }, { a: 2 }])
      const many = await collection.updateMany({ a: 1 }, { $set: { b: 1 } })
      expect(many).toMatchObject({ matchedCount: 2, modifiedCount: 1, upsertedCount: 0 })
      const none = await collection.updateMany({ a: 9 }, { $set: { b: 1 } })
      expect(none).toMatchObject({ matchedCount: 0, modifiedCount: 0 })
    })

    it('change each document once, even when they scan an index of the changed field', async () => {
      const collection = await filled(db, [{ n: 1 }, { n: 2 }, { n: 3 }])
      await collection.createIndex({ n: 1 })
      await collection.updateMany({ n: { $gt: 0 } }, { $inc: { n: 10 } })
      const docs = await collection.find().sort({ n: 1 }).toArray()
      expect(docs.map((doc) => doc['n'])).toEqual([11, 12, 13])
    })
  })
}

function upserts(db: Database): void {
  describe('an upsert', () => {
    it.each<[filter: Document, update: Document, expected: Document]>([
      [{ k: 1, 'o.p': 2 }, { $set: { v: 3 } }, { k: 1, o: { p: 2 }, v: 3 }],
      [{ k: { $eq: 1 }, n: { $gt: 5 } }, { $setOnInsert: { v: 3 } }, { k: 1, v: 3 }],
      [{ $and: [{ k: 1 }, { j: 2 }] }, { $inc: { n: 1 } }, { k: 1, j: 2, n: 1 }],
      [{ k: { $in: [1, 2] }, s: /x/ }, { $push: { l: 1 } }, { l: [1] }],
      [{ k: 1 }, { $inc: { k: 1 } }, { k: 2 }],
    ])('%j %j', async (filter, update, expected) => {
      const collection = fresh(db)
      const result = await collection.updateOne(filter, update, { upsert: true })
      expect(result).toMatchObject({ matchedCount: 0, modifiedCount: 0, upsertedCount: 1 })
      expect(await collection.findOne()).toEqual({ _id: result.upsertedId, ...expected })
      expect(Object.keys((await collection.findOne()) ?? {})[0]).toBe('_id')
    })

    it('of a whole document uses only the _id of the filter', async () => {
      const collection = fresh(db)
      await collection.replaceOne({ _id: 'x', k: 1 }, { v: 2 }, { upsert: true })
      expect(await collection.findOne()).toEqual({ _id: 'x', v: 2 })
    })

    it('refuses a filter that requires a field twice', async () => {
      const work = fresh(db).updateOne(
        { $and: [{ a: 1 }, { a: 2 }] },
        { $set: { b: 1 } },
        {
          upsert: true,
        },
      )
      await refused(54, work)
    })

    it('in a bulk write reports which operations inserted', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      const upsert = (_id: number) => ({
        updateOne: { filter: { _id }, update: { $set: { v: 1 } }, upsert: true },
      })
      const result = await collection.bulkWrite([
        upsert(1),
        upsert(2),
        { insertOne: { document: { _id: 3 } } },
        { deleteOne: { filter: { _id: 1 } } },
        upsert(4),
      ])
      expect(result).toMatchObject({ matchedCount: 1, insertedCount: 1, deletedCount: 1 })
      expect(result.upsertedIds).toEqual({ 1: 2, 4: 4 })
    })
  })
}
