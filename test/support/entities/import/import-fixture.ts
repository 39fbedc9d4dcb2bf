/** Imports on real stores, with all dependencies of a running node. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { createEntityApi } from '../../../../src/admin/entity-api.ts'
import { STORED_CUSTOMERS } from '../../../../src/billing/customer-lookup.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { Config } from '../../../../src/config/schema.ts'
import type { EntityApi } from '../../../../src/entities/api.ts'
import { DEFINITIONS } from '../../../../src/entities/definitions/collections.ts'
import {
  type ImportRequest,
  type ImportWatch,
  importRows,
} from '../../../../src/entities/import/import-rows.ts'
import { migrationSettings } from '../../../../src/entities/import/migration.ts'
import { readSettings } from '../../../../src/entities/import/read-settings.ts'
import type { ImportResult } from '../../../../src/entities/import/result.ts'
import { insertEntity } from '../../catalog/store.ts'
import { silent, startTestStores, type TestStores } from '../../recorder/accounts.ts'

export const NOW_MS = Date.UTC(2026, 5, 1)

export interface Imported {
  collection: string
  text: string | Buffer
  update?: Record<string, unknown>
  operation?: string
  name?: string
  importId?: string
  /** Replaces the default API. */
  api?: EntityApi
  watch?: ImportWatch
}

export interface ImportFixture {
  catalog(): Catalog
  mongo(): TestStores['mongo']
  api(options?: { catalog?: Catalog; nowMs?: number; config?: Partial<Config> }): EntityApi
  run(imported: Imported): Promise<ImportResult>
  /** Imports documents of the replaced system. */
  migrate(collection: string, rows: readonly object[], isDryRun?: boolean): Promise<ImportResult>
  file(text: string | Buffer): string
}

const WRITTEN = [
  'subscribers',
  'plans',
  'services',
  'rates',
  'discounts',
  'taxes',
  'prepaidincludes',
  'billrun',
] as const

/** Stores of one test file; they are emptied after each test. */
export function useImports(): ImportFixture {
  const folder = mkdtempSync(join(tmpdir(), 'tg-import-'))
  let stores: TestStores
  let files = 0
  beforeAll(async () => {
    stores = await startTestStores()
  })
  afterEach(async () => {
    const { catalog } = stores
    for (const name of WRITTEN) await catalog[name].deleteMany({})
    for (const name of ['imports', 'outbox', 'config', 'counters'] as const) {
      await catalog[name].deleteMany({})
    }
  })
  afterAll(async () => {
    await stores.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const api: ImportFixture['api'] = ({
    catalog = stores.catalog,
    nowMs = NOW_MS,
    config = {},
  } = {}) =>
    createEntityApi({
      catalog,
      ledger: stores.ledger,
      clock: { nowMs: () => nowMs },
      lookup: STORED_CUSTOMERS,
      log: silent,
      config: { ...loadConfig({ env: {} }), ...config },
    })
  const file = (text: string | Buffer) => {
    files += 1
    const path = join(folder, String(files))
    writeFileSync(path, text)
    return path
  }
  const importFrom = async (
    collection: string,
    given: EntityApi,
    request: Pick<ImportRequest, 'settings' | 'file' | 'importId'>,
    watch: ImportWatch,
  ) => {
    const definition = definitionOf(collection)
    const { fields: current, stores: own } = given.batch
    const fields = await current.of(definition)
    const actor = { by: 'cli', id: '', name: 'importer', address: '' } as const
    return importRows(own, { actor, definition, fields, ...request }, watch)
  }
  return {
    catalog: () => stores.catalog,
    mongo: () => stores.mongo,
    api,
    file,
    async run({ collection, text, update = {}, operation = '', ...more }) {
      const { name = 'rows.csv', importId = null, watch = {}, api: given = api() } = more
      const settings = await readSettings(given.batch, definitionOf(collection), update, operation)
      const source = { path: file(text), name }
      return importFrom(collection, given, { settings, file: source, importId }, watch)
    },
    async migrate(collection, rows, isDryRun = false) {
      const text = rows.map((row) => JSON.stringify(row)).join('\n')
      const source = { path: file(text), name: 'rows.jsonl' }
      const settings = migrationSettings(isDryRun)
      return importFrom(collection, api(), { settings, file: source, importId: null }, {})
    },
  }
}

function definitionOf(collection: string) {
  const definition = DEFINITIONS.get(collection)
  if (definition === undefined) throw new Error(`there is no ${collection}`)
  return definition
}

/** A map of columns by their order. */
export function columns(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, `__csvindex__${index}`]))
}

export const ACCOUNT_COLUMNS = columns(
  'firstname',
  'lastname',
  'email',
  'country',
  'address',
  'zip_code',
)

export function accountLine(index: number, more = ''): string {
  return `Ada,Byron ${index},ada${index}@example.org,UK,${index} Mill Rd,AB${index}${more}`
}

export const ACCOUNT_HEADER = 'first,last,mail,country,address,zip'

/** This number of accounts as CSV. */
export function accountsCsv(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => accountLine(index))
  return `${[ACCOUNT_HEADER, ...lines].join('\n')}\n`
}

export async function insertPlan(catalog: Catalog): Promise<void> {
  await insertEntity(catalog, 'plans')
}

/** Accounts with the import ids that the linker looks for. */
export async function insertAccounts(catalog: Catalog, count: number, from = '2026-01-01') {
  for (let index = 0; index < count; index += 1) {
    const names = { account_import_id: `A${index}`, firstname: 'Ada' }
    const account = { type: 'account', aid: 100 + index, from, ...names }
    await insertEntity(catalog, 'subscribers', {
      sid: undefined,
      plan: undefined,
      ...account,
    })
  }
}

export const SUBSCRIBER_COLUMNS = columns(
  'firstname',
  'lastname',
  'plan',
  'address',
  'msisdn',
  'from',
)

export function subscriberSettings(): Record<string, unknown> {
  return {
    map: SUBSCRIBER_COLUMNS,
    linker: { field: 'account_import_id', value: '__csvindex__6' },
  }
}

export function subscriberLine(index: number, account: string, from = '2026-05-01'): string {
  const number = `+4420${String(index).padStart(6, '0')}`
  return `Eve,Line ${index},GOLD,1 Mill Rd,${number},${from},${account}`
}

export const SUBSCRIBER_HEADER = 'first,last,plan,address,msisdn,from,account'
