/**
 * A process that dies before any one of its commands to MongoDB: once another process has
 * finished what it began, each completed write has one audit record, and an incomplete write has
 * none.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createEntityApi, entityStoresOf } from '../../src/admin/entity-api.ts'
import type { MendAudit } from '../../src/admin/follow-ups.ts'
import { STORED_CUSTOMERS } from '../../src/billing/customer-lookup.ts'
import { ObjectId } from '../../src/catalog/collections.ts'
import type { Catalog } from '../../src/catalog/connection.ts'
import { addCredit } from '../../src/cli/balance-add.ts'
import { loadConfig } from '../../src/config/load.ts'
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { OperationLine } from '../../src/domain/line.ts'
import type { EntityApi } from '../../src/entities/api.ts'
import { billActions } from '../../src/entities/records/bills.ts'
import { mendAccount } from '../../src/ledger/mend.ts'
import { operationStamp } from '../../src/ledger/operations.ts'
import { renewalId } from '../../src/prepaid/autorenew/renewal.ts'
import { performAudited } from '../../src/prepaid/balances/operation-audit.ts'
import { dyingAfter } from '../support/catalog/dying.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { ACTOR, act, at, RATE, YEAR_MS } from '../support/entities/actions/entity-fixture.ts'
import {
  ACCOUNT_COLUMNS,
  accountsCsv,
  useImports,
} from '../support/entities/import/import-fixture.ts'
import { useOpened } from '../support/opened.ts'
import { silent, startTestStores } from '../support/recorder/accounts.ts'

const open = useOpened(startTestStores)

function apiOn(catalog: Catalog, nowMs = YEAR_MS): EntityApi {
  const config = { ...loadConfig({ env: {} }) }
  const clock = { nowMs: () => nowMs }
  const stores = { catalog, ledger: open().ledger, clock, config, log: silent }
  return createEntityApi({ ...stores, lookup: STORED_CUSTOMERS })
}

/** Runs as another process, after every lease has expired. */
async function repair(): Promise<void> {
  const { catalog, ledger } = open()
  await catalog.outbox.updateMany({}, { $set: { expires: new Date(0) } })
  const clock = { nowMs: () => YEAR_MS + 120_000 }
  const config = loadConfig({ env: {} })
  entityStoresOf({ catalog, ledger, clock, config, lookup: STORED_CUSTOMERS, log: silent })
  await catalog.dispatcher.recover()
}

interface Attempt {
  /** Performs the write, on stores that may fail. */
  act(api: EntityApi): Promise<unknown>
  /** Whether the write is stored. */
  isDone(): Promise<boolean>
  /** Expected number of audit records if the write is stored. */
  records: number
}

/** Waits until everything that was stored for later is done, such as audit records. */
async function outboxIsEmpty(): Promise<void> {
  await expect.poll(() => open().catalog.outbox.countDocuments()).toBe(0)
}

/** Dies before each command in turn, until one attempt completes. */
async function everyDeath(next: (index: number) => Promise<Attempt>): Promise<void> {
  const seen = new Set<string>()
  for (let operations = 0; operations < 60; operations += 1) {
    await open().catalog.audit.deleteMany({})
    const attempt = await next(operations)
    const dying = await dyingAfter(open().mongo, operations)
    await attempt.act(apiOn(dying.catalog)).catch(() => undefined)
    await dying.close()
    await repair()
    await repair()
    await outboxIsEmpty()
    const isDone = await attempt.isDone()
    await outboxIsEmpty()
    const records = await open().catalog.audit.countDocuments()
    const label = `died before operation ${operations + 1}, ${isDone ? 'done' : 'not done'}`
    expect(`${label}: ${records} records`).toBe(`${label}: ${isDone ? attempt.records : 0} records`)
    seen.add(`${isDone}`)
    if (dying.died()) continue
    expect(isDone).toBe(true)
    expect([...seen].sort()).toEqual(['false', 'true'])
    return
  }
  throw new Error('it never gets through')
}

async function rateOf(key: string): Promise<{ _id: ObjectId }> {
  return insertEntity(open().catalog, 'rates', { key, ...RATE, from: '2025-01-01' })
}

