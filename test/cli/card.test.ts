/** `tollgate card`: batches of prepaid cards. */
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { beforeEach, describe, expect, it } from 'vitest'
import { cardSecretsOf } from '../../src/catalog/sealing/card-secrets.ts'
import { loadConfig } from '../../src/config/load.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { useTollgate } from '../support/cli/tollgate.ts'
import { waitUntil } from '../support/wait.ts'

const KEY = { TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' }
const product = useTollgate(KEY)
let file: string

beforeEach(async () => {
  const catalog = product.catalog()
  await catalog.ensureIndexes()
  for (const name of ['cards', 'prepaidgroups', 'audit'] as const) {
    await catalog[name].deleteMany({})
  }
  await insertEntity(catalog, 'prepaidgroups', { name: 'LOAD' })
  file = product.file('cards.csv', '')
  for (const path of [file, `${file}.part`]) rmSync(path, { force: true })
})

/** `changed`: other values of its options. */
const create = (count: number, changed: Record<string, string> = {}) => {
  const options = {
    ...{ '--batch': '7', '--count': String(count), '--plan': 'LOAD', '--provider': 'ACME' },
    ...{ '--to': '2030-01-01', '--output': file, ...changed },
  }
  return ['card', 'create', ...Object.entries(options).flat()]
}

interface Row {
  serial_number: string
  secret: string
}

/** Checks that the file has the secrets of all cards. */
async function expectSecrets(count: number): Promise<void> {
  const rows = parse(readFileSync(file, 'utf8'), { columns: true }) as Row[]
  expect(rows).toHaveLength(count)
  const secrets = cardSecretsOf(product.catalog(), loadConfig({ env: KEY }))
  const digests = await secrets.digests(rows.map(({ secret }) => secret))
  const stored = await product.catalog().cards.find().sort({ serial_number: 1 }).toArray()
  expect(stored.map(({ secret_hmac }) => secret_hmac)).toEqual(digests)
  expect(stored.map((card) => String(card.serial_number))).toEqual(
    rows.map((row) => row.serial_number),
  )
}

describe('tollgate card', () => {
  it('creates, counts, activates and deletes cards', async () => {
    expect(await product.run(...create(5, { '--first-serial': '100' }))).toEqual({
      code: 0,
      stdout: `created 5 cards of batch 7; their secrets are in ${file}\n`,
      stderr: '',
    })
    await expectSecrets(5)
    const of = ['--batch', '7']
    const active = await product.run(
      ...['card', 'update', ...of, '--serials', '100-102', '--status', 'active'],
    )
    expect(active).toEqual({ code: 0, stdout: '3 cards are active\n', stderr: '' })
    const list = await product.run('card', 'list', ...of)
    expect(list.stdout).toBe('  active  3\n  Idle    2\n')
    const gone = await product.run('card', 'delete', ...of, '--serials', '104')
    expect(gone.stdout).toBe('deleted 1 cards\n')
    const json = await product.run('card', 'list', ...of, '--json')
    expect(JSON.parse(json.stdout)).toEqual([
      { status: 'active', count: 3 },
      { status: 'Idle', count: 1 },
    ])
    const none = await product.run('card', 'list', '--batch', '8')
    expect(none.stdout).toBe('there are no cards of batch 8\n')
    const records = await product.catalog().audit.find({ collection: 'cards' }).toArray()
    expect(records.map(({ type, key }) => `${type} ${key}`)).toEqual([
      'create 7',
      'update 7',
      'delete 7',
    ])
  })

  it.each([
    ['--count', '0', "--count must be a positive integer, not '0'"],
    ['--count', '1000001', '--count must be at most 1000000'],
    ['--batch', '07', "--batch must be a positive integer, not '07'"],
    ['--to', 'soon', "--to must be a date, as in 2030-01-31 or ISO 8601, not 'soon'"],
  ])('refuses %s %s', async (name, value, text) => {
    const refused = await product.run(...create(1, { [name]: value }))
    expect(refused).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(text) })
    expect(existsSync(file)).toBe(false)
  })

  it.each([
    [['list'], '--batch is missing'],
    [['update', '--batch', '7', '--status', 'sold'], "--status is not a state of cards: 'sold'"],
    [['delete', '--batch', '7', '--serials', '5-'], '--serials must be a number or a range'],
  ])('refuses card %j', async (args, text) => {
    const refused = await product.run('card', ...args)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(text) })
  })

  it('says why the stores refuse', async () => {
    const noPlan = await product.run(...create(1, { '--plan': 'NONE' }))
    expect(noPlan).toMatchObject({
      code: 1,
      stderr: 'tollgate: charging_plan_name: there is no charging plan NONE now\n',
    })
    const none = await product.run('card', 'delete', '--batch', '9')
    expect(none).toMatchObject({ code: 1, stderr: 'tollgate: there is no such card\n' })
  })

  it('that is killed while it creates is continued', async () => {
    const COUNT = 20_000
    const creating = product.start(...create(COUNT))
    const stored = () => product.catalog().unguarded.cards.estimatedDocumentCount()
    await waitUntil('a part is stored', async () => (await stored()) > 0)
    creating.kill('SIGKILL')
    await once(creating, 'close')
    const before = await product.catalog().cards.find().sort({ serial_number: 1 }).toArray()
    expect(before.length).toBeLessThan(COUNT)
    expect(existsSync(file)).toBe(false)
    const again = await product.run(...create(COUNT))
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('--continue') })
    expect(await product.run(...create(COUNT), '--continue')).toMatchObject({ code: 0 })
    await expectSecrets(COUNT)
    const after = await product.catalog().cards.find({ serial_number: 1 }).toArray()
    expect(after).toEqual(before.slice(0, 1))
  })
})

