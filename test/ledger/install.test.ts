import { beforeEach, expect, it } from 'vitest'
import { LedgerLostError } from '../../src/ledger/epochs.ts'
import { type EpochRecord, ensureLedger, lostPartitions } from '../../src/ledger/install.ts'
import { createKeys } from '../../src/ledger/keys.ts'
import { createLedger } from '../../src/ledger/ledger.ts'
import { useRedis } from '../support/connected-redis.ts'
import { ownerOf, SETTINGS } from '../support/ledger/fixture.ts'

const { partitions } = SETTINGS
const { redis } = useRedis()
beforeEach(() => redis().client.flushall())

function recordOf(epoch: string | null = null): EpochRecord & { epoch: string | null } {
  return {
    epoch,
    async read() {
      return this.epoch
    },
    async write(noted) {
      this.epoch = noted
    },
  }
}

const away: EpochRecord = {
  read: () => Promise.reject(new Error('away')),
  write: () => Promise.reject(new Error('away')),
}

it('the first start fixes the partitions, and another number is refused by name', async () => {
  const record = recordOf()
  await Promise.all([ensureLedger(redis(), 64, record), ensureLedger(redis(), 64, record)])
  expect(await ensureLedger(redis(), 64, record)).toEqual([])
  await expect(ensureLedger(redis(), 32, record)).rejects.toThrow(
    'ledger.partitions is 32, but this ledger was installed with 64',
  )
})

it('a ledger of another format stays untouched', async () => {
  const record = recordOf()
  await ensureLedger(redis(), partitions, record)
  const { meta } = createKeys(partitions)
  await redis().client.hset(meta, 'format', '1')
  await expect(ensureLedger(redis(), partitions, record)).rejects.toThrow(
    'ledger format is 2, but this ledger was installed with 1',
  )
  expect(await redis().client.hget(meta, 'format')).toBe('1')
})

it('concurrent first starts create one epoch and record it', async () => {
  const record = recordOf()
  await Promise.all(Array.from({ length: 5 }, () => ensureLedger(redis(), partitions, record)))
  const keys = createKeys(partitions)
  const epochs = await Promise.all([0, 1, 2, 3].map((p) => redis().client.get(keys.epoch(p))))
  expect(new Set(epochs)).toEqual(new Set([record.epoch]))
  expect(record.epoch).toMatch(/^1-4-[0-9a-f]{12}$/)
})

it('a start with existing data needs no record, and writes it when possible', async () => {
  await ensureLedger(redis(), partitions, recordOf())
  expect(await ensureLedger(redis(), partitions, away)).toEqual([])
  const record = recordOf()
  await ensureLedger(redis(), partitions, record)
  expect(record.epoch).toBe(await redis().client.get(createKeys(partitions).epoch(0)))
})

it('nothing is installed over a lost ledger, or if the record cannot be read', async () => {
  await expect(ensureLedger(redis(), partitions, away)).rejects.toThrow('away')
  expect(await ensureLedger(redis(), partitions, recordOf('1-before'))).toEqual([0, 1, 2, 3])
  expect(await lostPartitions(redis(), partitions)).toEqual([0, 1, 2, 3])
})

it('the partitions of a lost ledger are known, and no others are recorded', async () => {
  const record = recordOf()
  await ensureLedger(redis(), partitions, record)
  await redis().client.flushall()
  const mismatch = 'ledger.partitions is 8, but this ledger was installed with 4'
  await expect(ensureLedger(redis(), 8, record)).rejects.toThrow(mismatch)
  expect(await redis().client.dbsize()).toBe(0)
  expect(await ensureLedger(redis(), partitions, record)).toEqual([0, 1, 2, 3])
})

it('nothing is charged if the ledger has other partitions meanwhile', async () => {
  await ensureLedger(redis(), 8, recordOf())
  const ledger = createLedger(redis(), SETTINGS, 1)
  const expected = [{ aid: 4, sid: 1, sessionKeys: [] }]
  await expect(ledger.load(expected)).rejects.toBeInstanceOf(LedgerLostError)
})

it('nothing is denied or written if the data is lost or replaced', async () => {
  await ensureLedger(redis(), partitions, recordOf())
  const ledger = createLedger(redis(), SETTINGS, 1)
  const expected = [{ aid: 4, sid: 1, sessionKeys: [] }]
  const commit = {
    aid: 4,
    registrations: [],
    operation: null,
    lines: [],
    backoffHintMs: 0,
    owners: [{ state: ownerOf(1, 1, [], 4), fence: -1, sessions: [] }],
    shared: { expectedVersion: -1, state: null },
  }
  let changes = 0
  ledger.onDataChanged(() => {
    changes += 1
  })
  expect((await ledger.load(expected))[0]).toMatchObject({ state: { version: 0 } })
  await redis().client.set(ledger.keys.epoch(0), '2-rebuilt')
  await expect(ledger.commit([commit], 1)).rejects.toBeInstanceOf(LedgerLostError)
  expect(await redis().client.exists(ledger.keys.account(4))).toBe(0)
  expect(changes).toBe(1)
  // The next attempt accepts the new data.
  expect(await ledger.commit([commit], 1)).toEqual([{ kind: 'committed' }])
  await redis().client.flushall()
  await expect(ledger.commit([commit], 1)).rejects.toBeInstanceOf(LedgerLostError)
  await expect(ledger.load(expected)).rejects.toBeInstanceOf(LedgerLostError)
  await expect(ledger.findLocations(['a'.repeat(22)])).rejects.toBeInstanceOf(LedgerLostError)
})
