import {
  Binary,
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Database, filled, fresh, idsOf, refused } from './collection.ts'

const VALUES = {
  int: new Int32(-7),
  zero: new Double(-0),
  whole: new Double(5),
  double: new Double(0.1),
  infinite: new Double(Number.POSITIVE_INFINITY),
  long: Long.fromString('9223372036854775807'),
  decimal: Decimal128.fromString('12345678901234567890.123456789'),
  date: new Date('1969-12-31T23:59:59.999Z'),
  oid: new ObjectId('ffffffffffffffffffffffff'),
  binary: new Binary(Buffer.from([0, 255, 1]), 0),
  uuid: new Binary(Buffer.alloc(16, 3), 4),
  timestamp: new Timestamp({ t: 5, i: 7 }),
  pattern: new BSONRegExp('a.b', 'i'),
  code: new Code('return 1'),
  yes: true,
  no: false,
  nothing: null,
  text: 'täxt \u{1f600} \0 zero',
  empty: {},
  list: [[], [new Int32(1), [new Double(2)], { x: null }]],
  least: new MinKey(),
  most: new MaxKey(),
}

/** Ascending numbers, including neighbours that are equal as doubles. */
const ASCENDING = [
  new Double(Number.NaN),
  new Double(Number.NEGATIVE_INFINITY),
  Decimal128.fromString('-1E+400'),
  Long.fromString('-9223372036854775808'),
  Long.fromString('-9007199254740993'),
  Long.fromString('-9007199254740992'),
  new Double(-1.5),
  Decimal128.fromString('-1E-400'),
  new Int32(0),
  Decimal128.fromString('1E-400'),
  new Double(5e-324),
  Decimal128.fromString('0.1'),
  new Double(0.1),
  Decimal128.fromString('0.11'),
  new Int32(1),
  Long.fromString('9007199254740992'),
  Long.fromString('9007199254740993'),
  Decimal128.fromString('9007199254740993.5'),
  Long.fromString('9223372036854775807'),
  new Double(2 ** 63),
  Decimal128.fromString('1E+400'),
  new Double(Number.POSITIVE_INFINITY),
]

export function typeContract(db: Database): void {
  keeping(db)
  exactness(db)
}

function keeping(db: Database): void {
  describe('types', () => {
    it('are returned unchanged', async () => {
      const collection = fresh(db)
      await collection.insertOne({ _id: 1, ...VALUES })
      const read = () => collection.findOne({ _id: 1 }, { promoteValues: false, bsonRegExp: true })
      expect(await read()).toEqual({ _id: new Int32(1), ...VALUES })
      // The update rewrites the document, including the fields that it does not touch.
      await collection.updateOne({ _id: 1 }, { $set: { touched: new Double(1) } })
      const updated = { _id: new Int32(1), ...VALUES, touched: new Double(1) }
      expect(await read()).toEqual(updated)
      const aggregated = await collection
        .aggregate([{ $addFields: { added: '$long' } }], { promoteValues: false, bsonRegExp: true })
        .toArray()
      expect(aggregated).toEqual([{ ...updated, added: VALUES.long }])
    })

    it.each(Object.keys(VALUES).filter((name) => name !== 'pattern' && name !== 'list'))(
      'are found by equality, with and without an index: %s',
      async (name) => {
        const value = VALUES[name as keyof typeof VALUES]
        const collection = await filled(db, [
          { _id: 1, v: value },
          { _id: 2, v: 'other' },
        ])
        expect(await idsOf(collection, { v: { $eq: value } })).toEqual([1])
        await collection.createIndex({ v: 1 })
        expect(await idsOf(collection, { v: { $eq: value } })).toEqual([1])
        expect(await idsOf(collection, { v: { $in: [value] } })).toEqual([1])
      },
    )
  })
}

function exactness(db: Database): void {
  describe('types in detail', () => {
    it.each([false, true])('order numbers exactly (with an index: %s)', async (indexed) => {
      const docs = ASCENDING.map((v, _id) => ({ _id, v }))
      const collection = await filled(db, [...docs].reverse())
      if (indexed) await collection.createIndex({ v: 1 })
      const found = await collection.find().sort({ v: 1 }).toArray()
      expect(found.map(({ _id }) => _id)).toEqual(docs.map(({ _id }) => _id))
      for (const { _id, v } of docs.slice(1)) {
        const greater = docs.slice(_id + 1).map((doc) => doc._id)
        expect(await idsOf(collection, { v: { $gt: v } })).toEqual(greater)
        expect(await idsOf(collection, { v: { $gte: v } })).toEqual([_id, ...greater])
      }
    })

    it('decimals are added without binary rounding', async () => {
      const decimal = Decimal128.fromString
      const collection = await filled(db, [{ _id: 1, v: decimal('0.1') }])
      await collection.updateOne({ _id: 1 }, { $inc: { v: decimal('0.2') } })
      expect((await collection.findOne())?.['v'].toString()).toBe('0.3')
      const sum = [{ $group: { _id: null, v: { $sum: '$v' } } }]
      await collection.insertOne({ v: decimal('1E+3') })
      expect((await collection.aggregate(sum).next())?.['v'].toString()).toBe('1000.3')
    })

    it('documents of up to 16 MiB are accepted', async () => {
      const collection = fresh(db)
      const room = 16 * 1024 * 1024 - 28
      const blob = new Binary(Buffer.alloc(room, 7))
      await collection.insertOne({ _id: 1, blob })
      const stored = await collection.findOne({ _id: 1 })
      expect(stored?.['blob']).toMatchObject({ position: room })
      await refused(17419, collection.updateOne({ _id: 1 }, { $set: { more: 'x'.repeat(99) } }))
      expect(await collection.countDocuments({ more: { $exists: true } })).toBe(0)
    })

    it('names with a meaning in JavaScript are plain names', async () => {
      const collection = fresh(db)
      const doc = JSON.parse('{"_id":1,"constructor":1,"__proto__":{"x":1},"toString":"t"}')
      await collection.insertOne(doc)
      await collection.updateOne({ _id: 1 }, { $set: { hasOwnProperty: 2 } })
      const found = await collection.findOne({ constructor: 1, toString: 't' })
      expect(Object.keys(found ?? {})).toContain('__proto__')
      expect(await collection.countDocuments({ valueOf: { $exists: true } })).toBe(0)
    })
  })
}
