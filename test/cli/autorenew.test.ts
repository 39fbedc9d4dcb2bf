/** `tollgate autorenew run`. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insertEntity } from '../support/catalog/store.ts'
import { runOn } from '../support/cli/tollgate.ts'
import { emptyLedger } from '../support/ledger.ts'
import { loadOwner, startTestStores, type TestStores } from '../support/recorder/accounts.ts'

const UNITS = 100
let stores: TestStores

beforeAll(async () => {
  stores = await startTestStores()
  const { catalog } = stores
  await catalog.ensureIndexes()
  const from = '2024-01-01'
  await insertEntity(catalog, 'plans', { from })
  await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70, from })
  const units = { charging_by: 'usagev', charging_by_usaget: 'data', priority: 50 }
  await insertEntity(catalog, 'prepaidincludes', { ...units, external_id: 2, name: 'DATA', from })
  const include = [{ pp_includes_external_id: 2, value: -UNITS }]
  await insertEntity(catalog, 'prepaidgroups', { name: 'LOAD', include, operation: 'inc', from })
})
afterAll(() => stores?.close())
beforeEach(async () => {
  await emptyLedger(stores.ledger)
  const { autorenew, audit } = stores.catalog
  await autorenew.deleteMany({})
  await audit.deleteMany({})
  await insertEntity(stores.catalog, 'autorenew', {
    ...{ aid: 7, sid: 70, bucket_group: 'LOAD', interval: 'month', from: '2024-01-01' },
    ...{ cycles: 5, cycles_remaining: 5, anchor_day: 31, next_renew: '2024-01-31' },
  })
})

const run = (...args: string[]) =>
  runOn(stores, ['autorenew', 'run', ...args], { TOLLGATE_RATING_TIME_ZONE: 'UTC' })

async function credited(): Promise<number> {
  const { buckets } = await loadOwner(stores.ledger, 7, 70)
  return buckets.reduce((sum, bucket) => sum + bucket.credited, 0)
}

describe('tollgate autorenew run', () => {
  it('charges what is due at a time, each date once, with its loads', async () => {
    const at = ['--at', '2024-03-31']
    const first = await run(...at)
    expect(first).toEqual({ code: 0, stdout: 'charged 3 due dates\n', stderr: '' })
    expect(await credited()).toBe(3 * UNITS)
    const [renewal] = await stores.catalog.autorenew.find().toArray()
    expect(renewal).toMatchObject({
      cycles_remaining: 2,
      next_renew: new Date('2024-04-30T00:00:00Z'),
    })
    const again = await run(...at, '--json')
    expect(JSON.parse(again.stdout)).toEqual({ charged: 0 })
    const operations = await stores.catalog.audit.find({ type: 'renew' }).toArray()
    expect(operations.map(({ operation_id: id }) => String(id).slice(-24, -14)).sort()).toEqual([
      '2024-01-31',
      '2024-02-29',
      '2024-03-31',
    ])
  })

  it('charges what is due now, in two processes at once', async () => {
    const ran = await Promise.all([run('--json'), run('--json')])
    const counts = ran.map(({ stdout }) => (JSON.parse(stdout) as { charged: number }).charged)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5)
    expect(await credited()).toBe(5 * UNITS)
    expect(await stores.catalog.outbox.countDocuments()).toBe(0)
  })

  it('refuses a time that is none', async () => {
    expect(await run('--at', 'soon')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--at must be a date, as in 2030-01-31 or ISO 8601'),
    })
  })
})
