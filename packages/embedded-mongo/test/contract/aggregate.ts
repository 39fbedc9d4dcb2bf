import { type Document, Double, Int32, Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, refused } from './collection.ts'

const DOCS: readonly Any[] = [
  { _id: 1, k: 'a', n: 5, tags: ['x', 'y'], o: { p: 1 } },
  { _id: 2, k: 'b', n: 2.5, tags: [], o: { p: 2 } },
  { _id: 3, k: 'a', n: 7, o: { p: 2 } },
  { _id: 4, n: null, tags: 'z' },
  { _id: 5, k: null, n: 'text' },
]

const PIPELINES: readonly [pipeline: Document[], expected: Document[]][] = [
  [
    [{ $match: { k: 'a' } }, { $project: { n: 1 } }],
    [
      { _id: 1, n: 5 },
      { _id: 3, n: 7 },
    ],
  ],
  [
    [{ $group: { _id: '$k', sum: { $sum: '$n' }, count: { $sum: 1 } } }, { $sort: { _id: 1 } }],
    [
      { _id: null, sum: 0, count: 2 },
      { _id: 'a', sum: 12, count: 2 },
      { _id: 'b', sum: 2.5, count: 1 },
    ],
  ],
  [
    [
      { $match: { k: { $ne: null } } },
      { $sort: { _id: -1 } },
      {
        $group: {
          _id: null,
          avg: { $avg: '$n' },
          min: { $min: '$n' },
          max: { $max: '$n' },
          first: { $first: '$_id' },
          last: { $last: '$_id' },
          all: { $push: '$n' },
          set: { $addToSet: '$k' },
          count: { $count: {} },
        },
      },
    ],
    [
      {
        _id: null,
        avg: 14.5 / 3,
        min: 2.5,
        max: 7,
        first: 3,
        last: 1,
        all: [7, 2.5, 5],
        set: expect.arrayContaining(['a', 'b']),
        count: 3,
      },
    ],
  ],
  // One field of the key is not mistaken for a part of another one.
  [
    [
      { $match: { _id: { $lte: 3 } } },
      { $project: { a: { $cond: [{ $eq: ['$_id', 1] }, 'x1:y', 'x'] }, n: 1, tags: 1 } },
      { $addFields: { b: { $cond: [{ $eq: ['$_id', 1] }, '', '1:y'] } } },
      { $group: { _id: { a: '$a', b: '$b' }, n: { $sum: 1 } } },
      { $sort: { n: 1 } },
    ],
    [
      { _id: { a: 'x1:y', b: '' }, n: 1 },
      { _id: { a: 'x', b: '1:y' }, n: 2 },
    ],
  ],
  [
    [{ $group: { _id: { k: '$k', p: '$o.p' }, n: { $sum: 1 } } }, { $sort: { _id: 1 } }],
    [
      { _id: {}, n: 1 },
      { _id: { k: null }, n: 1 },
      { _id: { k: 'a', p: 1 }, n: 1 },
      { _id: { k: 'a', p: 2 }, n: 1 },
      { _id: { k: 'b', p: 2 }, n: 1 },
    ],
  ],
  [
    [{ $sort: { _id: -1 } }, { $skip: 1 }, { $limit: 2 }, { $project: { _id: 1 } }],
    [{ _id: 4 }, { _id: 3 }],
  ],
  [[{ $match: { n: { $gt: 3 } } }, { $count: 'total' }], [{ total: 2 }]],
  [[{ $count: 'total' }], [{ total: 5 }]],
  [[{ $match: { n: 99 } }, { $count: 'total' }], []],
  [
    [{ $unwind: '$tags' }, { $project: { tags: 1 } }],
    [
      { _id: 1, tags: 'x' },
      { _id: 1, tags: 'y' },
      { _id: 4, tags: 'z' },
    ],
  ],
  [
    [
      { $match: { _id: { $lte: 2 } } },
      { $unwind: { path: '$tags', includeArrayIndex: 'i', preserveNullAndEmptyArrays: true } },
      { $project: { tags: 1, i: 1 } },
    ],
    [
      { _id: 1, tags: 'x', i: 0 },
      { _id: 1, tags: 'y', i: 1 },
      { _id: 2, i: null },
    ],
  ],
  [
    [
      { $match: { _id: 1 } },
      { $addFields: { twice: { $multiply: ['$n', 2] }, 'o.q': '$k', k: '$$REMOVE' } },
    ],
    [{ _id: 1, n: 5, tags: ['x', 'y'], o: { p: 1, q: 'a' }, twice: 10 }],
  ],
  [
    [
      { $match: { _id: { $in: [1, 4] } } },
      {
        $project: {
          n: { $ifNull: ['$n', 0] },
          big: { $cond: [{ $gt: ['$n', 3] }, 'yes', 'no'] },
          text: { $concat: ['<', '$k', '>'] },
          half: { $divide: ['$n', 2] },
          less: { $subtract: ['$n', '$o.p'] },
          tag: { $arrayElemAt: [['p', 'q'], 1] },
          fix: { $literal: '$n' },
        },
      },
    ],
    [
      { _id: 1, n: 5, big: 'yes', text: '<a>', half: 2.5, less: 4, tag: 'q', fix: '$n' },
      { _id: 4, n: 0, big: 'no', text: null, half: null, less: null, tag: 'q', fix: '$n' },
    ],
  ],
  [[{ $match: { _id: 2 } }, { $unset: ['o', 'tags'] }], [{ _id: 2, k: 'b', n: 2.5 }]],
  [
    [{ $project: { _id: 0, o: 1 } }, { $match: { 'o.p': 2 } }, { $sort: { 'o.p': 1 } }],
    [{ o: { p: 2 } }, { o: { p: 2 } }],
  ],
]

