/** `tollgate import` and `export`: the built commands on stores of their own. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insertEntity } from '../support/catalog/store.ts'
import { beginOn, runOn } from '../support/cli/tollgate.ts'
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_HEADER,
  accountLine,
  accountsCsv,
} from '../support/entities/import/import-fixture.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'
import { type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-import-cli-'))
let stores: TestStores

beforeAll(async () => {
  stores = await startTestStores()
})
afterEach(async () => {
  const { subscribers, imports, discounts } = stores.catalog
  for (const each of [subscribers, imports, discounts]) await each.deleteMany({})
})
afterAll(async () => {
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]) => runOn(stores, args)

function fileOf(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const settings = () => fileOf('settings.json', JSON.stringify({ map: ACCOUNT_COLUMNS }))

describe('tollgate import', () => {
  it('imports all rows, and reports them', async () => {
    const file = fileOf('good.csv', accountsCsv(3))
    const { code, stdout, stderr } = await run('import', 'accounts', file, '--settings', settings())
    expect([code, stdout]).toEqual([0, '3 of 3 rows imported, 0 failed\n'])
    expect(stderr).toMatch(/^import [\w-]+: 3 rows; --resume [\w-]+ continues it\n$/)
    expect(await stores.catalog.subscribers.countDocuments()).toBe(3)
  })

  it('lists the rows that failed, and writes all of them into a file', async () => {
    const bad = Array.from({ length: 22 }, () => 'Ada')
    const file = fileOf('bad.csv', [ACCOUNT_HEADER, accountLine(1), ...bad].join('\n'))
    const failed = join(folder, 'failed.jsonl')
    const args = ['--settings', settings(), '--failed', failed]
    const { code, stdout, stderr } = await run('import', 'accounts', file, ...args)
    expect([code, stdout]).toEqual([1, '1 of 23 rows imported, 22 failed\n'])
    const missing = ['lastname', 'email', 'country', 'address', 'zip_code']
    const text = missing.map((field) => `${field} is mandatory`).join('; ')
    expect(stderr).toContain(`row 22: ${text}\nand 2 more\n`)
    const lines = readFileSync(failed, 'utf8').trim().split('\n')
    expect(lines).toHaveLength(22)
    expect(lines[0]).toBe(JSON.stringify({ row: '3', text }))
  })

  it('writes nothing in a dry run', async () => {
    const file = fileOf('dry.csv', accountsCsv(2))
    const args = ['--settings', settings(), '--dry-run', '--json']
    const { code, stdout, stderr } = await run('import', 'accounts', file, ...args)
    expect([code, stderr]).toEqual([0, ''])
    const details = { 2: true, 3: true }
    const counts = { total: 2, succeeded: 2, failed: 0 }
    expect(JSON.parse(stdout)).toEqual({ status: 1, details, ...counts, dry_run: true })
    expect(await stores.catalog.subscribers.countDocuments()).toBe(0)
  })

  it('resumes where it was killed', async () => {
    const count = 5000
    const file = fileOf('many.csv', accountsCsv(count))
    const args = ['import', 'accounts', file, '--settings', settings()]
    const { child, ended } = beginOn(stores, args)
    const written = () => stores.catalog.subscribers.countDocuments()
    await expect.poll(written, { timeout: 60_000, interval: 5 }).toBeGreaterThan(600)
    child.kill('SIGKILL')
    const { stderr } = await ended
    const [, id = ''] = /--resume (\S+)/.exec(stderr) ?? []
    expect(await written()).toBeLessThan(count)
    const more = await run('import', 'accounts', file, '--settings', settings(), '--resume', id)
    expect([more.code, more.stdout]).toEqual([0, `${count} of ${count} rows imported, 0 failed\n`])
    expect(more.stderr).toMatch(/, \d+ of them done before;/)
    expect(await written()).toBe(count)
    expect(await stores.catalog.subscribers.distinct('lastname')).toHaveLength(count)
  })

  describe('while MongoDB is away', () => {
    const COUNT = 3_000
    let proxy: StoreProxy

    beforeEach(async () => {
      proxy = await startStoreProxy(stores.environment['TOLLGATE_MONGO_URL'] ?? '')
    })
    afterEach(() => proxy.close())

    /** Begins an import, and cuts its connections before its third batch is written. */
    function cutImport(batchTimeoutMs: number) {
      const file = fileOf('away.csv', accountsCsv(COUNT))
      const environment = {
        ...stores.environment,
        TOLLGATE_MONGO_URL: proxy.url,
        TOLLGATE_MONGO_TIMEOUT_MS: '2000',
        TOLLGATE_MONGO_BATCH_TIMEOUT_MS: String(batchTimeoutMs),
      }
      const args = ['import', 'accounts', file, '--settings', settings()]
      let batches = 0
      proxy.cutBefore((request) => {
        const isBatch = request.includes('insert') && request.includes('subscribers')
        if (isBatch) batches += 1
        return isBatch && batches === 3
      })
      const { child, ended } = beginOn({ environment }, args)
      let said = ''
      child.stderr?.on('data', (bytes: Buffer) => {
        said += bytes.toString()
      })
      return { ended, said: () => said }
    }

    it('waits, says so, and continues by itself', async () => {
      const { ended, said } = cutImport(600_000)
      await expect.poll(said, { timeout: 60_000 }).toContain('; waiting for up to 600 s')
      await proxy.restore()
      const { code, stdout, stderr } = await ended
      expect([code, stdout]).toEqual([0, `${COUNT} of ${COUNT} rows imported, 0 failed\n`])
      expect(stderr).toContain('the store answers again')
      expect(await stores.catalog.subscribers.countDocuments()).toBe(COUNT)
    })

    it('stops after mongo.batchTimeoutMs, and names the option that continues it', async () => {
      const { ended } = cutImport(10)
      const { code, stderr } = await ended
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /a store is unavailable: \d+ rows are done; continue with --resume \S+/,
      )
    })
  })

  it.each([
    [['bills', 'x.csv'], 2, "not 'bills'"],
    [['accounts', '/nowhere/x.csv'], 1, 'there is no file /nowhere/x.csv'],
    [['accounts', fileURLToPath(import.meta.url)], 1, 'is not valid CSV'],
    [['accounts', fileURLToPath(import.meta.url), '--operation', 'close'], 1, 'is not allowed'],
  ])('refuses %j', async (args, exitCode, message) => {
    const { code, stderr } = await run('import', ...args)
    expect([code, stderr]).toEqual([exitCode, expect.stringContaining(message)])
  })
})

