import { type Document, Long, ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, idsOf, refused } from './collection.ts'

const DAY = new Date('2026-01-02T00:00:00Z')
const OTHER_DAY = new Date('2026-02-02T00:00:00Z')
const OID = new ObjectId('0123456789abcdef01234567')

const DOCS: readonly Any[] = [
  { _id: 1, a: 1, s: 'apple', d: DAY, o: { x: 1, y: 2 } },
  { _id: 2, a: 2.5, s: 'Banana', d: OTHER_DAY, o: { y: 2, x: 1 } },
  { _id: 3, a: [1, 2, 3], s: 'cherry', tags: ['r', 'g'] },
  {
    _id: 4,
    a: null,
    list: [
      { k: 1, v: 2 },
      { k: 2, v: 9 },
    ],
  },
  { _id: 5, s: '', list: [{ k: 1, v: 9 }, { k: 3 }], tags: [] },
  { _id: 6, a: '1', oid: OID, flag: true, o: { x: { z: 5 } } },
  { _id: 7, a: Long.fromNumber(7), flag: false, list: [], tags: [['r', 'g']] },
  { _id: 8, a: [], o: [{ x: 1 }, { x: 4 }] },
]

/** Filters and the `_id`s of matching documents on a real server. */
const FILTERS: readonly [filter: Document, ids: number[]][] = [
  [{}, [1, 2, 3, 4, 5, 6, 7, 8]],
  [{ a: 1 }, [1, 3]],
  [{ a: { $eq: 1 } }, [1, 3]],
  [{ a: { $ne: 1 } }, [2, 4, 5, 6, 7, 8]],
  [{ a: null }, [4, 5]],
  [{ a: { $ne: null } }, [1, 2, 3, 6, 7, 8]],
  [{ a: { $exists: false } }, [5]],
  [{ a: { $exists: true, $eq: null } }, [4]],
  [{ a: { $gt: 1 } }, [2, 3, 7]],
  [{ a: { $gte: 1, $lt: 2.5 } }, [1, 3]],
  [{ a: { $gt: 2, $lt: 3 } }, [2, 3]],
  [{ a: { $lte: '1' } }, [6]],
  [{ a: { $gte: null } }, [4, 5]],
  [{ a: { $in: [2.5, 3, '1'] } }, [2, 3, 6]],
  [{ a: { $in: [null, 7] } }, [4, 5, 7]],
  [{ a: { $in: [] } }, []],
  [{ a: { $nin: [1, null] } }, [2, 6, 7, 8]],
  [{ a: [1, 2, 3] }, [3]],
  [{ a: [] }, [8]],
  [{ a: { $size: 3 } }, [3]],
  [{ a: { $type: 'string' } }, [6]],
  [{ a: { $type: 'number' } }, [1, 2, 3, 7]],
  [{ a: { $type: ['array', 'null'] } }, [3, 4, 8]],
  [{ a: { $mod: [2, 1] } }, [1, 3, 7]],
  [{ 'a.1': 2 }, [3]],
  [{ a: { $not: { $gt: 1 } } }, [1, 4, 5, 6, 8]],
  [{ a: { $elemMatch: { $gt: 1, $lt: 3 } } }, [3]],
  [{ s: /^a/ }, [1]],
  [{ s: /^b/i }, [2]],
  [{ s: { $regex: 'RR', $options: 'i' } }, [3]],
  [{ s: { $in: [/an/, 'cherry'] } }, [2, 3]],
  [{ s: { $not: /./ } }, [4, 5, 6, 7, 8]],
  [{ s: '' }, [5]],
  [{ d: { $gte: DAY, $lt: OTHER_DAY } }, [1]],
  [{ oid: OID }, [6]],
  [{ oid: { $gt: new ObjectId('000000000000000000000000') } }, [6]],
  [{ flag: false }, [7]],
  [{ o: { x: 1, y: 2 } }, [1]],
  [{ 'o.x': 1 }, [1, 2, 8]],
  [{ 'o.x': { $gt: 3 } }, [8]],
  [{ 'o.x.z': 5 }, [6]],
  [{ 'o.1.x': 4 }, [8]],
  [{ 'list.k': 1, 'list.v': 9 }, [4, 5]],
  [{ list: { $elemMatch: { k: 1, v: 9 } } }, [5]],
  [{ list: { $not: { $elemMatch: { k: 1 } } } }, [1, 2, 3, 6, 7, 8]],
  [{ 'list.v': null }, [1, 2, 3, 5, 6, 8]],
  [{ 'list.v': { $exists: true } }, [4, 5]],
  [{ tags: 'r' }, [3]],
  [{ tags: ['r', 'g'] }, [3, 7]],
  [{ tags: { $all: ['g', 'r'] } }, [3]],
  [{ tags: { $size: 0 } }, [5]],
  [{ $or: [{ a: 2.5 }, { flag: true }] }, [2, 6]],
  [{ $nor: [{ a: { $exists: true } }, { s: 'x' }] }, [5]],
  [{ $and: [{ a: { $gt: 0 } }, { s: { $exists: true } }] }, [1, 2, 3]],
  [{ $expr: { $gt: ['$a', 6] } }, [3, 6, 7, 8]],
  [{ _id: { $in: [3, 1, 99] } }, [1, 3]],
]

