import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Document, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileEmbedded, type MongoProcess, startMongoProcess } from './support/server-process.ts'

/** Set KILL_ROUNDS for more. Only the embedded server is killed, never that of TEST_MONGO_URL. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 5)
const WRITERS = 12
const ACKNOWLEDGED_MIN = 300

/** State of a writer's document: the acknowledged version and the last attempted one. */
type WrittenState = {
  acknowledged: number
  tried: number
  lastWasDelete: boolean
  triedDelete: boolean
}

let built: Awaited<ReturnType<typeof compileEmbedded>>
let folder: string

beforeAll(async () => {
  built = await compileEmbedded()
  folder = mkdtempSync(join(tmpdir(), 'tg-kill-'))
})
afterAll(() => {
  built.remove()
  rmSync(folder, { recursive: true, force: true })
})

describe('the embedded MongoDB killed during writes', () => {
  it(`${ROUNDS} times: no acknowledged write is lost, no document is incomplete`, async () => {
    const known = new Map<string, WrittenState>()
    const claimed = new Map<number, string>()
    for (let round = 0; round < ROUNDS; round++) {
      const server = await start()
      await withLines(server, async (lines, claims) => {
        if (round === 0) await createIndexes(lines, claims)
        await check(lines, claims, known, claimed)
        await writeUntilKilled(server, { lines, claims, known, claimed, round })
      })
      expect(await server.ended).toEqual([null, 'SIGKILL'])
    }
    const last = await start()
    await withLines(last, (lines, claims) => check(lines, claims, known, claimed))
    last.child.kill('SIGTERM')
    expect(await last.ended).toEqual([0, null])
  })
})

function start(): Promise<MongoProcess> {
  return startMongoProcess(built.main, join(folder, 'data'), join(folder, 'm.sock'))
}

type Docs = Collection<Document & { _id: string | number }>

async function withLines(
  server: MongoProcess,
  work: (lines: Docs, claims: Docs) => Promise<void>,
): Promise<void> {
  const client = new MongoClient(server.url, { serverSelectionTimeoutMS: 2_000 })
  try {
    const database = client.db('t')
    await work(database.collection('lines'), database.collection('claims'))
  } finally {
    await client.close()
  }
}

async function createIndexes(lines: Docs, claims: Docs): Promise<void> {
  await lines.createIndex({ key: 1 }, { unique: true })
  await lines.createIndex({ owner: 1, version: -1 })
  await lines.createIndex({ tags: 1 })
  await lines.createIndex({ even: 1 }, { partialFilterExpression: { even: true } })
  await claims.createIndex({ stamp: 1 }, { unique: true })
}

type Work = {
  readonly lines: Docs
  readonly claims: Docs
  readonly known: Map<string, WrittenState>
  readonly claimed: Map<number, string>
  readonly round: number
}

async function writeUntilKilled(server: MongoProcess, work: Work): Promise<void> {
  let acknowledged = 0
  const count = () => {
    if (++acknowledged === ACKNOWLEDGED_MIN) server.child.kill('SIGKILL')
  }
  const writers = Array.from({ length: WRITERS }, (_, writer) => write(work, writer, count))
  // Each writer ends with the connection that it has lost.
  for (const end of await Promise.allSettled(writers)) expect(end.status).toBe('rejected')
}

async function write(work: Work, writer: number, count: () => void): Promise<never> {
  for (let i = 0; ; i++) {
    await claim(work, `${work.round}.${writer}`, work.round * 1e6 + i)
    await change(work, `${writer}.${i % 5}`, i % 6 === 5)
    count()
  }
}

/** All writers compete for each stamp; one of them wins. */
async function claim({ claims, claimed }: Work, by: string, stamp: number): Promise<void> {
  try {
    await claims.insertOne({ _id: `${stamp}.${by}`, stamp, by })
    expect(claimed.get(stamp)).toBeUndefined()
    claimed.set(stamp, by)
  } catch (error) {
    if ((error as { code?: number }).code !== 11000) throw error
  }
}

async function change({ lines, known }: Work, key: string, isDelete: boolean): Promise<void> {
  const mine = known.get(key) ?? {
    acknowledged: 0,
    tried: 0,
    lastWasDelete: true,
    triedDelete: false,
  }
  known.set(key, mine)
  const version = mine.tried + 1
  mine.tried = version
  mine.triedDelete = isDelete
  if (isDelete) await lines.deleteOne({ key })
  else await lines.updateOne({ key }, { $set: contentOf(key, version) }, { upsert: true })
  mine.acknowledged = version
  mine.lastWasDelete = isDelete
}

function contentOf(key: string, version: number): Document {
  return {
    version,
    owner: `o${version % 3}`,
    tags: [version, version % 4, key],
    even: version % 2 === 0,
    text: `${version}`.repeat((version * 131) % 900),
  }
}

async function check(
  lines: Docs,
  claims: Docs,
  known: ReadonlyMap<string, WrittenState>,
  claimed: ReadonlyMap<number, string>,
): Promise<void> {
  const docs = await lines.find().toArray()
  const byKey = new Map(docs.map((doc) => [doc['key'] as string, doc]))
  expect(byKey.size).toBe(docs.length)
  for (const doc of docs) expect(doc).toMatchObject(contentOf(doc['key'], doc['version']))
  for (const [key, mine] of known)
    expect(isConsistent(mine, byKey.get(key)?.['version']), key).toBe(true)
  await checkIndexes(lines, docs)
  const claimDocs = await claims.find().toArray()
  const stored = new Map(claimDocs.map(({ stamp, by }) => [stamp as number, by as string]))
  expect(stored.size).toBe(claimDocs.length)
  for (const [stamp, by] of claimed) expect(stored.get(stamp)).toBe(by)
}

/** The last acknowledged change is stored, or the change in flight when the server was killed. */
function isConsistent(mine: WrittenState, version: number | undefined): boolean {
  const isInFlight = mine.tried > mine.acknowledged
  if (version === undefined) return mine.lastWasDelete || (isInFlight && mine.triedDelete)
  if (isInFlight && !mine.triedDelete && version === mine.tried) return true
  return !mine.lastWasDelete && version === mine.acknowledged
}

/** Each index returns the same documents as a full scan. */
async function checkIndexes(lines: Docs, docs: readonly Document[]): Promise<void> {
  const ids = (found: readonly Document[]) => found.map(({ _id }) => String(_id)).sort()
  const expected: [filter: Document, test: (doc: Document) => boolean][] = [
    [{ tags: { $gte: 0 } }, () => true],
    [{ even: true }, (doc) => doc['even']],
  ]
  for (let n = 0; n < 4; n++) {
    expected.push([{ owner: `o${n}` }, (doc) => doc['owner'] === `o${n}`])
    expected.push([{ tags: n }, (doc) => doc['tags'].includes(n)])
  }
  for (const { key } of docs) expected.push([{ key }, (doc) => doc['key'] === key])
  for (const [filter, test] of expected) {
    expect(ids(await lines.find(filter).toArray())).toEqual(ids(docs.filter(test)))
  }
  expect(await lines.countDocuments({})).toBe(docs.length)
}
