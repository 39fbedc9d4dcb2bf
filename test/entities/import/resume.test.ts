/** An import that is killed or interrupted at any of its steps writes each row once. */
import { describe, expect, it } from 'vitest'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { patienceOf } from '../../../src/catalog/patience.ts'
import { readProgress } from '../../../src/entities/import/progress.ts'
import type { ImportResult } from '../../../src/entities/import/result.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_HEADER,
  accountLine,
  accountsCsv,
  columns,
  insertAccounts,
  insertPlan,
  NOW_MS,
  SUBSCRIBER_HEADER,
  subscriberLine,
  subscriberSettings,
  useImports,
} from '../../support/entities/import/import-fixture.ts'

const scene = useImports()

/** Longer than any lease, so that the locks of the dead process have expired. */
const LATER_MS = NOW_MS + 120_000

/** The process dies at the n-th operation on the store: before or after it is done. */
function dyingCatalog(catalog: Catalog, at: number, when: 'before' | 'after') {
  let count = 0
  const dead = new CatalogUnavailableError('killed')
  const step = async <T>(act: () => Promise<T>): Promise<T> => {
    count += 1
    if (count > at || (count === at && when === 'before')) throw dead
    const result = await act()
    if (count >= at) throw dead
    return result
  }
  const run: Catalog['run'] = (what, act) => step(() => catalog.run(what, act))
  const dying: Catalog = {
    ...withGuards(catalog, { run }),
    transaction: (what, act) => step(() => catalog.transaction(what, act)),
  }
  return { dying, wasReached: () => count >= at }
}

/** The answer to the n-th operation is lost: before or after it is done. */
function interruptedCatalog(catalog: Catalog, at: number, when: 'before' | 'after') {
  let count = 0
  const lost = new CatalogUnavailableError('interrupted')
  const step = async <T>(act: () => Promise<T>): Promise<T> => {
    count += 1
    if (count !== at) return act()
    if (when === 'after') await act()
    throw lost
  }
  const run: Catalog['run'] = (what, act) => step(() => catalog.run(what, act))
  const interrupted: Catalog = {
    ...withGuards(catalog, { run }),
    transaction: (what, act) => step(() => catalog.transaction(what, act)),
  }
  return { interrupted, wasReached: () => count >= at }
}

interface ImportCase {
  imported: Omit<Parameters<typeof scene.run>[0], 'importId' | 'api'>
  begin(catalog: Catalog): Promise<void>
  /** Removes what the import wrote. */
  reset(catalog: Catalog): Promise<void>
  check(catalog: Catalog, result: ImportResult): Promise<void>
}

/** Kills the import at each operation in turn, or each n-th; returns the number of operations. */
async function killEverywhere(
  importCase: ImportCase,
  when: 'before' | 'after',
  each = 1,
): Promise<number> {
  for (let at = 1; ; at += each) {
    const catalog = scene.catalog()
    await importCase.begin(catalog)
    const importId = `kill-${at}`
    const { dying, wasReached } = dyingCatalog(catalog, at, when)
    const first = { ...importCase.imported, importId, api: scene.api({ catalog: dying }) }
    const outcome = await scene.run(first).then(
      () => 'done',
      () => 'killed',
    )
    const again = { ...importCase.imported, importId, api: scene.api({ nowMs: LATER_MS }) }
    await importCase.check(catalog, await scene.run(again))
    const progress = await readProgress({ catalog, clock: { nowMs: () => LATER_MS } }, importId)
    expect(progress).toMatchObject({ state: 'done' })
    await importCase.reset(catalog)
    if (outcome === 'done' || !wasReached()) return at
  }
}