describe('a dead process leaves one record if its write is stored, after', () => {
  const from = at('2026-03-01')

  it.each([
    ['an update', 'update', { set: { description: 'next' } }, { description: 'next' }, 1, 1],
    ['a closeandnew', 'closeandnew', { from }, {}, 2, 1],
    ['a permanentchange', 'permanentchange', { set: { description: 'x' }, from }, {}, 2, 2],
  ] as const)('%s', (_, action, change, stored, revisions, records) =>
    everyDeath(async (index) => {
      const key = `${action}_${index}`.toUpperCase()
      const { _id } = await rateOf(key)
      const count = () => open().catalog.rates.countDocuments({ key, ...stored } as object)
      return {
        act: ({ stores }) => act(stores, 'rates', action, { target: { _id }, ...change }),
        isDone: async () => (await count()) === revisions,
        records,
      }
    }),
  )

  it('a create', () =>
    everyDeath(async (index) => {
      const lastname = `Byron ${index}`
      const set = { lastname, firstname: 'Ada' }
      return {
        act: ({ stores }) => act(stores, 'accounts', 'create', { set, from: at('2026-01-01') }),
        isDone: async () =>
          (await open().catalog.subscribers.countDocuments({ lastname } as object)) === 1,
        records: 1,
      }
    }))

  it('an update and the deletion of a bill', async () => {
    const bill = async (aid: number) => {
      const _id = new ObjectId()
      const urt = at('2026-01-01')
      await open().catalog.bills.insertOne({ _id, type: 'inv', aid, urt, due: 1, amount: 1 })
      return _id
    }
    const due_date = at('2026-02-01')
    for (const [action, update] of [
      ['update', { due_date }],
      ['delete', {}],
    ] as const) {
      await everyDeath(async (index) => {
        const _id = await bill(index)
        const write = { actor: ACTOR, additional: {}, operationId: null, query: { _id }, update }
        return {
          act: async ({ stores }) => billActions(stores).write?.(action, write),
          isDone: async () => {
            const stored = await open().catalog.bills.findOne({ _id })
            if (action === 'delete') return stored === null
            return stored?.due_date?.getTime() === due_date.getTime()
          },
          records: 1,
        }
      })
    }
  })
})

describe('a process that dies while it loads a balance', () => {
  beforeAll(async () => {
    const { catalog } = open()
    await insertEntity(catalog, 'plans', { name: 'GOLD', from: '2025-01-01' })
    const definition = { charging_by: 'usagev', charging_by_usaget: 'data', priority: 50 }
    for (const external_id of [2, 3]) {
      const named = { external_id, name: `DATA_${external_id}`, from: '2025-01-01' }
      await insertEntity(catalog, 'prepaidincludes', { ...definition, ...named })
    }
    const include = [2, 3].map((id) => ({ pp_includes_external_id: id, value: -10 }))
    const group = { name: 'BOTH', include, operation: 'inc', description: 'x', from: '2025-01-01' }
    await insertEntity(catalog, 'prepaidgroups', group)
  })

  async function holder(sid: number): Promise<void> {
    const terms = { plan: 'GOLD', from: '2025-01-01' }
    await insertEntity(open().catalog, 'subscribers', { sid, aid: 500, ...terms })
  }

  /** Number of its operations that the ledger has done. */
  async function loaded(operationId: string, isPlan: boolean): Promise<number> {
    const ids = isPlan ? [1, 2].map((part) => `${operationId}/${part}`) : [operationId]
    const found = await Promise.all(ids.map((id) => open().ledger.findOperation(500, id)))
    return found.filter((one) => one !== null).length
  }

  it.each([
    ['of one bucket', { pp_includes_external_id: 2 }, 1],
    ['of a charging plan', { charging_plan: 'BOTH' }, 2],
  ] as const)(
    'leaves one record %s each, also when the request is repeated',
    async (what, named, parts) => {
      await everyDeath(async (index) => {
        const sid = 7000 + 100 * parts + index
        await holder(sid)
        const operationId = `${what.replaceAll(' ', '-')}-${index}`
        const load = (api: EntityApi) =>
          api.recordActions['balances']?.write?.('update', {
            actor: ACTOR,
            query: { sid, ...named },
            additional: {},
            operationId,
            update: { value: -10 },
          }) ?? Promise.reject(new Error('no write'))
        return {
          act: load,
          isDone: async () => {
            const before = await loaded(operationId, parts === 2)
            if (before === 0) return false
            // The client repeats the request.
            await load(apiOn(open().catalog, YEAR_MS + 180_000))
            expect(await loaded(operationId, parts === 2)).toBe(parts)
            return true
          },
          records: parts,
        }
      })
    },
  )
})

