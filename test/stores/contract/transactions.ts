import { type ClientSession, Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, idsOf } from './collection.ts'

const DUPLICATE_KEY = 11000
const NO_SUCH_TRANSACTION = 251
const COMMITTED = 256
const NOT_IN_TRANSACTION = 263

export const TRANSIENT = 'TransientTransactionError'

/** Runs `work` with a session, which has an open transaction. */
export async function inTransaction(
  db: Database,
  work: (session: ClientSession) => Promise<void>,
): Promise<void> {
  await db().client.withSession(async (session) => {
    session.startTransaction()
    try {
      await work(session)
    } finally {
      if (session.inTransaction()) await session.abortTransaction()
    }
  })
}

/** Asserts that an operation fails with a code after which the transaction may be repeated. */
export async function refusedForNow(code: number, work: Promise<unknown>): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason as { code: number; hasErrorLabel(label: string): boolean },
  )
  expect(error?.code).toBe(code)
  expect(error?.hasErrorLabel(TRANSIENT)).toBe(true)
}

export function transactionContract(db: Database): void {
  ending(db)
  reading(db)
  writing(db)
  failing(db)
}

function ending(db: Database): void {
  describe('a transaction', () => {
    it('changes several collections at once when it commits', async () => {
      const first = await filled(db, [{ _id: 1, n: 0 }])
      const second = await filled(db, [{ _id: 1 }, { _id: 2 }])
      await inTransaction(db, async (session) => {
        await first.updateOne({ _id: 1 }, { $inc: { n: 5 } }, { session })
        await first.insertOne({ _id: 2 }, { session })
        await second.deleteOne({ _id: 1 }, { session })
        expect(await first.findOne({ _id: 1 })).toEqual({ _id: 1, n: 0 })
        expect([await idsOf(first, {}), await idsOf(second, {})]).toEqual([[1], [1, 2]])
        await session.commitTransaction()
      })
      expect(await first.findOne({ _id: 1 })).toEqual({ _id: 1, n: 5 })
      expect([await idsOf(first, {}), await idsOf(second, {})]).toEqual([[1, 2], [2]])
    })

    it('leaves nothing when it is aborted', async () => {
      const collection = await filled(db, [{ _id: 1, n: 0 }])
      await collection.createIndex({ n: 1 })
      await inTransaction(db, async (session) => {
        await collection.updateOne({ _id: 1 }, { $set: { n: 5 } }, { session })
        await collection.insertMany([{ _id: 2 }, { _id: 3 }], { session })
        await session.abortTransaction()
      })
      expect(await collection.find().toArray()).toEqual([{ _id: 1, n: 0 }])
      expect(await idsOf(collection, { n: 5 })).toEqual([])
      await collection.updateOne({ _id: 1 }, { $set: { n: 6 } })
      expect(await idsOf(collection, { n: 6 })).toEqual([1])
    })

    it('may be committed again after its commit, but not be continued', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      await db().client.withSession(async (session) => {
        session.startTransaction()
        await collection.insertOne({ _id: 2 }, { session })
        await session.commitTransaction()
        await session.commitTransaction()
        const command = { find: collection.collectionName, ...numberOf(session) }
        await expect(db().command(command, { session })).rejects.toMatchObject({
          code: COMMITTED,
        })
      })
      expect(await idsOf(collection, {})).toEqual([1, 2])
    })

    it('may be empty, or only read', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      await inTransaction(db, async (session) => {
        await session.commitTransaction()
        session.startTransaction()
        expect(await collection.findOne({}, { session })).toEqual({ _id: 1 })
        await session.commitTransaction()
      })
    })

    it('creates the collection that it inserts into', async () => {
      const collection = fresh(db)
      await inTransaction(db, async (session) => {
        await collection.insertOne({ _id: 1, tags: ['a', 'b'] }, { session })
        expect(await collection.findOne({ tags: 'b' }, { session })).toMatchObject({ _id: 1 })
        expect(await collection.findOne({})).toBeNull()
        await session.commitTransaction()
      })
      expect(await idsOf(collection, { tags: 'b' })).toEqual([1])
    })
  })
}

