import { Long, MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, refused } from './collection.ts'

const UNAUTHORIZED = 13
const CURSOR_NOT_FOUND = 43
const QUERY_PLAN_KILLED = 175
const NEGATIVE = 51024

const numbers = (count: number): Any[] => Array.from({ length: count }, (_, n) => ({ _id: n, n }))

/** Opens a cursor with commands of the wire protocol, without the cursor of the driver. */
async function open(db: Database, find: Record<string, unknown>): Promise<Opened> {
  const { cursor } = await db().command({ find: '', batchSize: 2, ...find })
  return { id: Long.fromValue(cursor.id), ids: idsIn(cursor.firstBatch) }
}

type Opened = { readonly id: Long; readonly ids: unknown[] }

async function more(db: Database, collection: string, id: Long, batchSize = 2): Promise<Opened> {
  const { cursor } = await db().command({ getMore: id, collection, batchSize })
  return { id: Long.fromValue(cursor.id), ids: idsIn(cursor.nextBatch) }
}

const idsIn = (docs: Any[]): unknown[] => docs.map((doc) => doc._id)

export function cursorLifetimeContract(db: Database): void {
  living(db)
  livingByChoice(db)
  ending(db)
}

function living(db: Database): void {
  describe('a cursor lives', () => {
    it('until it is exhausted, and then has the id 0', async () => {
      const { collectionName } = await filled(db, numbers(5))
      const first = await open(db, { find: collectionName })
      expect(first.ids).toEqual([0, 1])
      const second = await more(db, collectionName, first.id)
      expect([second.ids, second.id]).toEqual([[2, 3], first.id])
      const third = await more(db, collectionName, first.id)
      expect([third.ids, third.id.isZero()]).toEqual([[4], true])
      await refused(CURSOR_NOT_FOUND, more(db, collectionName, first.id))
    })

    it('until its limit, which ends it within a batch', async () => {
      const { collectionName } = await filled(db, numbers(10))
      const first = await open(db, { find: collectionName, limit: 3 })
      const second = await more(db, collectionName, first.id, 100)
      expect([second.ids, second.id.isZero()]).toEqual([[2], true])
      const whole = await open(db, { find: collectionName, limit: 2 })
      expect([whole.ids, whole.id.isZero()]).toEqual([[0, 1], true])
    })

    it('longer than the connection that opened it', async () => {
      const { collectionName } = await filled(db, numbers(6))
      const { s } = db().client as unknown as { s: { url: string } }
      const other = await new MongoClient(s.url).connect()
      const opened = await open(() => other.db(db().databaseName), { find: collectionName })
      await other.close()
      expect((await more(db, collectionName, opened.id)).ids).toEqual([2, 3])
    })

    it('during concurrent writes, and returns the documents that still exist', async () => {
      const collection = await filled(db, numbers(9))
      const { id, ids } = await open(db, { find: collection.collectionName })
      await collection.deleteMany({ _id: { $in: [3, 4] } } as never)
      await collection.updateMany({}, { $set: { seen: true } })
      const rest = await more(db, collection.collectionName, id, 100)
      expect([...ids, ...rest.ids].filter((found) => found !== 3 && found !== 4)).toEqual([
        0, 1, 2, 5, 6, 7, 8,
      ])
    })

    it('during writes that move documents in the index that it scans, and ends', async () => {
      const collection = await filled(db, numbers(40))
      await collection.createIndex({ n: 1 })
      const seen: unknown[] = []
      for await (const { _id } of collection.find({ n: { $gte: 0 } }).batchSize(5)) {
        seen.push(_id)
        if (seen.length <= 40) await collection.updateOne({ _id }, { $inc: { n: -100 } })
      }
      expect(new Set(seen).size).toBe(40)
    })
  })
}

function livingByChoice(db: Database): void {
  describe('a cursor lives', () => {
    it('with an initial batch size of zero, and any size afterwards', async () => {
      const { collectionName } = await filled(db, numbers(5))
      const { id, ids } = await open(db, { find: collectionName, batchSize: 0 })
      expect(ids).toEqual([])
      expect((await more(db, collectionName, id, 3)).ids).toEqual([0, 1, 2])
      expect((await more(db, collectionName, id, 0)).ids).toEqual([3, 4])
    })

    it('for a pipeline too', async () => {
      const { collectionName } = await filled(db, numbers(5))
      const pipeline = [{ $match: { n: { $gt: 0 } } }]
      const command = { aggregate: collectionName, pipeline, cursor: { batchSize: 1 } }
      const { cursor } = await db().command(command)
      expect(idsIn(cursor.firstBatch)).toEqual([1])
      const next = await more(db, collectionName, Long.fromValue(cursor.id), 10)
      expect([next.ids, next.id.isZero()]).toEqual([[2, 3, 4], true])
    })

    it('without a time-out on request', async () => {
      const { collectionName } = await filled(db, numbers(5))
      const { id } = await open(db, { find: collectionName, noCursorTimeout: true })
      expect((await more(db, collectionName, id, 10)).ids).toEqual([2, 3, 4])
    })
  })
}

function ending(db: Database): void {
  describe('a cursor is refused', () => {
    it('that was never opened', async () => {
      const { collectionName } = await filled(db, numbers(1))
      await refused(CURSOR_NOT_FOUND, more(db, collectionName, Long.fromNumber(4711)))
    })

    it('that was killed, without effect on others', async () => {
      const { collectionName } = await filled(db, numbers(9))
      const killed = await open(db, { find: collectionName })
      const other = await open(db, { find: collectionName })
      await db().command({ killCursors: collectionName, cursors: [killed.id] })
      await refused(CURSOR_NOT_FOUND, more(db, collectionName, killed.id))
      expect((await more(db, collectionName, other.id)).ids).toEqual([2, 3])
    })

    it('that the driver has closed', async () => {
      const collection = await filled(db, numbers(9))
      const cursor = collection.find().batchSize(2)
      await cursor.next()
      const id = cursor.id as Long
      await cursor.close()
      await refused(CURSOR_NOT_FOUND, more(db, collection.collectionName, id))
    })

    it('that belongs to another collection, which does not affect the cursor', async () => {
      const { collectionName } = await filled(db, numbers(5))
      const { id } = await open(db, { find: collectionName })
      await refused(UNAUTHORIZED, more(db, 'another', id))
      expect((await more(db, collectionName, id)).ids).toEqual([2, 3])
    })

    it('whose collection was dropped, even if a collection of that name exists again', async () => {
      const collection = await filled(db, numbers(5))
      const { id } = await open(db, { find: collection.collectionName })
      await collection.drop()
      await collection.insertMany(numbers(5))
      await refused(QUERY_PLAN_KILLED, more(db, collection.collectionName, id))
    })

    it('with a negative batch size', async () => {
      const { collectionName } = await filled(db, numbers(5))
      await refused(NEGATIVE, db().command({ find: collectionName, batchSize: -1 }))
      const { id } = await open(db, { find: collectionName })
      await refused(NEGATIVE, more(db, collectionName, id, -1))
      const pipeline = { aggregate: collectionName, pipeline: [], cursor: { batchSize: -1 } }
      await refused(NEGATIVE, db().command(pipeline))
    })
  })
}
