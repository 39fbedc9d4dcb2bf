/** The stored clock of an installation: who sets it, and who follows. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import { epochRecordOf } from '../../src/catalog/installation.ts'
import {
  advanceClock,
  clockOf,
  followClock,
  joinClock,
} from '../../src/catalog/installation-clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { realTimeOf, systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { startTestMongo, type TestMongo } from '../support/mongo.ts'
import { PATIENT } from '../support/product/patience.ts'
import { waitUntil } from '../support/wait.ts'

const REAL_MS = Date.UTC(2026, 5, 15)
const real = { nowMs: () => REAL_MS }
const DAY_MS = 86_400_000
const log = createLogger({ name: 'test', level: 'silent' })

let mongo: TestMongo
let catalog: Catalog

beforeAll(async () => {
  mongo = await startTestMongo()
  const { url, database } = mongo
  catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
})
afterEach(() => catalog.installation.deleteMany({}))
afterAll(async () => {
  await catalog.close()
  await mongo.close()
})

const started = (start: string) => ({ clock: { start, test: false } })
const atMs = (start: string, nowMs: number) => Date.parse(start) - nowMs

describe('the clock of an installation', () => {
  it('is set by the first process with a start; others and later ones follow it', async () => {
    const config = started('2026-01-01T00:00:00Z')
    const aheadMs = atMs('2026-01-01T00:00:00Z', REAL_MS)
    expect(await joinClock(catalog, config, real)).toBe(aheadMs)
    const later = { nowMs: () => REAL_MS + DAY_MS }
    expect(await joinClock(catalog, config, later)).toBe(aheadMs)
    expect(await joinClock(catalog, { clock: { start: '', test: true } }, later)).toBe(aheadMs)
  })

  it('is one for processes that start at the same time', async () => {
    const config = started('2027-01-01T00:00:00Z')
    const joins = Array.from({ length: 8 }, (_, index) =>
      joinClock(catalog, config, { nowMs: () => REAL_MS + index }),
    )
    expect(new Set(await Promise.all(joins)).size).toBe(1)
  })

  it('continues from where it was moved to', async () => {
    const config = started('2026-01-01T00:00:00Z')
    const aheadMs = await joinClock(catalog, config, real)
    await advanceClock(catalog, aheadMs + DAY_MS)
    expect(await joinClock(catalog, config, real)).toBe(aheadMs + DAY_MS)
    await advanceClock(catalog, aheadMs)
    expect(await joinClock(catalog, config, real)).toBe(aheadMs + DAY_MS)
  })

  it('accepts another start ahead, and refuses one that goes back', async () => {
    const aheadMs = await joinClock(catalog, started('2026-01-01T00:00:00Z'), real)
    const next = started('2026-01-02T00:00:00Z')
    expect(await joinClock(catalog, next, real)).toBe(aheadMs + DAY_MS)
    await expect(joinClock(catalog, started('2026-01-01T12:00:00Z'), real)).rejects.toThrow(
      'clock.start is 2026-01-01T12:00:00Z, but the installation has reached ' +
        '2026-01-02T00:00:00.000Z: its time never goes back',
    )
  })

  it('is the real time of a test clock without a start', async () => {
    const config = { clock: { start: '', test: true } }
    expect(await joinClock(catalog, config, real)).toBe(0)
  })

  it('reads and writes nothing without settings', async () => {
    const config = { clock: { start: '', test: false } }
    expect(await clockOf(catalog, config)).toBe(systemClock)
    expect(await catalog.installation.countDocuments()).toBe(0)
  })

  it('is beside the epoch of the ledger', async () => {
    const epochs = epochRecordOf(catalog)
    await epochs.write('1-4-x')
    await joinClock(catalog, started('2026-01-01T00:00:00Z'), real)
    expect(await epochs.read()).toBe('1-4-x')
  })

  it('is followed by a running process', async () => {
    const env = {
      TOLLGATE_CLOCK: '2024-01-01T00:00:00Z',
      ...PATIENT,
      TOLLGATE_MONGO_URL: mongo.url,
      TOLLGATE_MONGO_DATABASE: mongo.database,
      TOLLGATE_CATALOG_POLL_MS: '50',
    }
    const { clock, close } = await followClock(loadConfig({ env }), log)
    try {
      const beforeMs = clock.nowMs()
      expect(beforeMs).toBeLessThan(Date.UTC(2024, 1, 1))
      expect(realTimeOf(clock)).toBe(systemClock)
      await advanceClock(catalog, Date.UTC(2024, 6, 1) - systemClock.nowMs())
      await waitUntil('it follows', () => clock.nowMs() >= Date.UTC(2024, 6, 1))
    } finally {
      await close()
    }
  })
})
