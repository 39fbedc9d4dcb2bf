/**
 * docs/MIGRATING.md: its commands, in a shell as they are, move a dump of the replaced system. What
 * is moved charges, shows balances and invoices as there.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import { HOUSE } from '../house/tree.ts'
import { DUMP, linesOf } from '../support/cli/dump.ts'
import { postJson } from '../support/post-json.ts'
import { tollgate } from '../support/product/command.ts'
import { PATIENT } from '../support/product/patience.ts'
import { type Product, startProduct } from '../support/product/product.ts'

const CLOCK = { TOLLGATE_CLOCK: '2026-03-20T12:00:00Z', TOLLGATE_CLOCK_TEST: 'true' }
const BIN = join(HOUSE, 'bin/tollgate.mjs')
let product: Product
let catalog: Catalog
let folder: string

beforeAll(async () => {
  product = await startProduct({ environment: CLOCK })
  const { mongoUrl: url, database } = product
  catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  folder = join(product.folder, 'dump')
  mkdirSync(folder)
})
afterAll(async () => {
  await catalog?.close()
  await product?.stop()
})

const run = (...args: string[]) => tollgate(product, args, CLOCK)

function fileOf(name: string, documents: readonly object[]): string {
  const path = join(folder, name)
  writeFileSync(path, linesOf(documents))
  return path
}

/** `tollgate`, and a `mongoexport` that copies what it is asked for from the dump. */
const SHELL = `
tollgate() { "${process.execPath}" "${BIN}" "$@"; }
mongoexport() {
  while [ $# -gt 0 ]; do
    case $1 in --out) out=$2;; --collection) collection=$2;; esac
    shift
  done
  [ $collection = subscribers ] && collection=\${out%.jsonl}
  cp "dump-$collection.jsonl" "$out"
}
`

/** The blocks of the document that are marked `migrate`. */
function blocks(): string {
  const text = readFileSync(join(HOUSE, 'docs/MIGRATING.md'), 'utf8')
  const found = [...text.matchAll(/^```sh migrate\n([\s\S]*?)\n```$/gm)].map(([, block]) => block)
  expect(found).toHaveLength(2)
  return found.join('\n')
}

function inShell(text: string): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: process.env['PATH'],
    ...PATIENT,
    ...CLOCK,
    TOLLGATE_DATA_DIR: product.folder,
    TOLLGATE_REDIS_URL: product.redisUrl,
    TOLLGATE_MONGO_URL: product.mongoUrl,
    TOLLGATE_MONGO_DATABASE: product.database,
  }
  return new Promise((resolve) => {
    execFile('bash', ['-c', SHELL + text], { env, cwd: folder }, (_, stdout, stderr) => {
      resolve({ stdout, stderr })
    })
  })
}

const imported = (all: number, failed = 0) =>
  `${all - failed} of ${all} rows imported, ${failed} failed`
/** One line per import, in the order of the document. */
const IMPORTED = [
  ...[1, 2, 1, 2, 1, 4, 1, 1, 3, 4].map((count) => imported(count)),
  ...[imported(10, 7), imported(1)],
]

const day = (text: string) => new Date(text)

describe('the commands of docs/MIGRATING.md', () => {
  it('move a dump', async () => {
    for (const [name, documents] of Object.entries(DUMP)) fileOf(`dump-${name}.jsonl`, documents)
    const { stdout, stderr } = await inShell(blocks())
    const lines = stdout.split('\n').filter((line) => line.includes('rows imported'))
    expect(lines, stderr).toEqual(IMPORTED)
    expect(stderr).toContain('billable is not a field here: ignored')
  })

  it('keep numbers, ids, dates and all revisions', async () => {
    const { subscribers, rates } = catalog
    const account = { type: 'account', aid: 17 } as const
    expect(await subscribers.find(account).sort({ from: 1 }).toArray()).toMatchObject([
      { from: day('2025-06-01'), to: day('2026-02-15'), address: '9 Old St' },
      { from: day('2026-02-15'), to: day('2175-01-01'), activation_date: day('2025-06-01') },
    ])
    const dates = {
      activation_date: day('2025-06-01'),
      plan_activation: day('2025-06-01'),
      deactivation_date: day('2175-01-01'),
      creation_time: day('2025-06-01'),
      former_plan: 'PREPAID',
    }
    const found = await subscribers
      .find({ sid: 18 } as never)
      .sort({ from: 1 })
      .toArray()
    const first = { name: 'TV_PACK', quantity: 1, from: day('2026-01-10') }
    const second = { ...first, quantity: 2, service_id: 1_700_000_000_000_002 }
    expect(found).toMatchObject([
      { ...dates, from: day('2026-01-10'), to: day('2026-03-01'), services: [first] },
      { ...dates, from: day('2026-03-01'), to: day('2175-01-01'), services: [second] },
    ])
    expect(found.map(({ _id: id }) => id.toHexString().slice(-2))).toEqual(['50', '51'])
    expect(await rates.countDocuments({ key: 'CALL_LOCAL' })).toBe(2)
    const records = await catalog.audit.find({ collection: 'subscribers', key: '18' }).toArray()
    expect(records.map(({ type }) => type)).toEqual(['create', 'create'])
  })

  it('list what is not moved, with the line of the file and the reason', () => {
    const rows = readFileSync(join(folder, 'balances.failed.jsonl'), 'utf8').trim().split('\n')
    const failed = rows.map((row) => JSON.parse(row) as { row: string; text: string })
    expect(failed.map(({ row, text }) => `${row}: ${text}`)).toEqual([
      '4: it has ended: its rest is forfeited',
      '5: balance.cost: more was used than credited',
      '6: there is no subscriber 99 now',
      '7: charging_by is usagev, that of Main wallet is total_cost here',
      '8: balance.groups.NONE: no offer of subscriber 18 has it now',
      '9: from and to must be those of the current cycle: 2026-03-01 to 2026-04-01',
      '10: _id must be an id of 24 hexadecimal digits',
    ])
  })

  it('change nothing when they are repeated', async () => {
    const before = await contents()
    const { stdout, stderr } = await inShell(blocks())
    const lines = stdout.split('\n').filter((line) => line.includes('rows imported'))
    expect(lines, stderr).toEqual(IMPORTED)
    expect(await contents()).toEqual(before)
  })
})

