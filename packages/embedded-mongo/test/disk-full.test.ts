import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Document, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../../../test/support/small-disk.ts'
import { startMongoServer } from '../src/server.ts'
import { compileEmbedded, type MongoProcess, startMongoProcess } from './support/server-process.ts'

const MIB = 1024 * 1024
const OUT_OF_DISK_SPACE = 14031
const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

let built: Awaited<ReturnType<typeof compileEmbedded>>
let folder: string
let disk: SmallDisk
let server: MongoProcess
let client: MongoClient
let lines: Collection<Document>

async function start(): Promise<void> {
  server = await startMongoProcess(built.main, join(disk.path, 'm'), join(folder, 'm.sock'))
  client = await new MongoClient(server.url).connect()
  lines = client.db('t').collection<Document>('lines')
}

async function kill(): Promise<void> {
  await client.close()
  server.child.kill('SIGKILL')
  await server.ended
}

/** Inserts from several clients until all are refused; returns the acknowledged identifiers. */
async function insertUntilRefused(from: number): Promise<number[]> {
  const acknowledged: number[] = []
  const insert = async (writer: number) => {
    for (let i = 0; ; i++) {
      const n = from + writer * 1e5 + i
      const doc = { n, owner: n % 7, tags: [n, 'x'], text: 'y'.repeat((n * 37) % 9000) }
      await lines.insertOne(doc)
      acknowledged.push(n)
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: 8 }, (_, w) => insert(w)))
  for (const end of ends) expect(end).toMatchObject({ reason: { code: OUT_OF_DISK_SPACE } })
  return acknowledged
}

async function storedNumbers(): Promise<number[]> {
  const docs = await lines.find().toArray()
  for (const { n, text } of docs) expect(text).toHaveLength((n * 37) % 9000)
  return docs.map(({ n }) => n as number).sort((a, b) => a - b)
}

describe.skipIf(problem !== undefined)(`the embedded MongoDB on a full disk${why}`, () => {
  beforeAll(async () => {
    built = await compileEmbedded()
  })
  afterAll(() => built.remove())

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tg-full-'))
    disk = mountSmallDisk(join(folder, 'disk'), 48 * MIB)
    await start()
  })
  afterEach(async () => {
    await kill()
    disk.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  it('refuses writes with OutOfDiskSpace, still reads, and recovers with free space', async () => {
    await lines.createIndex({ n: 1 }, { unique: true })
    await lines.createIndex({ owner: 1, tags: 1 })
    await lines.insertOne({ n: -1, text: '' }).then(() => lines.deleteOne({ n: -1 }))
    const inserting = insertUntilRefused(0)
    disk.fill()
    const acknowledged = await inserting
    const sorted = [...acknowledged].sort((a, b) => a - b)
    expect(await storedNumbers()).toEqual(sorted)
    expect(await lines.countDocuments({ n: sorted.at(-1) })).toBe(1)
    const refused = { code: OUT_OF_DISK_SPACE, codeName: 'OutOfDiskSpace' }
    const large = Array.from({ length: 50 }, (_, i) => ({ n: 1e7 + i, text: 'z'.repeat(9999) }))
    await expect(lines.insertMany(large)).rejects.toMatchObject(refused)
    await expect(lines.createIndex({ text: 1 })).rejects.toBeInstanceOf(Error)
    expect(await storedNumbers()).toEqual(sorted)
    disk.makeRoom()
    await lines.insertOne({ n: 1e8, text: 'y'.repeat((1e8 * 37) % 9000) })
    expect(await storedNumbers()).toEqual([...sorted, 1e8])
  })

  atItsEnds()
})

function atItsEnds(): void {
  it('restarts with all acknowledged data while the disk is still full', async () => {
    await lines.createIndex({ n: 1 }, { unique: true })
    disk.fill()
    const acknowledged = await insertUntilRefused(0)
    await kill()
    await start()
    expect(await storedNumbers()).toEqual(acknowledged.sort((a, b) => a - b))
    disk.makeRoom()
    await lines.insertOne({ n: 1e8, text: 'y'.repeat((1e8 * 37) % 9000) })
  })

  it('keeps its data consistent when it fills the disk itself', async () => {
    await lines.createIndex({ n: 1 }, { unique: true })
    const acknowledged = await insertUntilRefused(0)
    expect(acknowledged.length).toBeGreaterThan(100)
    expect(await storedNumbers()).toEqual(acknowledged.sort((a, b) => a - b))
  })

  it('names the reason when there is no space for a new store', async () => {
    disk.fill()
    const other = startMongoServer({
      dataDir: join(disk.path, 'm2'),
      socketPath: join(folder, 'other.sock'),
    })
    await expect(other).rejects.toMatchObject({ name: 'DiskFullError' })
  })
}
