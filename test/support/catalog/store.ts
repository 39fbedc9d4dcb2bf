/** One store per test file, one database per test, and common helpers of the catalogue tests. */
import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { afterEach } from 'vitest'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { createLogger, type Logger } from '../../../src/runtime/log.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { useOpened } from '../opened.ts'
import { writeEntity } from './write.ts'

export interface TestStore {
  url(): string
  /** A catalogue on an empty database; without a URL, on the store itself. */
  open(url?: string, database?: string): Promise<Catalog>
}

export function useStore(): TestStore {
  const opened: Catalog[] = []
  const mongo = useOpened(startTestMongo)
  afterEach(async () => {
    for (const catalog of opened.splice(0)) await catalog.close()
  })
  return {
    url: () => mongo().url,
    async open(url = mongo().url, database = randomDatabase(mongo())) {
      // A store behind a proxy gets cut off, and operations then take all of their time.
      const timeoutMs = url === mongo().url ? 20_000 : 3000
      const catalog = await openCatalog({ url, database, timeoutMs, appName: 'test' })
      opened.push(catalog)
      return catalog
    },
  }
}

/** Real servers keep the databases of a test: the name identifies their origin. */
function randomDatabase(mongo: TestMongo): string {
  return `${mongo.database}_${randomBytes(4).toString('hex')}`
}

/** The author of a demo catalogue. */
export const DEMO_BY = {
  actor: { by: 'cli', id: '', name: 'tester', address: '' },
  nowMs: Date.UTC(2026, 0, 1),
} as const

/** Writes a valid entity of each kind; the given fields replace the defaults. */
export function insertEntity(
  catalog: Catalog,
  collection: EntityCollection,
  fields: Record<string, unknown> = {},
) {
  const document = { ...ORDINARY[collection], ...fields }
  return writeEntity(catalog, collection, document, { mode: 'insert', timeZone: 'UTC' })
}

export const ORDINARY: Readonly<Record<EntityCollection, Record<string, unknown>>> = {
  subscribers: { type: 'subscriber', sid: 18, aid: 17, plan: 'GOLD', from: '2026-01-01' },
  plans: { name: 'GOLD', connection_type: 'prepaid', from: '2026-01-01' },
  services: { name: 'TV', from: '2026-01-01' },
  taxes: { key: 'VAT', rate: 0.17, from: '2026-01-01' },
  rates: {
    key: 'DATA',
    from: '2026-01-01',
    rates: {
      data: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1024, price: 0.01 }] } },
    },
  },
  prepaidincludes: {
    name: 'MONEY',
    external_id: 1,
    priority: 1,
    charging_by: 'total_cost',
    charging_by_usaget: 'total_cost',
    from: '2026-01-01',
  },
  prepaidgroups: {
    name: 'TOPUP20',
    include: [{ pp_includes_external_id: 1, value: -20 }],
    from: '2026-01-01',
  },
  charges: { key: 'LATE', subject: { general: { value: 50 } }, from: '2026-01-01' },
  discounts: { key: 'TENPCT', subject: { plan: { GOLD: { value: 0.1 } } }, from: '2026-01-01' },
  reports: { key: 'usage_by_plan', entity: 'usage', type: 1, from: '2026-01-01' },
  users: { username: 'ops@example.org', password: 'hash', roles: ['read'], from: '2026-01-01' },
  autorenew: { aid: 17, sid: 18, bucket_group: 'TOPUP20', cycles: 12, from: '2026-01-01' },
}

export interface LogRecord {
  level: string
  msg: string
  [field: string]: unknown
}

/** A real logger and the records it has written. */
export function recordingLog(): { log: Logger; records: LogRecord[] } {
  const records: LogRecord[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      records.push(JSON.parse(String(chunk)) as LogRecord)
      done()
    },
  })
  return { log: createLogger({ name: 'test', level: 'info', destination }), records }
}
