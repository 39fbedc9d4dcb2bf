import { Decimal128, type Document, Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, refused } from './collection.ts'

const OBJECTS: readonly Any[] = [
  {
    _id: 1,
    l: [
      { a: 1, b: 9 },
      { a: 2, b: 0 },
    ],
  },
  { _id: 2, l: [{ a: 1, b: 5 }] },
  { _id: 3, l: [{ a: 2, b: 1 }, { b: 7 }] },
  { _id: 4, l: [] },
  { _id: 5 },
  { _id: 6, l: { a: 1, b: 7 } },
]

const VALUES: readonly Any[] = [
  { _id: 1, v: [3, 8], w: 1 },
  { _id: 2, v: 5, w: 1 },
  { _id: 3, v: [], w: 1 },
  { _id: 4, w: 1 },
  { _id: 5, v: null, w: 1 },
  { _id: 6, v: [9, 1], w: 1 },
  { _id: 7, v: { x: 1 }, w: 1 },
  { _id: 8, v: '3', w: 1 },
  { _id: 9, v: [null, 7], w: 1 },
]

/** Documents, filter, sort, and the `_id`s in the order of a real server. */
const ORDERS: readonly [docs: readonly Any[], filter: Document, sort: Document, ids: number[]][] = [
  // An empty array sorts before null; null and missing are equal.
  [VALUES, {}, { v: 1, _id: 1 }, [3, 4, 5, 9, 6, 1, 2, 8, 7]],
  [VALUES, {}, { v: 1, _id: -1 }, [3, 9, 5, 4, 6, 1, 2, 8, 7]],
  [VALUES, {}, { v: -1, _id: 1 }, [7, 8, 6, 1, 9, 2, 4, 5, 3]],
  [VALUES, {}, { w: 1, v: -1, _id: -1 }, [7, 8, 6, 1, 9, 2, 5, 4, 3]],
  // The whole array decides, not the element that matched the filter.
  [VALUES, { v: { $gte: 3, $lt: 9 } }, { v: 1, _id: 1 }, [9, 6, 1, 2]],
  [VALUES, { v: 7 }, { v: -1 }, [9]],
  [VALUES, { w: 1, v: { $type: 'number' } }, { w: 1, v: 1, _id: 1 }, [9, 6, 1, 2]],
  // Through arrays of documents; an element without the field counts as null.
  [OBJECTS, {}, { 'l.a': 1, _id: 1 }, [3, 4, 5, 1, 2, 6]],
  [OBJECTS, {}, { 'l.a': -1, _id: 1 }, [1, 3, 2, 6, 4, 5]],
  [OBJECTS, {}, { 'l.0.b': 1, _id: 1 }, [4, 5, 6, 3, 2, 1]],
  // Two fields of one array sort by the pair within one element.
  [OBJECTS, { 'l.a': 1 }, { 'l.a': 1, 'l.b': 1 }, [2, 6, 1]],
  [OBJECTS, { 'l.a': { $gt: 0 } }, { 'l.a': -1, 'l.b': 1 }, [1, 3, 2, 6]],
]

export function sortContract(db: Database): void {
  ordering(db)
  paging(db)
  refusing(db)
}

