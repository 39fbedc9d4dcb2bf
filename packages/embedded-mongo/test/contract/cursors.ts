import { Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Database, filled, refused } from './collection.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ _id: n, n }))

export function cursorContract(db: Database): void {
  reading(db)
  ending(db)
}

function reading(db: Database): void {
  describe('cursors', () => {
    it('return all documents over several batches', async () => {
      const collection = await filled(db, numbers(1000))
      const found = await collection.find().batchSize(7).toArray()
      expect(found.map((doc) => doc._id)).toEqual(numbers(1000).map(({ _id }) => _id))
      const sorted = await collection.find().sort({ n: -1 }).batchSize(99).toArray()
      expect(sorted.map((doc) => doc['n'])).toEqual(numbers(1000).map(({ n }) => 999 - n))
      expect(await collection.find().toArray()).toHaveLength(1000)
    })

    it('stop at the limit, wherever batches end', async () => {
      const collection = await filled(db, numbers(30))
      for (const [limit, batchSize] of [
        [10, 3],
        [10, 10],
        [10, 11],
        [1, 1],
        [9, 3],
      ] as const) {
        const found = await collection.find().limit(limit).batchSize(batchSize).toArray()
        expect(found).toHaveLength(limit)
      }
      expect(await collection.find().skip(25).batchSize(2).toArray()).toHaveLength(5)
    })

    it('continue while the collection changes', async () => {
      const collection = await filled(db, numbers(300))
      const cursor = collection.find().batchSize(10)
      const seen = new Set<unknown>()
      for await (const { _id } of cursor) {
        seen.add(_id)
        if (seen.size === 10) await collection.deleteMany({ n: { $gte: 100, $lt: 200 } })
        if (seen.size === 20) await collection.insertOne({ _id: 'late', n: 999 })
      }
      for (const { _id } of numbers(100)) expect(seen.has(_id)).toBe(true)
      expect(seen.size).toBeGreaterThanOrEqual(200)
    })

    it('can be open at the same time without affecting each other', async () => {
      const collection = await filled(db, numbers(200))
      const all = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          collection
            .find()
            .batchSize(i + 2)
            .toArray(),
        ),
      )
      for (const found of all) expect(found).toHaveLength(200)
    })
  })
}

function ending(db: Database): void {
  describe('cursors at their end', () => {
    it('do not exist on the server once they are closed', async () => {
      const collection = await filled(db, numbers(10))
      const opened = await db().command({ find: collection.collectionName, batchSize: 2 })
      const id = opened['cursor'].id as Long
      const getMore = { getMore: Long.fromValue(id), collection: collection.collectionName }
      const more = await db().command({ ...getMore, batchSize: 3 })
      expect(more['cursor'].nextBatch).toHaveLength(3)
      const kill = { killCursors: collection.collectionName, cursors: [Long.fromValue(id)] }
      expect(await db().command(kill)).toMatchObject({ cursorsKilled: [id], cursorsNotFound: [] })
      expect(await db().command(kill)).toMatchObject({ cursorsKilled: [], cursorsNotFound: [id] })
      await refused(43, db().command(getMore))
    })

    it('are closed immediately if there is only one batch', async () => {
      const collection = await filled(db, numbers(10))
      const find = { find: collection.collectionName, batchSize: 2, singleBatch: true }
      const { cursor } = await db().command(find)
      expect(cursor.firstBatch).toHaveLength(2)
      expect(Long.fromValue(cursor.id).isZero()).toBe(true)
    })

    it('start with an empty batch on request', async () => {
      const collection = await filled(db, numbers(3))
      const { cursor } = await db().command({ find: collection.collectionName, batchSize: 0 })
      expect(cursor.firstBatch).toEqual([])
      expect(Long.fromValue(cursor.id).isZero()).toBe(false)
    })

    it('of aggregations have batches too', async () => {
      const collection = await filled(db, numbers(50))
      const pipeline = [{ $match: { n: { $gte: 10 } } }, { $project: { n: 1 } }]
      const found = await collection.aggregate(pipeline, { batchSize: 7 }).toArray()
      expect(found).toHaveLength(40)
    })

    it('limit batches of large documents to the size of a message', async () => {
      const text = 'x'.repeat(3 * 1024 * 1024)
      const docs = Array.from({ length: 12 }, (_, n) => ({ _id: n, text }))
      const collection = await filled(db, docs)
      const lengths: number[] = []
      for await (const doc of collection.find()) lengths.push((doc['text'] as string).length)
      expect(lengths).toEqual(docs.map(() => text.length))
    })
  })
}
