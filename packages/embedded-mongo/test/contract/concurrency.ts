import type { Collection } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, fresh, idsOf } from './collection.ts'

const DUPLICATE_KEY = 11000

export function concurrencyContract(db: Database): void {
  inserting(db)
  upserting(db)
  counting(db)
}

type Failure = {
  readonly code?: number
  readonly keyPattern?: unknown
  readonly keyValue?: unknown
}

/** Runs an operation several times concurrently; returns the results and the error codes. */
async function concurrently<T>(
  times: number,
  work: (n: number) => Promise<T>,
): Promise<{ done: T[]; refused: Failure[] }> {
  const ends = await Promise.allSettled(Array.from({ length: times }, (_, n) => work(n)))
  const done: T[] = []
  const refused: Failure[] = []
  for (const end of ends) {
    if (end.status === 'fulfilled') done.push(end.value)
    else refused.push(end.reason as Failure)
  }
  return { done, refused }
}

/** Retries after a duplicate key: a real server may refuse one of two concurrent first inserts. */
async function retryDuplicate(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if ((error as Failure).code !== DUPLICATE_KEY) throw error
    }
  }
}

function inserting(db: Database): void {
  const KEYS: readonly [name: string, pattern: Record<string, 1 | -1>, doc: Any, value: Any][] = [
    ['a field', { k: 1 }, { k: 'x' }, { k: 'x' }],
    ['a compound key', { k: 1, 'o.n': -1 }, { k: 'x', o: { n: 5 } }, { k: 'x', 'o.n': 5 }],
    ['a missing field', { k: 1 }, {}, { k: null }],
    ['null', { k: 1 }, { k: null }, { k: null }],
    ['an element of an array', { k: 1 }, { k: ['a'] }, { k: 'a' }],
    ['a document', { k: 1 }, { k: { a: 1, b: 'x' } }, { k: { a: 1, b: 'x' } }],
    ['a key missing in part', { a: 1, k: 1 }, { k: 7 }, { a: null, k: 7 }],
  ]

  describe('concurrent inserts with one unique key', () => {
    it.each(KEYS)('have one winner: %s', async (_name, pattern, doc, keyValue) => {
      const collection = fresh(db)
      await collection.createIndex(pattern, { unique: true })
      const insert = (n: number) => collection.insertOne({ ...doc, writer: n })
      const { done, refused } = await concurrently(24, insert)
      expect(done).toHaveLength(1)
      for (const failure of refused) {
        expect(failure).toMatchObject({ code: DUPLICATE_KEY, keyPattern: pattern, keyValue })
      }
      expect(await collection.countDocuments()).toBe(1)
    })

    it('have one winner: _id', async () => {
      const collection = fresh(db)
      const { done, refused } = await concurrently(24, (n) => collection.insertOne({ _id: 'x', n }))
      expect(done).toHaveLength(1)
      const expected = { code: DUPLICATE_KEY, keyPattern: { _id: 1 }, keyValue: { _id: 'x' } }
      for (const failure of refused) expect(failure).toMatchObject(expected)
    })

    it('of many keys insert each key once, regardless of the order of the writers', async () => {
      const collection = fresh(db)
      await collection.createIndex({ k: 1 }, { unique: true })
      const keys = Array.from({ length: 40 }, (_, k) => k)
      const { done } = await concurrently(8, async (writer) => {
        const docs = keys.map((k) => ({ k: (k + writer * 5) % 40, writer }))
        const result = await collection
          .insertMany(docs, { ordered: false })
          .catch((error: unknown) => error as { insertedCount: number })
        return result.insertedCount
      })
      expect(done.reduce((sum, count) => sum + count, 0)).toBe(40)
      const found = await collection.find().sort({ k: 1 }).toArray()
      expect(found.map((doc) => doc['k'])).toEqual(keys)
    })

    it('are checked while an index is created: it is enforced, or refused', async () => {
      const collection = fresh(db)
      await collection.insertOne({ k: -1 })
      const making = collection.createIndex({ k: 1 }, { unique: true }).catch((error) => error)
      await concurrently(30, (n) => collection.insertOne({ k: n % 10 }))
      const made: unknown = await making
      const keys = (await collection.find().toArray()).map((doc) => doc['k'])
      if (made === 'k_1') expect(new Set(keys).size).toBe(keys.length)
      else expect(made).toMatchObject({ code: DUPLICATE_KEY })
    })
  })
}

