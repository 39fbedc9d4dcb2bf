import type { Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, refused } from './collection.ts'

const DOC: Any = {
  _id: 1,
  a: 1,
  n: null,
  o: { p: 1, q: { r: 2, s: 3 } },
  l: [{ p: 1, q: 2 }, 5, [{ p: 3 }], { q: 4 }],
  e: [],
}

const PROJECTIONS: readonly [projection: Document, expected: Document][] = [
  [{}, DOC],
  [{ a: true }, { _id: 1, a: 1 }],
  [
    { a: 1, missing: 1 },
    { _id: 1, a: 1 },
  ],
  [{ n: 1, _id: 0 }, { n: null }],
  [
    { a: 1, _id: 1 },
    { _id: 1, a: 1 },
  ],
  [{ a: 0.5, _id: false }, { a: 1 }],
  [{ 'o.q.r': 1 }, { _id: 1, o: { q: { r: 2 } } }],
  [
    { 'o.q.r': 1, 'o.p': 1 },
    { _id: 1, o: { p: 1, q: { r: 2 } } },
  ],
  [{ o: { q: { s: 1 } } }, { _id: 1, o: { q: { s: 3 } } }],
  [{ 'o.none': 1 }, { _id: 1, o: {} }],
  [{ 'a.none': 1 }, { _id: 1 }],
  // Scalars in an array are omitted; nested arrays are traversed.
  [{ 'l.p': 1 }, { _id: 1, l: [{ p: 1 }, [{ p: 3 }], {}] }],
  [{ 'e.p': 1 }, { _id: 1, e: [] }],
  [
    { o: 0, l: 0, e: 0 },
    { _id: 1, a: 1, n: null },
  ],
  [
    { o: 0, l: 0, e: 0, _id: 0 },
    { a: 1, n: null },
  ],
  [
    { o: 0, l: 0, e: 0, _id: 1 },
    { _id: 1, a: 1, n: null },
  ],
  [
    { 'o.q.r': 0, l: 0, e: 0 },
    { _id: 1, a: 1, n: null, o: { p: 1, q: { s: 3 } } },
  ],
  [
    { 'l.p': 0, o: 0, e: 0 },
    { _id: 1, a: 1, n: null, l: [{ q: 2 }, 5, [{}], { q: 4 }] },
  ],
]

const REFUSED: readonly [projection: Document, code: number][] = [
  [{ a: 1, n: 0 }, 31254],
  [{ a: 0, n: 1 }, 31253],
  [{ 'o.p': 1, 'o.q': 0 }, 31254],
  [{ _id: 0, a: 1, n: 0 }, 31254],
  [{ o: 1, 'o.p': 1 }, 31249],
  [{ 'o.p': 1, o: 1 }, 31250],
  [{ o: {} }, 51270],
  [{ '': 1 }, 40352],
  [{ 'a.': 1 }, 40353],
  [{ 'a..b': 1 }, 15998],
  [{ $a: 1 }, 16410],
  [{ a: { $noSuch: 1 } }, 31325],
]

export function projectionContract(db: Database): void {
  describe('a projection', () => {
    it.each(PROJECTIONS)('%j', async (projection, expected) => {
      const collection = await filled(db, [DOC])
      expect(await collection.findOne({}, { projection })).toEqual(expected)
      const options = { projection, returnDocument: 'after' } as const
      expect(await collection.findOneAndUpdate({}, { $set: { a: 1 } }, options)).toEqual(expected)
    })

    it.each(REFUSED)('%j is refused with code %i', async (projection, code) => {
      const collection = await filled(db, [DOC])
      await refused(code, collection.find({}, { projection }).toArray())
      const piped = collection.aggregate([{ $project: projection }])
      await refused(code, piped.toArray())
    })

    it('keeps the order of the fields of the document', async () => {
      const collection = await filled(db, [{ _id: 1, c: 1, b: 2, a: 3 }])
      const found = await collection.findOne({}, { projection: { a: 1, b: 1, c: 1 } })
      expect(Object.keys(found ?? {})).toEqual(['_id', 'c', 'b', 'a'])
    })

    it('does not affect sorting and filtering by other fields', async () => {
      const collection = await filled(db, [
        { _id: 1, n: 2 },
        { _id: 2, n: 1 },
      ])
      const found = await collection.find({}, { projection: { _id: 1 }, sort: { n: 1 } }).toArray()
      expect(found).toEqual([{ _id: 2 }, { _id: 1 }])
    })

    it('is also refused if there are no documents', async () => {
      const projection = { a: 1, b: 0 }
      await refused(31254, fresh(db).find({}, { projection }).toArray())
    })
  })
}
