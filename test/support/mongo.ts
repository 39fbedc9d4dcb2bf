/**
 * A MongoDB for tests: TEST_MONGO_URL if it is set, otherwise an embedded one in a folder of its
 * own.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'

export interface TestMongo {
  url: string
  /** A database that no other test uses. */
  database: string
  close(): Promise<void>
}

export async function startTestMongo(): Promise<TestMongo> {
  const database = `tollgate_test_${randomBytes(6).toString('hex')}`
  const url = process.env['TEST_MONGO_URL']
  if (url !== undefined) return { url, database, close: () => dropDatabase(url, database) }
  // Imported only here: with TEST_MONGO_URL the embedded server need not be loaded.
  const { startMongoServer } = await import('@tollgate/embedded-mongo')
  const folder = mkdtempSync(join(tmpdir(), 'tg-mongo-'))
  const server = await startMongoServer({
    dataDir: join(folder, 'data'),
    socketPath: join(folder, 's.sock'),
  })
  return {
    url: server.url,
    database,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function dropDatabase(url: string, database: string): Promise<void> {
  const client = new MongoClient(url)
  await client.db(database).dropDatabase()
  await client.close()
}

/** Uses up the space that the store on a full disk has reserved, so that no more writes fit. */
export async function fillStore(url: string): Promise<void> {
  const client = await new MongoClient(url, { retryWrites: false }).connect()
  const documents = client.db('other').collection('c')
  try {
    for (const bytes of [100_000, 1]) {
      for (let isFull = false; !isFull; ) {
        isFull = await documents.insertOne({ text: 'x'.repeat(bytes) }).then(
          () => false,
          (error) => {
            if (error.code !== 14031) throw error
            return true
          },
        )
      }
    }
  } finally {
    await client.close()
  }
}
