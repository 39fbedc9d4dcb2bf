import { join } from 'node:path'
import { type MongoServer, startMongoServer } from '@tollgate/embedded-mongo'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import {
  CatalogUnavailableError,
  ReadCancelledError,
  SlowReadError,
} from '../../src/catalog/errors.ts'
import { useFolder } from '../support/opened.ts'

let server: MongoServer
let catalog: Catalog
let stepMs = 0
let nowMs = 1_700_000_000_000

const folder = useFolder()
beforeAll(async () => {
  const socketPath = join(folder, 's.sock')
  const clock = {
    nowMs: () => {
      nowMs += stepMs
      return nowMs
    },
  }
  server = await startMongoServer({ dataDir: join(folder, 'd'), socketPath, clock })
  catalog = await openCatalog({
    url: server.url,
    database: 'test',
    timeoutMs: 20_000,
    appName: 'test',
    readTimeoutMs: 15_000,
  })
  const plans = Array.from({ length: 20_000 }, (_, n) => ({ name: `P${n}` }))
  await catalog.plans.insertMany(plans as never[])
})

afterAll(async () => {
  await catalog.close()
  await server.close()
})

const nothing = { name: 'nobody', description: 'x' } as never

it('a catalogue read stops in the server when its time limit expires', async () => {
  stepMs = 10_000
  const slow = catalog.reads.plans.find(nothing).toArray()
  await expect(slow).rejects.toThrow(SlowReadError)
  await expect(slow).rejects.toThrow('read plans: stopped after 15000 ms')
  await expect(slow).rejects.not.toThrow(CatalogUnavailableError)
  stepMs = 0
})

it('a catalogue read stops in the server when its caller cancels it', async () => {
  const controller = new AbortController()
  const signal = controller.signal
  const reading = catalog.read(
    'look',
    async (limits) => {
      controller.abort()
      return catalog.unguarded.plans.find(nothing, limits).toArray()
    },
    { signal },
  )
  await expect(reading).rejects.toThrow(ReadCancelledError)
  const late = [
    catalog.reads.plans.find(nothing, { signal }).toArray(),
    catalog.reads.plans.aggregate([{ $match: nothing }], { signal }).toArray(),
    catalog.reads.plans.countDocuments(nothing, { signal }),
  ]
  for (const read of late) await expect(read).rejects.toThrow(ReadCancelledError)
  expect(await catalog.reads.plans.countDocuments({})).toBe(20_000)
})

describe('reading in batches', () => {
  const all = (signal?: AbortSignal, limitMs = 15_000) =>
    catalog.readBatches(
      'all',
      (limits) => catalog.unguarded.plans.find({}, { ...limits, batchSize: 100 }),
      {
        signal,
        limitMs,
      },
    )

  it('reads all documents, each batch when it is asked for', async () => {
    let found = 0
    for await (const batch of all()) found += batch.length
    expect(found).toBe(20_000)
  })

  it('closes the cursor on the server when the consumer stops', async () => {
    const opened = vi.spyOn(catalog.unguarded.plans, 'find')
    for await (const batch of all()) {
      expect(batch).toHaveLength(100)
      break
    }
    const cursor = opened.mock.results[0]?.value as { closed: boolean }
    expect(cursor.closed).toBe(true)
    opened.mockRestore()
  })

  it('ends when the caller cancels, and at the time limit', async () => {
    const controller = new AbortController()
    const reading = all(controller.signal)
    expect((await reading.next()).value).toHaveLength(100)
    controller.abort()
    await expect(reading.next()).rejects.toThrow(ReadCancelledError)
    stepMs = 10_000
    const search = () => catalog.unguarded.plans.find(nothing)
    const open: Parameters<typeof catalog.readBatches>[1] = ({ maxTimeMS }) =>
      search().maxTimeMS(maxTimeMS)
    const slow = catalog.readBatches('slow', open, { limitMs: 15_000 })
    await expect(slow.next()).rejects.toThrow(SlowReadError)
    stepMs = 0
  })
})
