import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Database, filled, idsOf } from './collection.ts'
import { inTransaction, refusedForNow } from './transactions.ts'

const WRITE_CONFLICT = 112
const NO_SUCH_TRANSACTION = 251
const DUPLICATE_KEY = 11000
const TIME_OVER = 50
const CLIENTS = 8
const INCREMENTS = 10

export function conflictContract(db: Database): void {
  conflicting(db)
  waiting(db)
  repeating(db)
}

function conflicting(db: Database): void {
  describe('a transaction conflicts', () => {
    it('with another one that has written the same document: the first writer wins', async () => {
      const collection = await filled(db, [{ _id: 1, n: 0 }])
      await inTransaction(db, async (first) => {
        await inTransaction(db, async (second) => {
          await collection.findOne({}, { session: second })
          await collection.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: first })
          const late = collection.updateOne({ _id: 1 }, { $inc: { n: 10 } }, { session: second })
          await refusedForNow(WRITE_CONFLICT, late)
          await refusedForNow(NO_SUCH_TRANSACTION, second.commitTransaction())
        })
        await first.commitTransaction()
      })
      expect(await collection.findOne({})).toEqual({ _id: 1, n: 1 })
    })

    it.each(['updateOne', 'deleteOne'] as const)(
      'with a change since its start: %s',
      async (kind) => {
        const collection = await filled(db, [{ _id: 1, n: 0 }, { _id: 2 }])
        await inTransaction(db, async (session) => {
          await collection.findOne({ _id: 2 }, { session })
          await collection.updateOne({ _id: 1 }, { $set: { n: 5 } })
          const late =
            kind === 'deleteOne'
              ? collection.deleteOne({ _id: 1 }, { session })
              : collection.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session })
          await refusedForNow(WRITE_CONFLICT, late)
        })
        expect(await collection.findOne({ _id: 1 })).toEqual({ _id: 1, n: 5 })
      },
    )

    it('with an uncommitted insert of the same unique key', async () => {
      const collection = await filled(db, [{ _id: 1, key: 'a' }])
      await collection.createIndex({ key: 1 }, { unique: true })
      await inTransaction(db, async (first) => {
        await collection.insertOne({ _id: 2, key: 'b' }, { session: first })
        await inTransaction(db, async (second) => {
          const insert = collection.insertOne({ _id: 3, key: 'b' }, { session: second })
          await refusedForNow(WRITE_CONFLICT, insert)
        })
        await first.commitTransaction()
      })
      await inTransaction(db, async (session) => {
        const insert = collection.insertOne({ _id: 3, key: 'b' }, { session })
        await expect(insert).rejects.toMatchObject({ code: DUPLICATE_KEY })
      })
      expect(await idsOf(collection, { key: 'b' })).toEqual([2])
    })
  })
}

function waiting(db: Database): void {
  describe('a write outside of transactions', () => {
    it.each(['commits', 'is aborted'] as const)(
      'waits for an open transaction with the same document, which %s',
      async (end) => {
        const collection = await filled(db, [{ _id: 1, n: 0 }, { _id: 2 }])
        let isDone = false
        await inTransaction(db, async (session) => {
          await collection.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session })
          const late = collection.updateMany({}, { $inc: { n: 10 } }).then(() => {
            isDone = true
          })
          // Writes of other documents do not wait.
          await collection.insertOne({ _id: 3 })
          await collection.updateOne({ _id: 3 }, { $set: { x: 1 } })
          expect(isDone).toBe(false)
          if (end === 'commits') await session.commitTransaction()
          else await session.abortTransaction()
          await late
        })
        const found = await collection.findOne({ _id: 1 })
        expect(found).toEqual({ _id: 1, n: end === 'commits' ? 11 : 10 })
        expect(await collection.findOne({ _id: 2 })).toEqual({ _id: 2, n: 10 })
      },
    )

    it('waits for a uncommitted unique key', async () => {
      const collection = await filled(db, [])
      await collection.createIndex({ key: 1 }, { unique: true })
      await inTransaction(db, async (session) => {
        await collection.insertOne({ _id: 1, key: 'a' }, { session })
        const late = collection.insertOne({ _id: 2, key: 'a' }).catch((error: unknown) => error)
        await collection.insertOne({ _id: 3, key: 'b' })
        await session.commitTransaction()
        expect(await late).toMatchObject({ code: DUPLICATE_KEY })
      })
    })

    it('waits until its time is over, and then has changed nothing', async () => {
      const collection = await filled(db, [{ _id: 0 }, { _id: 1 }])
      await inTransaction(db, async (session) => {
        await collection.updateOne({ _id: 1 }, { $set: { n: 1 } }, { session })
        const update = db().command({
          update: collection.collectionName,
          updates: [{ q: {}, u: { $set: { late: true } }, multi: true }],
          maxTimeMS: 200,
        })
        await expect(update).rejects.toMatchObject({ code: TIME_OVER })
        await session.commitTransaction()
      })
      expect(await collection.findOne({ _id: 1 })).toEqual({ _id: 1, n: 1 })
    })
  })
}

function repeating(db: Database): void {
  describe('withTransaction', () => {
    it('repeats conflicting transactions until all have committed', async () => {
      const collection = await filled(db, [{ _id: 'counter', n: 0 }])
      const { s } = db().client as unknown as { s: { url: string } }
      const { databaseName } = db()
      const count = async (name: number) => {
        const client = await new MongoClient(s.url).connect()
        try {
          const own = client
            .db(databaseName)
            .collection<{ _id: string; n: number }>(collection.collectionName)
          for (let i = 0; i < INCREMENTS; i++) {
            await client.withSession((session) =>
              session.withTransaction(async () => {
                const { n } = (await own.findOne({ _id: 'counter' }, { session }))!
                await own.updateOne({ _id: 'counter' }, { $set: { n: n + 1 } }, { session })
                await own.insertOne({ _id: `${name}.${i}`, n: n + 1 }, { session })
              }),
            )
          }
        } finally {
          await client.close()
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, (_, name) => count(name)))
      const total = CLIENTS * INCREMENTS
      expect(await collection.findOne({ _id: 'counter' })).toMatchObject({ n: total })
      const numbers = await collection.distinct('n', { _id: { $ne: 'counter' } })
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, i) => i + 1))
    })
  })
}