/** Interrupts the import at each operation in turn; returns the number of those that waited. */
async function interruptEverywhere(
  importCase: ImportCase,
  when: 'before' | 'after',
): Promise<number> {
  let waited = 0
  for (let at = 1; ; at += 1) {
    const catalog = scene.catalog()
    await importCase.begin(catalog)
    const { interrupted, wasReached } = interruptedCatalog(catalog, at, when)
    const told: (string | null)[] = []
    const patience = { ...patienceOf(60_000, (reason) => told.push(reason)), pauseMs: 1 }
    const api = scene.api({ catalog: { ...interrupted, patience } })
    const result = await scene.run({ ...importCase.imported, importId: `cut-${at}`, api })
    // A missing index is only a warning, for which nothing is repeated.
    if (told.length > 0) {
      waited += 1
      expect(told).toEqual(['interrupted', null])
    }
    await importCase.check(catalog, result)
    await importCase.reset(catalog)
    if (!wasReached()) return waited
  }
}

const ACCOUNTS: ImportCase = {
  imported: {
    collection: 'accounts',
    text: accountsCsv(4).replace('ada2@example.org', 'nomail'),
    update: { map: ACCOUNT_COLUMNS },
  },
  begin: async () => {},
  async reset(catalog) {
    await catalog.subscribers.deleteMany({})
  },
  async check(catalog, { details }) {
    expect(details).toEqual({ 2: true, 3: true, 4: expect.stringContaining('email'), 5: true })
    const found = await catalog.subscribers.find({}).toArray()
    const names = found.map((account) => (account as unknown as { lastname: string }).lastname)
    expect(names.sort()).toEqual(['Byron 0', 'Byron 1', 'Byron 3'])
    expect(new Set(found.map(({ aid }) => aid)).size).toBe(3)
  },
}

/** The second one begins before its account: two documents that are written together. */
const SUBSCRIBERS: ImportCase = {
  imported: {
    collection: 'subscribers',
    text: [
      SUBSCRIBER_HEADER,
      subscriberLine(1, 'A0'),
      subscriberLine(2, 'A1', '2025-12-01'),
      subscriberLine(3, 'A1'),
    ].join('\n'),
    update: subscriberSettings(),
  },
  async begin(catalog) {
    await insertPlan(catalog)
    await catalog.plans.updateMany({}, { $set: { from: new Date(0) } })
    await insertAccounts(catalog, 2)
  },
  async reset(catalog) {
    await catalog.subscribers.deleteMany({})
    await catalog.plans.deleteMany({})
  },
  async check(catalog, { details }) {
    expect(details).toEqual({ 2: true, 3: true, 4: true })
    const found = await catalog.subscribers.find({ type: 'subscriber' }).toArray()
    expect(found).toHaveLength(3)
    const account = await catalog.subscribers.findOne({ type: 'account', aid: 101 })
    expect(account?.from).toEqual(new Date(Date.UTC(2025, 11, 1)))
  },
}

const RATES: ImportCase = {
  imported: {
    collection: 'rates',
    operation: 'permanentchange',
    text: 'key,date,to,price,plan\nDATA,2026-03-01,,0.2,\nDATA,2026-03-01,,0.1,GOLD\n',
    update: {
      map: {
        ...columns('key', 'effective_date', 'price_to', 'price_value', 'price_plan'),
        usage_type_value: 'data',
      },
      updater: { field: 'key', value: '__csvindex__0' },
    },
  },
  async begin(catalog) {
    await insertEntity(catalog, 'rates')
    await insertPlan(catalog)
  },
  async reset(catalog) {
    await catalog.rates.deleteMany({})
    await catalog.plans.deleteMany({})
  },
  async check(catalog, { details }) {
    expect(details).toEqual({ 2: true, 3: true })
    const begins = [new Date(Date.UTC(2026, 0, 1)), new Date(Date.UTC(2026, 2, 1))]
    const rates = await catalog.rates.find({}).sort({ from: 1 }).toArray()
    expect(rates.map(({ from }) => from)).toEqual(begins)
    expect(rates[1]?.rates['data']?.['BASE']?.rate[0]?.price).toBe(0.2)
    const plans = await catalog.plans.find({}).sort({ from: 1 }).toArray()
    expect(plans.map(({ from }) => from)).toEqual(begins)
    expect(plans[1]).toMatchObject({ rates: { DATA: { data: { rate: [{ price: 0.1 }] } } } })
  },
}