describe('tollgate import cards', () => {
  const card = (serial: number, more: object = {}) =>
    JSON.stringify({
      ...{ secret: String(serial).padStart(12, '0'), batch_number: 7, serial_number: serial },
      ...{ charging_plan_name: 'LOAD', service_provider: 'ACME', status: 'Active' },
      ...{ to: { $date: '2030-01-01T00:00:00Z' }, ...more },
    })

  it('stores the cards of a file, and says why others fail', async () => {
    const rows = [card(1), card(2, { status: 'Sold' }), '', card(3), 'no card']
    const path = product.file('old.jsonl', rows.join('\n'))
    const failed = product.file('failed.jsonl', '')
    const dry = await product.run('import', 'cards', path, '--dry-run')
    expect(dry).toMatchObject({
      code: 1,
      stdout: '2 of 4 rows would be imported, 2 failed\n',
      stderr: expect.stringContaining('row 5: is not JSON\n'),
    })
    expect(await product.catalog().cards.countDocuments()).toBe(0)
    const done = await product.run('import', 'cards', path, '--failed', failed, '--json')
    expect(JSON.parse(done.stdout)).toEqual({ rows: 4, imported: 2, failed: 2 })
    expect(done.stderr).toContain('row 2: status must be one of Idle')
    const written = readFileSync(failed, 'utf8').trim().split('\n')
    expect(written.map((text) => (JSON.parse(text) as { row: number }).row)).toEqual([5, 2])
    const secrets = cardSecretsOf(product.catalog(), loadConfig({ env: KEY }))
    const stored = await product.catalog().cards.find().sort({ serial_number: 1 }).toArray()
    expect(stored.map(({ secret_hmac }) => secret_hmac)).toEqual(
      await secrets.digests(['000000000001', '000000000003']),
    )
  })

  it('takes no options for entities', async () => {
    const path = product.file('old.jsonl', card(1))
    expect(await product.run('import', 'cards', path, '--resume', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--resume is not for cards'),
    })
  })
})