const REFUSED: readonly [pipeline: Document[], code: number][] = [
  [[{ $nothing: {} }], 40324],
  [[{ $match: { $nothing: 1 } }], 2],
  [[{ $project: { a: { $nothing: 1 } } }], 31325],
  [[{ $addFields: { a: { $nothing: 1 } } }], 168],
  [[{ $group: { n: { $sum: 1 } } }], 15955],
  [[{ $group: { _id: 1, n: { $nothing: 1 } } }], 15952],
  [[{ $limit: 0 }], 15958],
  [[{ $match: {}, $limit: 1 }], 40323],
  [[{ $project: {} }], 51272],
]

export function aggregateContract(db: Database): void {
  describe('aggregation', () => {
    it.each(PIPELINES)('%j', async (pipeline, expected) => {
      const collection = await filled(db, DOCS)
      expect(await collection.aggregate(pipeline).toArray()).toEqual(expected)
    })

    it.each(REFUSED)('%j is refused with code %i', async (pipeline, code) => {
      const collection = await filled(db, DOCS)
      await refused(code, collection.aggregate(pipeline).toArray())
    })

    it('of a missing collection returns nothing', async () => {
      expect(
        await fresh(db)
          .aggregate([{ $match: {} }])
          .toArray(),
      ).toEqual([])
    })

    it('sums exactly, in the wider type', async () => {
      const collection = await filled(db, [
        { k: 1, v: new Int32(2 ** 31 - 1) },
        { k: 1, v: new Int32(1) },
        { k: 2, v: Long.fromString('9007199254740993') },
        { k: 2, v: new Int32(2) },
        { k: 3, v: new Int32(1) },
        { k: 3, v: new Double(0.5) },
        { k: 4, v: new Int32(4) },
      ])
      const group = { $group: { _id: '$k', v: { $sum: '$v' } } }
      const found = await collection
        .aggregate([group, { $sort: { _id: 1 } }], { promoteValues: false })
        .toArray()
      expect(found.map(({ v }) => v)).toEqual([
        Long.fromNumber(2 ** 31),
        Long.fromString('9007199254740995'),
        new Double(1.5),
        new Int32(4),
      ])
    })
  })
}
