import { describe, expect, it } from 'vitest'
import { type Database, filled, fresh, refused } from './collection.ts'

export function refusalContract(db: Database): void {
  commands(db)
  standalone(db)
}

function commands(db: Database): void {
  describe('a server refuses', () => {
    it.each([
      [{ noSuchCommand: 1 }, 59],
      [{ find: 'x', noSuchField: 1 }, 40415],
      [{ find: 'x', filter: 5 }, 14],
      [{ find: 'x', limit: -1 }, 51024],
      [{ find: '' }, 73],
      [{ find: 'x', filter: { $noSuch: 1 } }, 2],
      [{ find: 'x', filter: { a: { $noSuch: 1 } } }, 2],
      [{ find: 'x', filter: { $and: [] } }, 2],
      [{ find: 'x', filter: { a: { $in: 5 } } }, 2],
      [{ find: 'x', filter: { a: { $gt: 1, $size: -1 } } }, 2],
      [{ aggregate: 'x', pipeline: [] }, 9],
      [{ aggregate: 'x', pipeline: 5, cursor: {} }, 14],
      [{ insert: 'x$y', documents: [{}] }, 73],
      [{ findAndModify: 'x', query: {} }, 9],
      [{ findAndModify: 'x', remove: true, update: {} }, 9],
      [{ getMore: 5, collection: 'x' }, 14],
      [{ insert: 'x', documents: [{}], writeConcern: { w: 3 } }, 2],
    ])('%j with code %i', async (command, code) => {
      await refused(code, db().command(command))
    })

    it('an invalid filter of an update, for that operation only', async () => {
      const collection = await filled(db, [{ _id: 1 }])
      const failure = await collection
        .bulkWrite(
          [
            { updateOne: { filter: { a: { $noSuch: 1 } }, update: { $set: { b: 1 } } } },
            { updateOne: { filter: { _id: 1 }, update: { $set: { b: 2 } } } },
          ],
          { ordered: false },
        )
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 2, writeErrors: [{ index: 0, code: 2 }] })
      expect(await collection.findOne()).toEqual({ _id: 1, b: 2 })
    })

    it('a replacement of several documents', async () => {
      const { collectionName } = await filled(db, [{ _id: 1 }])
      const updates = [{ q: {}, u: { a: 1 }, multi: true }]
      const answer = await db().command({ update: collectionName, updates })
      expect(answer).toMatchObject({ n: 0, writeErrors: [{ index: 0, code: 9 }] })
    })
  })
}

function standalone(db: Database): void {
  describe('a server without a replica set', () => {
    it('refuses transactions', async () => {
      const hello = await db().command({ hello: 1 })
      if (hello['setName'] || hello['msg'] === 'isdbgrid') return
      const session = db().client.startSession()
      session.startTransaction()
      const failure = await fresh(db)
        .insertOne({}, { session })
        .catch((error: unknown) => error)
      // The driver replaces the message of this error.
      const { code, originalError } = failure as { code?: number; originalError?: Error }
      expect(originalError ?? { code }).toMatchObject({ code: 20 })
      await session.abortTransaction().catch(() => {})
      await session.endSession()
    })

    it('acknowledges writes with majority and journal, and executes others too', async () => {
      const collection = fresh(db)
      for (const writeConcern of [{ w: 'majority' as const }, { w: 1, journal: true }]) {
        const result = await collection.insertOne({}, { writeConcern })
        expect(result.acknowledged).toBe(true)
      }
      const result = await collection.insertOne({ _id: 'quiet' }, { writeConcern: { w: 0 } })
      expect(result.acknowledged).toBe(false)
      await expect.poll(() => collection.countDocuments({ _id: 'quiet' })).toBe(1)
    })

    it('identifies itself', async () => {
      expect(await db().command({ ping: 1 })).toMatchObject({ ok: 1 })
      expect(await db().admin().buildInfo()).toMatchObject({ maxBsonObjectSize: 16777216 })
      expect(await db().command({ hello: 1 })).toMatchObject({ isWritablePrimary: true })
    })
  })
}
