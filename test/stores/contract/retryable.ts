import { type ClientSession, type Document, Long, MongoClient } from 'mongodb'
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
      await withNewSession(db, async (session) => {
        for (const [i, command] of commands.entries()) {
          const first = await numbered(session, db().databaseName, i + 1, command)
          const second = await numbered(session, db().databaseName, i + 1, command)
          expect(essence(second)).toEqual(essence(first))
        }
      })
      expect(await collection.findOne({ _id: 1 })).toEqual({ _id: 1, n: 2 })
      expect(await idsOf(collection, {})).toEqual([1, 2, 7])
    })

    it('is refused after a later one of its session', async () => {
      const { collectionName } = await filled(db, [{ _id: 1 }])
      const insert = (_id: number) => ({ insert: collectionName, documents: [{ _id }] })
      await withNewSession(db, async (session) => {
        await numbered(session, db().databaseName, 5, insert(5))
        const late = numbered(session, db().databaseName, 4, insert(4))
        await expect(late).rejects.toMatchObject({ code: TOO_OLD })
        const find = numbered(session, db().databaseName, 6, { find: collectionName })
        await expect(find).rejects.toMatchObject({ code: NOT_RETRYABLE })
      })
    })
  })
}

/** A session that the driver has not used yet, and does not use afterwards. */
async function withNewSession(
  db: Database,
  work: (session: ClientSession) => Promise<void>,
): Promise<void> {
  const { s } = db().client as unknown as { s: { url: string } }
  const client = await new MongoClient(s.url).connect()
  try {
    await client.withSession(work)
  } finally {
    await client.close()
  }
}

function numbered(
  session: ClientSession,
  database: string,
  number: number,
  command: Document,
): Promise<Document> {
  const db = session.client.db(database)
  return db.command({ ...command, txnNumber: Long.fromNumber(number) }, { session })
}

/** An answer without the fields that only one server or only a repetition has. */
function essence({ n, nModified, upserted, value, lastErrorObject }: Document): Document {
  return { n, nModified, upserted, value, lastErrorObject }
}
