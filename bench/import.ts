/**
 * Imported rows per second, compared with the ceiling of the same run: the same documents, written
 * into an empty database by the driver alone, in batches of the same size.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { createEntityApi } from '../src/admin/entity-api.ts'
import { STORED_CUSTOMERS } from '../src/billing/customer-lookup.ts'
import type { Collection } from '../src/catalog/collections.ts'
import { type Catalog, openCatalog } from '../src/catalog/connection.ts'
import { seedDemoCatalogue } from '../src/catalog/demo.ts'
import { loadConfig } from '../src/config/load.ts'
import type { EntityApi } from '../src/entities/api.ts'
import { DEFINITIONS } from '../src/entities/definitions/collections.ts'
import { importRows } from '../src/entities/import/import-rows.ts'
import { readSettings } from '../src/entities/import/read-settings.ts'
import { createLedger } from '../src/ledger/ledger.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { createLogger } from '../src/runtime/log.ts'
import { openRedis } from '../src/store/redis.ts'
import { DEMO_BY } from '../test/support/catalog/store.ts'
import { type Product, startProduct } from '../test/support/product/product.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '20000' } },
})
const ROWS = Number(values.rows)
const PER_ACCOUNT = 10
const BATCH = 100
const say = (text: string) => process.stdout.write(`${text}\n`)
const log = createLogger({ name: 'bench', level: 'warn' })
const column = (index: number) => `__csvindex__${index}`

interface Kind {
  collection: 'accounts' | 'subscribers'
  rows: number
  header: string
  line: (index: number) => string
  settings: Record<string, unknown>
}

const KINDS: readonly Kind[] = [
  {
    collection: 'accounts',
    rows: ROWS,
    header: 'id,first,last,mail,country,address,zip',
    line: (index) => `A${index},Ada,Byron ${index},ada@example.org,UK,${index} Mill Rd,AB1`,
    settings: {
      map: {
        account_import_id: column(0),
        firstname: column(1),
        lastname: column(2),
        email: column(3),
        country: column(4),
        address: column(5),
        zip_code: column(6),
      },
    },
  },
  {
    collection: 'subscribers',
    rows: ROWS,
    header: 'account,first,last,msisdn,address,plan',
    line: (index) =>
      `A${Math.floor(index / PER_ACCOUNT)},Eve,Byron ${index},4420${index},1 Mill Rd,PLAN`,
    settings: {
      map: {
        firstname: column(1),
        lastname: column(2),
        msisdn: column(3),
        address: column(4),
        plan: column(5),
      },
      linker: { field: 'account_import_id', value: column(0) },
    },
  },
]

/** Milliseconds of the driver alone, with the same indexes. */
async function ceilingMs(from: Catalog, empty: Catalog, { collection }: Kind): Promise<number> {
  const type = collection === 'accounts' ? 'account' : 'subscriber'
  const documents = await from.subscribers.find({ type }).toArray()
  const target = empty.subscribers as unknown as Collection
  const startedMs = performance.now()
  for (let index = 0; index < documents.length; index += BATCH) {
    await target.insertMany(documents.slice(index, index + BATCH) as object[])
  }
  return performance.now() - startedMs
}

async function measure(api: EntityApi, empty: Catalog, folder: string, kind: Kind): Promise<void> {
  const definition = DEFINITIONS.get(kind.collection)
  if (definition === undefined) throw new Error(kind.collection)
  const lines = Array.from({ length: kind.rows }, (_, index) => kind.line(index))
  const path = join(folder, `${kind.collection}.csv`)
  writeFileSync(path, [kind.header, ...lines].join('\n'))
  const settings = await readSettings(api, definition, kind.settings, '')
  const fields = await api.fields.of(definition)
  const file = { path, name: 'rows.csv' }
  const startedMs = performance.now()
  const actor = { by: 'cli', id: '', name: 'bench', address: '' } as const
  const request = { actor, definition, fields, settings, file, importId: null }
  const { succeeded, details } = await importRows(api.stores, request)
  const tookMs = performance.now() - startedMs
  if (succeeded !== kind.rows) throw new Error(JSON.stringify(Object.entries(details).at(-1)))
  const ceiling = await ceilingMs(api.stores.catalog, empty, kind)
  const rate = (ms: number) => `${Math.round((kind.rows / ms) * 1000)} rows/s`
  const share = `${((100 * ceiling) / tookMs).toFixed(0)} % of the ceiling`
  say(`${kind.collection.padEnd(12)} ${rate(tookMs)}  ceiling ${rate(ceiling)}  ${share}`)
}

async function main({ redisUrl, mongoUrl, database, folder }: Product): Promise<void> {
  const config = loadConfig({ env: {} })
  const connection = { url: mongoUrl, timeoutMs: 10_000, appName: 'bench' }
  const catalog = await openCatalog({ ...connection, database })
  const empty = await openCatalog({ ...connection, database: `${database}_ceiling` })
  const redis = openRedis({ ...config.redis, url: redisUrl }, log)
  try {
    await Promise.all([catalog.ensureIndexes(), empty.ensureIndexes()])
    await seedDemoCatalogue(catalog, DEMO_BY)
    const { name } = (await catalog.plans.findOne({})) ?? { name: '' }
    const ledger = createLedger(redis, config.ledger, 1)
    const api = createEntityApi({
      catalog,
      ledger,
      clock: systemClock,
      config,
      lookup: STORED_CUSTOMERS,
      log,
    })
    for (const kind of KINDS) {
      const line = (index: number) => kind.line(index).replace(/PLAN$/, name)
      await measure(api, empty, folder, { ...kind, line })
    }
  } finally {
    await Promise.all([catalog.close(), empty.close(), redis.close()])
  }
}

const product = await startProduct({ roles: [] })
try {
  await main(product)
} finally {
  await product.stop()
}