/** The fields of the transaction of a session, for a command that the driver does not number. */
function numberOf(session: ClientSession): { txnNumber: Long; autocommit: boolean } {
  return {
    txnNumber: Long.fromNumber(session.serverSession.txnNumber as number),
    autocommit: false,
  }
}

function reading(db: Database): void {
  describe('a transaction reads', () => {
    it('the state of its start, with all kinds of queries', async () => {
      const collection = await filled(db, [
        { _id: 1, k: 'a', n: 1 },
        { _id: 2, k: 'b', n: 2 },
      ])
      await collection.createIndex({ k: 1, n: 1 })
      await inTransaction(db, async (session) => {
        expect(await collection.findOne({ _id: 1 }, { session })).toMatchObject({ n: 1 })
        await collection.updateOne({ _id: 1 }, { $set: { k: 'b', n: 9 } })
        await collection.deleteOne({ _id: 2 })
        await collection.insertOne({ _id: 3, k: 'b', n: 3 })
        const ids = async (filter: Any) =>
          (await collection.find(filter, { session }).sort({ n: 1 }).toArray()).map(
            ({ _id }) => _id,
          )
        expect(await ids({ k: 'a' })).toEqual([1])
        expect(await ids({ k: 'b' })).toEqual([2])
        expect(await ids({})).toEqual([1, 2])
        expect(await collection.countDocuments({}, { session })).toBe(2)
        expect(await collection.distinct('n', {}, { session })).toEqual([1, 2])
        await session.commitTransaction()
      })
      expect(await idsOf(collection, { k: 'b' })).toEqual([1, 3])
    })

    it('its own writes in the order of an index and of a sort', async () => {
      const docs = Array.from({ length: 600 }, (_, n) => ({ _id: n, n: n * 2 }))
      const collection = await filled(db, docs)
      await collection.createIndex({ n: 1 })
      await inTransaction(db, async (session) => {
        await collection.deleteMany({ n: { $gte: 100, $lt: 700 } }, { session })
        await collection.insertMany(
          [7, 99, 333, 1199, 5000].map((n) => ({ _id: 10_000 + n, n })),
          { session },
        )
        await collection.updateOne({ _id: 0 }, { $set: { n: 601 } }, { session })
        const expected = [
          ...docs.map(({ n }) => n).filter((n) => n > 0 && (n < 100 || n >= 700)),
          ...[7, 99, 333, 601, 1199, 5000],
        ].sort((a, b) => a - b)
        for (const direction of [1, -1] as const) {
          const cursor = collection.find({ n: { $gte: 0 } }, { session, batchSize: 50 })
          const found = (await cursor.sort({ n: direction }).toArray()).map(({ n }) => n as number)
          expect(found).toEqual(direction === 1 ? expected : [...expected].reverse())
        }
        const unsorted = await collection.find({}, { session }).toArray()
        expect(unsorted.map(({ n }) => n as number).sort((a, b) => a - b)).toEqual(expected)
        const groups = collection.aggregate([{ $group: { _id: null, n: { $sum: '$n' } } }], {
          session,
        })
        expect(await groups.toArray()).toEqual([
          { _id: null, n: expected.reduce((sum, n) => sum + n, 0) },
        ])
        expect(await collection.countDocuments({}, { session })).toBe(expected.length)
        await session.commitTransaction()
        expect(await collection.countDocuments()).toBe(expected.length)
      })
    })
  })
}