/** Three batches of 500: while one batch is written the next one is prepared. */
const BATCHES: ImportCase = {
  imported: {
    collection: 'accounts',
    text: [
      `${ACCOUNT_HEADER},vat`,
      // The last row has the value of the first one.
      ...Array.from({ length: 1_101 }, (_, index) => accountLine(index, `,V${index % 1_100}`)),
    ].join('\n'),
    update: { map: { ...ACCOUNT_COLUMNS, vat: '__csvindex__6' } },
  },
  async begin({ config }) {
    const value = { account: { fields: [{ field_name: 'vat', unique: true }] } }
    const stored = { value, rev: 1, changed: new Date(0), changed_by: 'test' }
    await config.replaceOne({ _id: 'subscribers' }, stored, { upsert: true })
  },
  async reset(catalog) {
    await catalog.subscribers.deleteMany({})
  },
  async check(catalog, { total, succeeded, details }) {
    expect({ total, succeeded }).toEqual({ total: 1_101, succeeded: 1_100 })
    expect(details[1_102]).toContain('vat must be unique')
    const found = await catalog.subscribers.find({}).toArray()
    expect(new Set(found.map(({ aid }) => aid)).size).toBe(1_100)
    expect(found).toHaveLength(1_100)
  },
}

describe('an import that is killed resumes', () => {
  it.each(['before', 'after'] as const)('%s some steps: several batches', async (when) => {
    expect(await killEverywhere(BATCHES, when, 17)).toBeGreaterThan(20)
  })

  it.each(['before', 'after'] as const)('%s any step: accounts', async (when) => {
    expect(await killEverywhere(ACCOUNTS, when)).toBeGreaterThan(8)
  })

  it.each(['before', 'after'] as const)('%s any step: subscribers', async (when) => {
    expect(await killEverywhere(SUBSCRIBERS, when)).toBeGreaterThan(10)
  })

  it.each(['before', 'after'] as const)('%s any step: a permanentchange', async (when) => {
    expect(await killEverywhere(RATES, when)).toBeGreaterThan(10)
  })
})

describe('an import whose store does not answer once continues by itself', () => {
  it.each(['before', 'after'] as const)('%s any step: accounts', async (when) => {
    expect(await interruptEverywhere(ACCOUNTS, when)).toBeGreaterThan(8)
  })

  it.each(['before', 'after'] as const)('%s any step: subscribers', async (when) => {
    expect(await interruptEverywhere(SUBSCRIBERS, when)).toBeGreaterThan(10)
  })

  it.each(['before', 'after'] as const)('%s any step: a permanentchange', async (when) => {
    expect(await interruptEverywhere(RATES, when)).toBeGreaterThan(10)
  })
})

describe('an import id', () => {
  const imported = {
    collection: 'accounts',
    text: accountsCsv(2),
    update: { map: ACCOUNT_COLUMNS },
    importId: 'twice',
  }

  it('of a completed import returns the same answer again, and writes nothing', async () => {
    const first = await scene.run(imported)
    expect(await scene.run(imported)).toEqual(first)
    expect(await scene.catalog().subscribers.countDocuments()).toBe(2)
  })

  it('belongs to one file and its settings', async () => {
    await scene.run(imported)
    await expect(scene.run({ ...imported, text: accountsCsv(3) })).rejects.toThrow(
      'use another import_id',
    )
    const other = {
      ...imported,
      update: { map: ACCOUNT_COLUMNS, default_values: { salutation: 'x' } },
    }
    await expect(scene.run(other)).rejects.toThrow('use another import_id')
  })

  it('of a running import is refused', async () => {
    const { dying } = dyingCatalog(scene.catalog(), 9, 'before')
    await scene.run({ ...imported, api: scene.api({ catalog: dying }) }).catch(() => undefined)
    const progress = await readProgress(scene.api().stores, 'twice')
    expect(progress).toMatchObject({ state: 'running', total: 2, done: 0 })
    await expect(scene.run(imported)).rejects.toThrow('is being done by another process')
  })

  it.each(['', 'a b', 'a/b', '../x'])('cannot be %j', async (importId) => {
    await expect(scene.run({ ...imported, importId })).rejects.toThrow('import_id must be')
  })
})