function upserting(db: Database): void {
  describe('concurrent upserts of one key', () => {
    it.each([
      ['_id', undefined, '_id'],
      ['a unique field', { k: 1 } as const, 'k'],
    ])('produce one document with all updates: %s', async (_name, index, field) => {
      const collection = fresh(db)
      if (index) await collection.createIndex(index, { unique: true })
      await concurrently(40, (n) => {
        const update = { $inc: { count: 1 }, $addToSet: { seen: n } } as never
        return retryDuplicate(() => collection.updateOne({ [field]: 7 }, update, { upsert: true }))
      })
      const [doc, ...others] = await collection.find().toArray()
      expect(others).toEqual([])
      expect(doc).toMatchObject({ [field]: 7, count: 40 })
      expect(new Set(doc?.['seen'] as number[]).size).toBe(40)
    })

    it('report exactly one insert', async () => {
      const collection = fresh(db)
      const { done } = await concurrently(20, async () => {
        let upserted = 0
        await retryDuplicate(async () => {
          const update = { $set: { v: 1 } }
          const result = await collection.updateOne({ _id: 'x' }, update, { upsert: true })
          upserted = result.upsertedCount
        })
        return upserted
      })
      expect(done.reduce((sum, count) => sum + count, 0)).toBe(1)
    })

    it('by replacement leave one complete document', async () => {
      const collection = fresh(db)
      await concurrently(20, (n) =>
        retryDuplicate(() =>
          collection.replaceOne({ _id: 'x' }, { a: n, b: n, c: n }, { upsert: true }),
        ),
      )
      const [doc, ...others] = await collection.find().toArray()
      expect(others).toEqual([])
      expect(doc?.['b']).toBe(doc?.['a'])
      expect(doc?.['c']).toBe(doc?.['a'])
    })
  })
}

function counting(db: Database): void {
  const claim = (collection: Collection<Any>, owner: number) =>
    collection.findOneAndUpdate(
      { owner: null },
      { $set: { owner } },
      { sort: { _id: 1 }, returnDocument: 'after' },
    )

  describe('concurrent updates', () => {
    it('are all applied, by $inc of updateOne and of findOneAndUpdate', async () => {
      const collection = fresh(db)
      await collection.insertOne({ _id: 1, n: 0 })
      await concurrently(60, async (i): Promise<void> => {
        if (i % 2) await collection.updateOne({ _id: 1 }, { $inc: { n: 1 } })
        else await collection.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } })
      })
      expect(await collection.findOne()).toEqual({ _id: 1, n: 60 })
    })

    it('that require the previous value have one winner (compare and set)', async () => {
      const collection = fresh(db)
      await collection.insertOne({ _id: 1, revision: 0 })
      const { done } = await concurrently(20, (by) =>
        collection.updateOne({ _id: 1, revision: 0 }, { $set: { by }, $inc: { revision: 1 } }),
      )
      const winners = done.filter(({ modifiedCount }) => modifiedCount === 1)
      expect(winners).toHaveLength(1)
      expect(await collection.findOne()).toMatchObject({ revision: 1 })
    })

    it('that claim documents claim each one once', async () => {
      const collection = fresh(db)
      await collection.insertMany(Array.from({ length: 15 }, (_, n) => ({ _id: n })))
      const { done } = await concurrently(25, (owner) => claim(collection, owner))
      const claimed = done.flatMap((doc) => (doc ? [doc._id as number] : []))
      expect(claimed.sort((a, b) => a - b)).toEqual(await idsOf(collection, {}))
      expect(done.filter((doc) => doc === null)).toHaveLength(10)
    })

    it('that delete a document delete it once', async () => {
      const collection = fresh(db)
      await collection.insertOne({ _id: 1 })
      const { done } = await concurrently(20, () => collection.deleteOne({ _id: 1 }))
      expect(done.filter(({ deletedCount }) => deletedCount === 1)).toHaveLength(1)
    })

    it('that set the same unique key have one winner, the others are refused', async () => {
      const collection = fresh(db)
      await collection.createIndex({ k: 1 }, { unique: true })
      await collection.insertMany(Array.from({ length: 10 }, (_, n) => ({ _id: n, k: n })))
      const { done, refused } = await concurrently(10, (n) =>
        collection.updateOne({ _id: n }, { $set: { k: 'same' } }),
      )
      expect(done).toHaveLength(1)
      for (const failure of refused) {
        expect(failure).toMatchObject({ code: DUPLICATE_KEY, keyValue: { k: 'same' } })
      }
      expect(await collection.countDocuments({ k: 'same' })).toBe(1)
      expect(await collection.countDocuments({ k: { $type: 'number' } })).toBe(9)
    })
  })
}