function writing(db: Database): void {
  describe('a transaction writes', () => {
    it('what it has written itself, with upserts and unique keys', async () => {
      const collection = await filled(db, [{ _id: 1, key: 'a', n: 0 }])
      await collection.createIndex({ key: 1 }, { unique: true })
      await inTransaction(db, async (session) => {
        const bump = (key: string) =>
          collection.findOneAndUpdate(
            { key },
            { $inc: { n: 1 } },
            { session, upsert: true, returnDocument: 'after', projection: { _id: 0 } },
          )
        expect(await bump('a')).toEqual({ key: 'a', n: 1 })
        expect(await bump('b')).toEqual({ key: 'b', n: 1 })
        expect(await bump('b')).toEqual({ key: 'b', n: 2 })
        await collection.replaceOne({ key: 'a' }, { key: 'c', n: 7 }, { session })
        await collection.insertOne({ _id: 9, key: 'a' }, { session })
        expect(await collection.deleteOne({ key: 'b' }, { session })).toMatchObject({
          deletedCount: 1,
        })
        expect(await bump('b')).toEqual({ key: 'b', n: 1 })
        await session.commitTransaction()
      })
      const found = await collection
        .find({}, { projection: { _id: 0 } })
        .sort({ key: 1 })
        .toArray()
      expect(found).toEqual([{ key: 'a' }, { key: 'b', n: 1 }, { key: 'c', n: 7 }])
    })

    it('in bulks', async () => {
      const collection = await filled(db, [{ _id: 1, version: 1 }])
      await inTransaction(db, async (session) => {
        await collection.bulkWrite(
          [
            {
              replaceOne: {
                filter: { _id: 1, version: { $lt: 2 } },
                replacement: { version: 2 },
                upsert: true,
              },
            },
            { insertOne: { document: { _id: 2 } } },
            { updateMany: { filter: {}, update: { $set: { seen: true } } } },
          ],
          { session },
        )
        expect(await collection.findOne({ _id: 1 })).toEqual({ _id: 1, version: 1 })
        await session.commitTransaction()
      })
      expect(await collection.find().sort({ _id: 1 }).toArray()).toEqual([
        { _id: 1, version: 2, seen: true },
        { _id: 2, seen: true },
      ])
    })
  })
}

function failing(db: Database): void {
  describe('a transaction is aborted', () => {
    it('by a failed operation', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      await inTransaction(db, async (session) => {
        await collection.insertOne({ _id: 2 }, { session })
        await expect(collection.insertOne({ _id: 1 }, { session })).rejects.toMatchObject({
          code: DUPLICATE_KEY,
        })
        await refusedForNow(NO_SUCH_TRANSACTION, collection.findOne({}, { session }))
        await refusedForNow(NO_SUCH_TRANSACTION, session.commitTransaction())
      })
      expect(await idsOf(collection, {})).toEqual([1])
    })

    it('when its session ends', async () => {
      const collection = await filled(db, [{ _id: 1, n: 0 }])
      const session = db().client.startSession()
      session.startTransaction()
      await collection.updateOne({}, { $inc: { n: 1 } }, { session })
      await session.endSession()
      await collection.updateOne({}, { $inc: { n: 10 } })
      expect(await collection.findOne({})).toEqual({ _id: 1, n: 10 })
    })

    it('when it has been open for too long', async () => {
      const collection = await filled(db, [{ _id: 1, n: 0 }])
      const admin = db().admin()
      const limit = 'transactionLifetimeLimitSeconds'
      const { was } = await admin.command({ setParameter: 1, [limit]: 1 })
      try {
        await inTransaction(db, async (session) => {
          await collection.updateOne({}, { $inc: { n: 1 } }, { session })
          // Waits for the end of the transaction.
          await collection.updateOne({}, { $inc: { n: 10 } })
          await refusedForNow(NO_SUCH_TRANSACTION, collection.findOne({}, { session }))
        })
      } finally {
        await admin.command({ setParameter: 1, [limit]: was })
      }
      expect(await collection.findOne({})).toEqual({ _id: 1, n: 10 })
    })

    it('not by a command that it does not support, which is refused', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      await inTransaction(db, async (session) => {
        await collection.insertOne({ _id: 2 }, { session })
        const counted = db().command({ count: collection.collectionName }, { session })
        await expect(counted).rejects.toMatchObject({ code: NOT_IN_TRANSACTION })
      })
    })
  })
}
