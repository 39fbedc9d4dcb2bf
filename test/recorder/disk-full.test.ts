import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMongoServer } from '@tollgate/embedded-mongo'
import { describe, expect, it } from 'vitest'
import { openCatalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { openStreamReader, streamBacklog } from '../../src/ledger/streams.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { startDrain } from '../../src/recorder/drain.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { fillStore } from '../support/mongo.ts'
import {
  lineOf,
  QUICK_DRAIN,
  silent,
  startTestStores,
  topUp,
  use,
} from '../support/recorder/accounts.ts'
import { mountProblem, mountSmallDisk } from '../support/small-disk.ts'

const problem = mountProblem()
const title = problem === undefined ? 'the recorder' : `the recorder (skipped: ${problem})`

describe.skipIf(problem !== undefined)(title, () => {
  it('keeps entries that MongoDB on a full disk refuses until it accepts them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tg-full-'))
    const disk = mountSmallDisk(join(folder, 'disk'), 24 * 1024 * 1024)
    const stores = await startTestStores()
    const mongo = await startMongoServer({
      dataDir: join(disk.path, 'm'),
      socketPath: join(folder, 'm.sock'),
    })
    const options = { database: 'full', timeoutMs: 20_000, appName: 'test' }
    const catalog = await openCatalog({ url: mongo.url, ...options })
    try {
      await catalog.ensureIndexes()
      await topUp(stores.ledger, 1, 11, 1_000, 'op-1')
      await use(stores.ledger, lineOf(1, 11, 'full-1'), 10)
      disk.fill()
      await fillStore(mongo.url)
      const reader = await openStreamReader(stores.ledger, 'test')
      const { entries } = await reader.read(READ_BYTES, 10)
      expect(entries).toHaveLength(2)
      const flush = coalesce(entries)
      await expect(writeFlush(catalog, flush, () => '')).rejects.toThrow(CatalogUnavailableError)
      const metrics = {
        entriesRecorded: () => undefined,
        entriesUnreadable: () => undefined,
        recordOperations: () => undefined,
      }
      const limits = { ...QUICK_DRAIN, blockMs: 50, claimIdleMs: 0, claimEveryMs: 50 }
      const ledger = await stores.connect()
      const named = { ledger, catalog, log: silent, metrics, consumer: 'other' }
      const drain = startDrain({ ...named, ...limits })
      expect(await streamBacklog(stores.ledger)).toBe(2)
      disk.makeRoom()
      await expect.poll(() => streamBacklog(stores.ledger), { timeout: 60_000 }).toBe(0)
      await drain.stop(1_000)
      await ledger.redis.close()
      expect(await catalog.lines.countDocuments({ sid: 11 })).toBe(2)
    } finally {
      await catalog.close()
      await mongo.close()
      await stores.close()
      disk.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