describe('a process that dies', () => {
  const OWNER = { aid: 500, plan: 'GOLD', from: '2025-01-01' }

  it('while `tollgate balance add` runs leaves one record if the credit is there', () =>
    everyDeath(async (index) => {
      const sid = 9000 + index
      await insertEntity(open().catalog, 'subscribers', { sid, ...OWNER })
      const operationId = `cli-add-${index}`
      const command = {
        ...{ owner: { sid, aid: undefined }, includeId: 2, amountText: '10', operationId },
        ...{ fromMs: undefined, toMs: undefined },
      }
      const { ledger } = open()
      const config = loadConfig({ env: {} })
      return {
        act: ({ stores: { catalog, clock } }) =>
          addCredit(
            { catalog, ledger, clock, accounts: { lookup: STORED_CUSTOMERS } },
            config,
            command,
          ),
        isDone: async () => (await ledger.findOperation(500, operationId)) !== null,
        records: 1,
      }
    }))

  it('while an auto-renewal is created leaves its record and those of its charge', () =>
    everyDeath(async (index) => {
      const sid = 9500 + index
      await insertEntity(open().catalog, 'subscribers', { sid, ...OWNER })
      const terms = { aid: 500, sid, bucket_group: 'BOTH', cycles: 3, immediate: true }
      const from = at('2026-01-01')
      return {
        act: ({ stores }) => act(stores, 'autorenew', 'create', { set: terms, from }),
        isDone: async () => {
          const renewal = await open().catalog.autorenew.findOne({ sid })
          if (renewal === null) return false
          const chargedMs = Number(renewal.last_renew?.getTime())
          const operationId = renewalId(renewal._id.toHexString(), chargedMs)
          const parts = [1, 2].map((part) =>
            open().ledger.findOperation(500, `${operationId}/${part}`),
          )
          expect((await Promise.all(parts)).includes(null)).toBe(false)
          return true
        },
        records: 3,
      }
    }))

  it('while --mend corrects an account leaves one record per line', () =>
    everyDeath(async (index) => {
      const aid = 9000 + index
      const state = { ...emptyOwner(aid, 1), version: 1 }
      const operationId = `mend-${index}`
      const lines = [mendLine(aid, operationId)]
      const work = { aid, operationId, lines, usage: [], lostOperations: [] }
      const owners = [{ before: 0, state, sessions: [] }]
      const payload: MendAudit = { actor: ACTOR, type: 'mend', aid, operationId, lines }
      return {
        act: ({ stores: { catalog } }) =>
          performAudited(catalog, { kind: 'mend', payload }, async () => {
            await mendAccount(open().ledger, { ...work, owners }, 60_000)
            return { operations: lines }
          }),
        isDone: async () => (await open().ledger.findOperation(aid, operationId)) !== null,
        records: 1,
      }
    }))
})

function mendLine(aid: number, operationId: string): OperationLine {
  const id = `${operationId}/1/1`
  const amounts = { kind: 'units', amount: 5, before: 0, after: 5, repaid: 0 } as const
  const bucket = { bucketId: 1, prepaidIncludeId: 2, usaget: 'data', priority: 1 }
  const terms = { fromMs: 0, toMs: YEAR_MS, version: 1, atMs: YEAR_MS }
  const mended = { credited: 5, spent: 0, owed: 0, repaid: 0 }
  const which = { stamp: operationStamp(aid, id), operationId: id, operation: 'mend' } as const
  return { aid, sid: 1, ...which, ...amounts, ...bucket, ...terms, mended }
}

describe('an import whose process dies', () => {
  const imports = useImports()
  beforeEach(async () => {
    await imports.catalog().audit.deleteMany({})
  })

  const settings = { collection: 'accounts', update: { map: ACCOUNT_COLUMNS }, importId: 'cut' }

  it('leaves one record for each stored row, and one for the completed import', async () => {
    const catalog = imports.catalog()
    const text = accountsCsv(20)
    for (let operations = 4; ; operations += 2) {
      const dying = await dyingAfter(imports.mongo(), operations)
      // Each repair is later than the one before, so no import is locked any more.
      const nowMs = Date.UTC(2026, 5, operations)
      const api = imports.api({ catalog: dying.catalog, nowMs })
      await imports.run({ ...settings, text, api }).catch(() => undefined)
      await dying.close()
      const rows = await catalog.subscribers.countDocuments({ type: 'account' })
      expect(await catalog.audit.countDocuments({ type: 'create' })).toBe(rows)
      if (!dying.died()) break
    }
    const records = await catalog.audit.find().toArray()
    const aids = await catalog.subscribers.distinct('aid', { type: 'account' })
    const created = records.filter(({ type }) => type === 'create')
    expect(created.map(({ key }) => Number(key)).sort()).toEqual([...aids].sort())
    expect(created[0]).toMatchObject({ user: { by: 'cli', name: 'importer' }, old: null })
    expect(records.filter(({ type }) => type === 'import')).toMatchObject([
      {
        collection: 'accounts',
        key: 'cut',
        new: { file_name: 'rows.csv', operation: 'create', total: 20, succeeded: 20, failed: 0 },
      },
    ])
  })

  it('leaves no record if it is a dry run', async () => {
    const update = { ...settings.update, dry_run: true }
    await imports.run({ ...settings, update, text: accountsCsv(3) })
    expect(await imports.catalog().audit.countDocuments()).toBe(0)
  })
})