/** Values in their sort order; equal values are in one row. */
const SORTED: readonly (readonly Any[])[] = [
  [{ v: [] }],
  [{}, { v: null }],
  [{ v: -5.5 }],
  [{ v: [7, -1] }, { v: -1 }],
  [{ v: Long.fromNumber(3) }, { v: 3 }],
  [{ v: Long.fromString('9007199254740993') }],
  [{ v: '' }],
  [{ v: 'B' }],
  [{ v: 'a' }],
  [{ v: 'aa' }],
  [{ v: '\uffff' }],
  [{ v: '\u{10000}' }],
  [{ v: { a: 1 } }],
  [{ v: { b: 0 } }],
  [{ v: new ObjectId('000000000000000000000001') }],
  [{ v: false }],
  [{ v: true }],
  [{ v: DAY }],
  [{ v: OTHER_DAY }],
]

export function queryContract(db: Database): void {
  filters(db)
  sorting(db)
  projection(db)
}

function filters(db: Database): void {
  describe('filters', () => {
    it.each(FILTERS)('%j', async (filter, ids) => {
      const collection = await filled(db, DOCS)
      expect(await idsOf(collection, filter)).toEqual(ids)
    })
  })
}

function sorting(db: Database): void {
  describe('sorting', () => {
    const docs = SORTED.flatMap((row, rank) => row.map((doc) => ({ ...doc, rank })))
    const shuffled = [...docs].sort((a, b) => ((a.rank * 7) % 19) - ((b.rank * 7) % 19))
    const ranks = docs.map(({ rank }) => rank)

    it.each([false, true])('follows the order of types (with an index: %s)', async (indexed) => {
      const collection = await filled(db, shuffled)
      if (indexed) await collection.createIndex({ v: 1 })
      const found = await collection.find().sort({ v: 1 }).toArray()
      expect(found.map((doc) => doc['rank'])).toEqual(ranks)
    })

    it('descending uses the greatest element of an array', async () => {
      const collection = await filled(db, [
        { _id: 1, v: [1, 9] },
        { _id: 2, v: 5 },
        { _id: 3, v: [] },
        { _id: 4 },
      ])
      const found = await collection.find().sort({ v: -1, _id: 1 }).toArray()
      expect(found.map((doc) => doc._id)).toEqual([1, 2, 4, 3])
    })

    it('uses several fields, with skip and limit', async () => {
      const docs = [3, 1, 2].flatMap((a) => [1, 2].map((b) => ({ _id: `${a}${b}`, a, b })))
      const collection = await filled(db, docs)
      const sorted = () => collection.find().sort({ a: 1, b: -1 })
      const ids = (found: Any[]) => found.map((doc) => doc._id)
      expect(ids(await sorted().toArray())).toEqual(['12', '11', '22', '21', '32', '31'])
      expect(ids(await sorted().skip(1).limit(3).toArray())).toEqual(['11', '22', '21'])
      expect(ids(await sorted().skip(9).toArray())).toEqual([])
      await collection.createIndex({ a: 1, b: -1 })
      expect(ids(await sorted().skip(1).limit(3).toArray())).toEqual(['11', '22', '21'])
    })

    it('refuses invalid directions', async () => {
      const collection = await filled(db, [{ a: 1 }])
      await refused(15975, collection.aggregate([{ $sort: { a: 2 } }]).toArray())
    })
  })
}

function projection(db: Database): void {
  describe('projection', () => {
    const doc = { _id: 1, a: 1, b: { c: 2, d: 3 }, l: [{ c: 4, d: 5 }, 6, { d: 7 }] }

    it.each([
      [{ a: 1 }, { _id: 1, a: 1 }],
      [{ a: 1, _id: 0 }, { a: 1 }],
      [{ _id: 0 }, { a: 1, b: { c: 2, d: 3 }, l: [{ c: 4, d: 5 }, 6, { d: 7 }] }],
      [{ _id: 1 }, { _id: 1 }],
      [{ 'b.c': 1 }, { _id: 1, b: { c: 2 } }],
      [{ b: { c: 1 } }, { _id: 1, b: { c: 2 } }],
      [{ 'a.c': 1 }, { _id: 1 }],
      [{ 'l.c': 1 }, { _id: 1, l: [{ c: 4 }, {}] }],
      [
        { 'l.c': 0, b: 0 },
        { _id: 1, a: 1, l: [{ d: 5 }, 6, { d: 7 }] },
      ],
      [
        { x: '$b.c', a: 1 },
        { _id: 1, a: 1, x: 2 },
      ],
    ])('%j', async (projection, expected) => {
      const collection = await filled(db, [doc])
      expect(await collection.findOne({}, { projection })).toEqual(expected)
    })

    it('is either an inclusion or an exclusion', async () => {
      const collection = await filled(db, [doc])
      await refused(31254, collection.find({}, { projection: { a: 1, b: 0 } }).toArray())
      await refused(31253, collection.find({}, { projection: { a: 0, b: 1 } }).toArray())
      await refused(31249, collection.find({}, { projection: { b: 1, 'b.c': 1 } }).toArray())
    })
  })
}
