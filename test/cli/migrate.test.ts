/** `docs/MIGRATING.md`: the commands import a dump of the existing system, in that order. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertEntity } from '../support/catalog/store.ts'
import { DUMP, linesOf } from '../support/cli/dump.ts'
import type { Ended } from '../support/cli/product.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'

const BIN = fileURLToPath(new URL('../../bin/tollgate.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'tg-migrate-'))
let stores: TestStores

beforeAll(async () => {
  stores = await startTestStores()
  const { catalog } = stores
  const from = '2026-01-01'
  await insertEntity(catalog, 'taxes', { key: 'DEFAULT_VAT', rate: 0.17, from })
  const money = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', priority: 1 }
  const units = { charging_by: 'usagev', charging_by_usaget: 'data', priority: 50 }
  const includes = [
    { ...money, external_id: 7, name: 'Main wallet' },
    { ...units, external_id: 8, name: 'DATA_PACK' },
  ]
  for (const one of includes) await insertEntity(catalog, 'prepaidincludes', { ...one, from })
})
afterAll(async () => {
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

function run(collection: string, ...args: string[]): Promise<Ended> {
  const file = join(folder, `${collection}.jsonl`)
  writeFileSync(file, linesOf(collection))
  const env = {
    PATH: process.env['PATH'],
    TOLLGATE_MONGO_URL: stores.mongo.url,
    TOLLGATE_MONGO_DATABASE: stores.mongo.database,
    TOLLGATE_REDIS_URL: stores.server.url,
    TOLLGATE_LEDGER_PARTITIONS: '4',
  }
  const child = spawn(process.execPath, [BIN, 'import', collection, file, ...args], { env })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (bytes: Buffer) => {
      output[name] += bytes.toString('utf8')
    })
  }
  return new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, ...output }))
  })
}

describe('a dump of the existing system', () => {
  it.each(['rates', 'services', 'plans', 'accounts', 'subscribers'])(
    'is imported: %s',
    async (collection) => {
      const count = DUMP[collection]?.length
      const { code, stdout, stderr } = await run(collection)
      expect([code, stdout], stderr).toEqual([0, `${count} of ${count} rows imported, 0 failed\n`])
    },
  )

  it('keeps numbers, dates and revisions', async () => {
    const { subscribers, plans, rates } = stores.catalog
    const account = await subscribers.findOne({ type: 'account' } as never)
    expect(account).toMatchObject({
      aid: 17,
      email: 'ada@example.org',
      from: new Date('2026-01-01'),
    })
    const subscriber = await subscribers.findOne({ type: 'subscriber' } as never)
    expect(subscriber).toMatchObject({
      ...{ sid: 18, aid: 17, plan: 'GOLD', from: new Date('2026-01-10') },
      services: [{ name: 'TV_PACK', quantity: 2, service_id: 1_700_000_000_000_002 }],
    })
    const gold = await plans.find({ name: 'GOLD' }).sort({ from: 1 }).toArray()
    expect(gold.map(({ from }) => from)).toEqual([new Date('2026-01-01'), new Date('2026-03-01')])
    expect(gold[0]?.to).toEqual(gold[1]?.from)
    expect(await rates.findOne({ key: 'CALL_LOCAL' })).toMatchObject({
      rates: { call: { SILVER: { rate: [{ interval: 60, price: 1 }] } } },
    })
  })

  const credits = async () => {
    const [loaded] = await stores.ledger.load([{ aid: 17, sid: 18, sessionKeys: [] }])
    if (loaded === undefined || loaded instanceof Error) throw loaded
    const { buckets } = loaded.state
    return buckets.map(({ prepaidIncludeId: include, free, toMs }) => ({ include, free, toMs }))
  }
  const toMs = Date.parse('2099-03-31T23:59:59Z')
  const CREDITS = [
    { include: 7, free: 12_500_000, toMs },
    { include: 8, free: 1_073_741_824, toMs },
  ]

  it('a dry run of balances writes nothing', async () => {
    const { stdout } = await run('balances', '--dry-run')
    expect(stdout).toBe('2 of 7 rows would be imported, 5 failed\n')
    expect(await credits()).toEqual([])
  })

  it('balances become credit; others are listed with the reason', async () => {
    const failed = join(folder, 'failed.jsonl')
    const { code, stdout, stderr } = await run('balances', '--failed', failed)
    expect([code, stdout], stderr).toEqual([1, '2 of 7 rows imported, 5 failed\n'])
    expect(await credits()).toEqual(CREDITS)
    const reasons = readFileSync(failed, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { row: string; text: string })
    expect(reasons.map(({ row }) => row)).toEqual(['3', '4', '5', '6', '7'])
    expect(reasons.map(({ text }) => text)).toEqual([
      'it counts usage: only prepaid balances are imported',
      'it has expired',
      'it is not valid yet',
      'it is overdrawn: more was used than credited',
      'there is no subscriber 99 now',
    ])
  })

  it('importing balances again adds nothing', async () => {
    const { stdout } = await run('balances')
    expect(stdout).toBe('2 of 7 rows imported, 5 failed\n')
    expect(await credits()).toEqual(CREDITS)
  })

  it.each(['--settings', '--operation', '--resume'])('balances have no %s', async (option) => {
    const { code, stderr } = await run('balances', option, 'x')
    expect(code).toBe(2)
    expect(stderr).toContain(`balances are imported without ${option}`)
  })
})