async function contents(): Promise<unknown> {
  const { subscribers, rates, plans, lines } = catalog
  const entities = await Promise.all(
    [subscribers, rates, plans].map((each) =>
      (each as typeof rates).find().sort({ _id: 1 }).toArray(),
    ),
  )
  return [
    entities,
    await lines.countDocuments(),
    (await run('balance', 'show', '--sid', '19')).stdout,
  ]
}

async function ask(path: string, body: object): Promise<Record<string, unknown>> {
  const url = path === '/realtime' ? product.realtimeUrl : product.adminUrl
  return (await (await postJson(url + path, body)).json()) as Record<string, unknown>
}

describe('what was moved', () => {
  beforeAll(async () => {
    await product.start('realtime')
    await product.start('admin')
  })

  it('charges: the rest of the included minutes, then the price of the rate', async () => {
    const answer = await ask('/realtime', {
      ...{ record_type: 'start_request', session_id: 'a', request_num: 0, sid: 18 },
      ...{ usaget: 'call', called_number: '44201234567', usagev: 120, urt: '2026-03-20T12:00:00Z' },
    })
    expect(answer).toMatchObject({ returnCode: 1, grantedVolume: 120 })
    await ask('/realtime', {
      ...{ record_type: 'release_request', session_id: 'a', request_num: 1, sid: 18 },
      ...{ usaget: 'call', used_usagev: 120, urt: '2026-03-20T12:02:00Z' },
    })
    await expect
      .poll(() => catalog.lines.findOne({ sid: 18, usaget: 'call' } as never))
      .toMatchObject({ in_group: 60, over_group: 60, aprice: 6.2 })
  })

  it('shows balances, in the entity API and in the deprecated call', async () => {
    const query = { sid: 19 }
    const { details } = await ask('/billapi/balances/get', { query })
    expect(details).toMatchObject([
      { pp_includes_external_id: 7, balance: { cost: -12.5 }, to: '2099-03-31T23:59:59+0000' },
      { balance: { totals: { data: { usagev: -1_073_741_824 } } }, priority: 60 },
    ])
    const shown = await ask('/api/balances', { method: 'query', sid: 19 })
    expect(shown['details']).toMatchObject([{ balance: { cost: -12.5 } }, {}])
    const counters = await ask('/billapi/balances/get', { query: { sid: 18 } })
    expect(counters['details']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          balance: { groups: { CALLS100: { usagev: 6000, left: 0, total: 6000 } } },
        }),
        expect.objectContaining({ balance: { cost: 9.7 } }),
      ]),
    )
  })

  it('agrees with the lines of the ledger', async () => {
    const { code, stdout } = await run('audit')
    expect([code, stdout]).toEqual([0, expect.any(String)])
  })

  it('new accounts get numbers above the kept ones', async () => {
    const update = { ...CUSTOMER, email: 'bob@example.org' }
    const { entity } = await ask('/billapi/accounts/create', { update })
    expect((entity as { aid: number }).aid).toBeGreaterThan(30)
  })

  it('a change keeps when the plan began', async () => {
    const query = { type: 'subscriber', sid: 18, effective_date: '2026-03-20' }
    const update = { from: '2026-03-20', address: '2 Mill Rd' }
    const answer = await ask('/billapi/subscribers/permanentchange', { query, update })
    expect(answer).toMatchObject({ status: 1 })
    const revisions = await catalog.subscribers.find({ sid: 18 } as never).toArray()
    const dates = { plan_activation: day('2025-06-01'), activation_date: day('2025-06-01') }
    expect(revisions).toMatchObject([dates, dates, dates])
  })

  it('invoices: the tier of the price by the start of the plan, and nothing twice', async () => {
    await run('clock', '--to', '2026-04-02T00:00:00Z')
    const { code, stderr } = await run('cycle', 'run', '--key', '202604')
    expect(code, stderr).toBe(0)
    const filter = { aid: 17, billrun: '202604', type: { $in: ['flat', 'service', 'credit'] } }
    const lines = await catalog.lines.find(filter as never).toArray()
    const charged = (
      lines as unknown as { sid: number; name: string; aprice: number; start: Date }[]
    )
      .map(({ sid, name, aprice }) => [sid, name, Number(aprice)])
      .sort()
    expect(charged).toEqual([
      [18, '10 % on TV', -2],
      [18, 'GOLD', 25],
      [18, 'TV_PACK', 20],
      [19, 'PREPAID', 0],
      [20, 'AHEAD', 30],
    ])
  })
})

const CUSTOMER = {
  ...{ firstname: 'Bob', lastname: 'Stone', country: 'UK', address: '1 Hill Rd', zip_code: 'AB2' },
}