function ordering(db: Database): void {
  describe('the sort order', () => {
    it.each(ORDERS)('%j filtered by %j sorted by %j', async (docs, filter, sort, ids) => {
      const collection = await filled(db, docs)
      const found = await collection
        .find(filter)
        .sort(sort as never)
        .toArray()
      expect(found.map((doc) => doc._id)).toEqual(ids)
    })

    it.each(ORDERS.filter(([docs]) => docs === VALUES))(
      '%j filtered by %j sorted by %j, with indexes',
      async (docs, filter, sort, ids) => {
        const collection = await filled(db, docs)
        await collection.createIndexes([{ key: { v: 1, _id: 1 } }, { key: { w: 1, v: -1 } }])
        const found = await collection
          .find(filter)
          .sort(sort as never)
          .toArray()
        expect(found.map((doc) => doc._id)).toEqual(ids)
      },
    )

    it('of numbers follows their values, across all types', async () => {
      const docs = [
        { _id: 1, v: Decimal128.fromString('1.5') },
        { _id: 2, v: 1 },
        { _id: 3, v: Long.fromString('9007199254740993') },
        { _id: 4, v: 9007199254740992 },
        { _id: 5, v: Number.NEGATIVE_INFINITY },
        { _id: 6, v: Number.NaN },
        { _id: 7, v: Decimal128.fromString('1E+400') },
        { _id: 8, v: Number.POSITIVE_INFINITY },
      ]
      const collection = await filled(db, docs)
      const found = await collection.find().sort({ v: 1 }).toArray()
      expect(found.map((doc) => doc._id)).toEqual([6, 5, 2, 1, 4, 3, 7, 8])
    })

    it('is the same in a pipeline and for findOneAndUpdate', async () => {
      const collection = await filled(db, VALUES)
      const sort = { v: -1, _id: 1 } as const
      const piped = await collection.aggregate([{ $sort: sort }]).toArray()
      expect(piped.map((doc) => doc['_id'])).toEqual([7, 8, 6, 1, 9, 2, 4, 5, 3])
      const [first] = await collection.aggregate([{ $sort: sort }, { $limit: 1 }]).toArray()
      const updated = await collection.findOneAndUpdate({}, { $set: { done: 1 } }, { sort })
      expect(updated?._id).toBe(first?.['_id'])
    })
  })
}

function paging(db: Database): void {
  describe('a sort in several pages', () => {
    it.each([false, true])('returns each document once (with an index: %s)', async (indexed) => {
      const docs = Array.from({ length: 60 }, (_, n) => ({ _id: (n * 37) % 60, group: n % 3 }))
      const collection = await filled(db, docs)
      if (indexed) await collection.createIndex({ group: 1, _id: 1 })
      const pages: unknown[] = []
      for (let skip = 0; skip < 63; skip += 7) {
        const page = collection.find().sort({ group: 1, _id: 1 }).skip(skip).limit(7)
        pages.push(...(await page.toArray()).map((doc) => doc._id))
      }
      const all = await collection.find().sort({ group: 1, _id: 1 }).batchSize(4).toArray()
      expect(pages).toEqual(all.map((doc) => doc._id))
      expect(new Set(pages).size).toBe(60)
    })

    it('continues from the last key, forwards and backwards', async () => {
      const collection = await filled(
        db,
        Array.from({ length: 30 }, (_, n) => ({ _id: n })),
      )
      const after = collection.find({ _id: { $gt: 9 } } as never).sort({ _id: 1 })
      expect((await after.limit(2).toArray()).map((doc) => doc._id)).toEqual([10, 11])
      const before = collection.find({ _id: { $lt: 9 } } as never).sort({ _id: -1 })
      expect((await before.limit(2).toArray()).map((doc) => doc._id)).toEqual([8, 7])
    })
  })
}

function refusing(db: Database): void {
  describe('a sort is refused', () => {
    it.each<[sort: Document, code: number]>([
      [{ a: 0 }, 15975],
      [{ a: 2 }, 15975],
      [{ a: 'up' }, 15974],
      [{ a: true }, 15974],
      [{ '': 1 }, 40352],
      [{ 'a.': 1 }, 40353],
      [{ 'a..b': 1 }, 15998],
      [{ $a: 1 }, 16410],
    ])('by %j with code %i', async (sort, code) => {
      const { collectionName } = await filled(db, [{ a: 1 }])
      await refused(code, db().command({ find: collectionName, sort }))
    })

    it('that is not a document', async () => {
      const { collectionName } = await filled(db, [{ a: 1 }])
      await refused(14, db().command({ find: collectionName, sort: 'a' }))
    })

    it('by two arrays of one document', async () => {
      const collection = await filled(db, [{ a: [1, 2], b: [1, 2] }])
      await refused(2, collection.find().sort({ a: 1, b: 1 }).toArray())
      expect(await collection.find().sort({ a: 1, c: 1 }).toArray()).toHaveLength(1)
    })
  })
}
