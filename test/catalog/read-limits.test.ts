/** `Catalog.read` stops the work of the server when it ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MongoServer, startMongoServer } from '@tollgate/embedded-mongo'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import {
  CatalogUnavailableError,
  ReadCancelledError,
  SlowReadError,
} from '../../src/catalog/errors.ts'

let folder: string
let server: MongoServer
let catalog: Catalog
let stepMs = 0
let nowMs = 1_700_000_000_000

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tg-read-'))
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
  rmSync(folder, { recursive: true, force: true })
})

const nothing = { name: 'nobody', description: 'x' } as never

it('a catalogue read stops in the server when its time limit expires', async () => {
  stepMs = 10_000
  const slow = catalog.read('look', (limits) => catalog.plans.find(nothing, limits).toArray())
  await expect(slow).rejects.toThrow(SlowReadError)
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
      return catalog.plans.find(nothing, limits).toArray()
    },
    { signal },
  )
  await expect(reading).rejects.toThrow(ReadCancelledError)
  const late = catalog.read('look', (limits) => catalog.plans.findOne(nothing, limits), { signal })
  await expect(late).rejects.toThrow(ReadCancelledError)
  expect(await catalog.read('look', () => catalog.plans.countDocuments())).toBe(20_000)
})