describe('tollgate export', () => {
  it('writes a file that an import accepts', async () => {
    await insertEntity(stores.catalog, 'discounts', { description: '=1' })
    const output = join(folder, 'out.csv')
    const done = await run('export', 'discounts', '--output', output)
    expect(done).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(existsSync(`${output}.part`)).toBe(false)
    await stores.catalog.discounts.deleteMany({})
    const { code, stdout } = await run('import', 'discounts', output)
    expect([code, stdout]).toEqual([0, '1 of 1 rows imported, 0 failed\n'])
    expect(await stores.catalog.discounts.findOne({})).toMatchObject({ description: '=1' })
  })

  it('selects by a query, in any collection with revisions', async () => {
    const account = { type: 'account', sid: undefined, plan: undefined }
    for (const aid of [1, 2]) await insertEntity(stores.catalog, 'subscribers', { ...account, aid })
    const args = ['--query', '{"aid":2}', '--format', 'jsonl']
    const { code, stdout } = await run('export', 'accounts', ...args)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ type: 'account', aid: 2 })
  })

  it.each([
    [['lines'], 2, "not 'lines'"],
    [['discounts', '--query', '{"colour":1}'], 1, 'colour is not known here'],
    [['discounts', '--format', 'xls'], 1, 'format must be csv or jsonl'],
    [['discounts', '--output', '/nowhere/x.csv'], 1, 'cannot write /nowhere/x.csv'],
  ])('refuses %j', async (args, exitCode, message) => {
    const { code, stderr } = await run('export', ...args)
    expect([code, stderr]).toEqual([exitCode, expect.stringContaining(message)])
  })
})
