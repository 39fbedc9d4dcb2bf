import { type Document, Long, MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Database, filled, idsOf } from './collection.ts'

const TOO_OLD = 225
const NOT_RETRYABLE = 50768

export function retryableContract(db: Database): void {
  describe('a retryable write', () => {
    it('is executed once, and its repetition has the same answer', async () => {
      const collection = await filled(db, [{ _id: 1, n: 0 }])
      const { collectionName } = collection
      const commands: readonly Document[] = [
        { insert: collectionName, documents: [{ _id: 2 }, { _id: 3 }] },
        { update: collectionName, updates: [{ q: { _id: 1 }, u: { $inc: { n: 1 } } }] },
        { update: collectionName, updates: [{ q: { _id: 7 }, u: { n: 7 }, upsert: true }] },
        { findAndModify: collectionName, query: { _id: 1 }, update: { $inc: { n: 1 } } },
        { delete: collectionName, deletes: [{ q: { _id: 3 }, limit: 1 }] },
      ]
      await withNewSession(db, async (run) => {
        for (const [i, command] of commands.entries()) {
          const first = await run(i + 1, command)
          const second = await run(i + 1, command)
          expect(essence(second)).toEqual(essence(first))
        }
      })
      expect(await collection.findOne({ _id: 1 })).toEqual({ _id: 1, n: 2 })
      expect(await idsOf(collection, {})).toEqual([1, 2, 7])
    })

    it('is refused after a later one of its session', async () => {
      const { collectionName } = await filled(db, [{ _id: 1 }])
      const insert = (_id: number) => ({ insert: collectionName, documents: [{ _id }] })
      await withNewSession(db, async (run) => {
        await run(5, insert(5))
        const late = run(4, insert(4))
        await expect(late).rejects.toMatchObject({ code: TOO_OLD })
        const find = run(6, { find: collectionName })
        await expect(find).rejects.toMatchObject({ code: NOT_RETRYABLE })
      })
    })
  })
}

type NumberedRun = (number: number, command: Document) => Promise<Document>

/** A session that the driver has not used yet, and does not use afterwards. */
async function withNewSession(
  db: Database,
  work: (run: NumberedRun) => Promise<void>,
): Promise<void> {
  const { s } = db().client as unknown as { s: { url: string } }
  const client = await new MongoClient(s.url).connect()
  try {
    await client.withSession(async (session) => {
      const database = client.db(db().databaseName)
      await work((number, command) => {
        const txnNumber = Long.fromNumber(number)
        return database.command({ ...command, txnNumber }, { session })
      })
    })
  } finally {
    await client.close()
  }
}

/** An answer without the fields that only one server or only a repetition has. */
function essence({ n, nModified, upserted, value, lastErrorObject }: Document): Document {
  return { n, nModified, upserted, value, lastErrorObject }
}
