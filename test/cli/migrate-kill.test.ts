/** `tollgate import --migrate`, killed and repeated without `--resume`, writes nothing twice. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../src/catalog/connection.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { DUMP, linesOf } from '../support/cli/dump.ts'
import type { Ended } from '../support/cli/product.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'
import { waitUntil } from '../support/wait.ts'

const BIN = fileURLToPath(new URL('../../bin/tollgate.mjs', import.meta.url))
const COUNT = 600
const folder = mkdtempSync(join(tmpdir(), 'tg-migrate-'))
let stores: TestStores
let catalog: Catalog

beforeAll(async () => {
  stores = await startTestStores()
  catalog = stores.catalog
  await catalog.ensureIndexes()
  const from = '2020-01-01'
  await insertEntity(catalog, 'plans', { name: 'PREPAID', from, connection_type: 'prepaid' })
  const money = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', priority: 1 }
  await insertEntity(catalog, 'prepaidincludes', { ...money, external_id: 7, name: 'W', from })
})
afterAll(async () => {
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

function begin(
  collection: string,
  ...args: string[]
): { child: ChildProcess; ended: Promise<Ended> } {
  const env = { PATH: process.env['PATH'], ...stores.environment }
  const file = join(folder, `${collection}.jsonl`)
  const parameters = [BIN, 'import', collection, file, '--migrate', ...args]
  const child = spawn(process.execPath, parameters, { env })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (bytes: Buffer) => {
      output[name] += bytes.toString('utf8')
    })
  }
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, ...output }))
  })
  return { child, ended }
}

const id = (kind: number, digits: number) => ({
  $oid: `${kind}${String(digits).padStart(23, '0')}`,
})
const [ACCOUNT] = DUMP['accounts'] as [object]
const [SUBSCRIBER] = DUMP['subscribers'] as [object]
const [BALANCE] = DUMP['balances'] as [object]
const numbers = Array.from({ length: COUNT }, (_, index) => index + 1)
const BEGIN = { $date: '2020-01-01T00:00:00Z' }
const JANUARY = { $date: '2026-01-01T00:00:00Z' }
const END = { $date: '2170-01-01T00:00:00Z' }

/** Two revisions of each subscriber. */
const FILES: Readonly<Record<string, readonly object[]>> = {
  accounts: numbers.map((aid) => ({ ...ACCOUNT, _id: id(1, aid), aid, to: END })),
  subscribers: [2, 3].flatMap((kind) =>
    numbers.map((aid) => {
      const days = kind === 2 ? { from: JANUARY, to: END } : { from: BEGIN, to: JANUARY }
      const numbersOf = { aid, sid: COUNT + aid, _id: id(kind, aid) }
      return { ...SUBSCRIBER, ...days, ...numbersOf, plan: 'PREPAID', services: [] }
    }),
  ),
  balances: numbers.map((aid) => ({ ...BALANCE, _id: id(4, aid), aid, sid: COUNT + aid })),
}

const entities = (type: string) => catalog.subscribers.countDocuments({ type } as never)
/** Records of operations; a process that is killed leaves some to the next admin process. */
const credits = async () =>
  (await catalog.audit.countDocuments({ collection: 'balances' })) +
  (await catalog.outbox.countDocuments({ kind: 'balances' } as never))

describe('an import that is killed', () => {
  it.each([
    ['accounts', () => entities('account'), COUNT],
    ['subscribers', () => entities('subscriber'), 2 * COUNT],
    ['balances', credits, COUNT],
  ])('and repeated, has every row once: %s', async (collection, count, all) => {
    writeFileSync(join(folder, `${collection}.jsonl`), linesOf(FILES[collection] ?? []))
    const { child, ended } = begin(collection)
    await waitUntil('the first rows are stored', async () => (await count()) > 0)
    child.kill('SIGKILL')
    await ended
    expect(await count()).toBeLessThan(all)
    const { code, stdout, stderr } = await begin(collection).ended
    expect([code, stdout], stderr).toEqual([0, `${all} of ${all} rows imported, 0 failed\n`])
    expect(await count()).toBe(all)
  })

  it('leaves the derived dates of all revisions, and the numbers, as without it', async () => {
    const derived = {
      activation_date: new Date('2020-01-01'),
      plan_activation: new Date('2020-01-01'),
      deactivation_date: new Date('2170-01-01'),
    }
    expect(
      await catalog.subscribers.countDocuments({ type: 'subscriber', ...derived } as never),
    ).toBe(2 * COUNT)
    const counter = await catalog.counters.findOne({ _id: 'sequence:subscribers' } as never)
    expect(counter).toMatchObject({ seq: 2 * COUNT })
  })

  it('has credited each balance once', async () => {
    const locations = numbers.map((aid) => ({ aid, sid: COUNT + aid, sessionKeys: [] }))
    const owners = await stores.ledger.load(locations)
    const buckets = owners.map((one) => (one instanceof Error ? one : one.state.buckets))
    for (const each of buckets) expect(each).toMatchObject([{ credited: 12_500_000 }])
  })

  it.each(['--operation', '--settings'])('takes no %s', async (option) => {
    const { code, stderr } = await begin('accounts', option, 'x').ended
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${option} is not for accounts`)])
  })

  it('takes no --resume for balances', async () => {
    const { code, stderr } = await begin('balances', '--resume', 'x').ended
    expect([code, stderr]).toEqual([2, expect.stringContaining('a repetition adds nothing')])
  })

  it('knows the collections that can be moved', async () => {
    const { code, stderr } = await begin('bills').ended
    expect([code, stderr]).toEqual([2, expect.stringContaining('subscribers, balances')])
  })
})
