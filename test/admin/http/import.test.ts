/** Import and export over HTTP, as clients send them. */
import { get } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Admin, startAdmin } from '../../../src/admin/start.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_HEADER,
  accountLine,
  accountsCsv,
} from '../../support/entities/import/import-fixture.ts'
import { silent, startTestStores, type TestStores } from '../../support/recorder/accounts.ts'
import { type StoreProxy, startStoreProxy } from '../../support/store-proxy.ts'

let stores: TestStores
let admin: Admin

async function start(env: Record<string, string> = {}, log = silent): Promise<Admin> {
  const config = loadConfig({
    env: {
      ...stores.environment,
      TOLLGATE_ADMIN_PORT: '0',
      TOLLGATE_ADMIN_OPEN_TO: 'loopback',
      TOLLGATE_RECORDER_ENABLED: 'false',
      ...env,
    },
  })
  const metrics = createMetrics({ node: 'test', role: 'admin' })
  return startAdmin({ config, log, metrics, clock: systemClock })
}

beforeAll(async () => {
  stores = await startTestStores()
  admin = await start()
})

afterAll(async () => {
  await admin.close(0)
  await stores.close()
})

const urlOf = (path: string, { port } = admin) => `http://127.0.0.1:${port}/billapi/${path}`

function formOf(fields: Record<string, string>, file?: Blob, name = 'a.csv'): FormData {
  const body = new FormData()
  for (const [field, value] of Object.entries(fields)) body.append(field, value)
  if (file !== undefined) body.append('files[0]', file, name)
  return body
}

async function send(path: string, ...form: Parameters<typeof formOf>) {
  const response = await fetch(urlOf(path), { method: 'POST', body: formOf(...form) })
  return (await response.json()) as Record<string, unknown>
}

const update = JSON.stringify({ map: ACCOUNT_COLUMNS })

/** The error of a row that has only a first name. */
const MISSING = ['lastname', 'email', 'country', 'address', 'zip_code']
  .map((field) => `${field} is mandatory`)
  .join('; ')

describe('import', () => {
  it('accepts a file in a multipart body, and reports progress by its id', async () => {
    const text = `${accountsCsv(2)}Ada\n`
    const answer = await send('accounts/import', { update, import_id: 'h1' }, new Blob([text]))
    expect(answer).toEqual({
      status: 2,
      details: { 2: true, 3: true, 4: MISSING },
      warnings: ['1 of 3 rows were not imported'],
      total: 3,
      succeeded: 2,
      failed: 1,
      import_id: 'h1',
    })
    const progress = await send('accounts/import', { progress: '1', import_id: 'h1' })
    expect(progress).toMatchObject({
      status: 1,
      details: { state: 'done', total: 3, failed: 1, failures: { 4: MISSING } },
    })
  })

  it('derives the format from the content type if the name has no known ending', async () => {
    const [firstname, lastname, email, country, address, zip] = accountLine(7).split(',')
    const account = { firstname, lastname, email, country, address, zip_code: zip }
    const file = new Blob([JSON.stringify(account)], { type: 'application/x-ndjson' })
    const answer = await send('accounts/import', { dry_run: '1' }, file, 'accounts')
    expect(answer).toMatchObject({ status: 1, details: { 1: true }, dry_run: true })
  })

  it.each([
    [{ update }, undefined, 'the file is missing'],
    [{ update, operation: 'permanentchange' }, 'x', 'permanentchange is not allowed'],
    [{ update: '{"map":{"a":"__csvindex__0"}}' }, 'a\n"b', 'is not valid CSV'],
    [{ progress: '1', import_id: 'none' }, undefined, 'there is no import none'],
    [{ update, import_id: 'a b' }, ACCOUNT_HEADER, 'import_id must be'],
  ])('with %j of %j fails as a whole', async (fields, text, desc) => {
    const file = text === undefined ? undefined : new Blob([text])
    const answer = await send('accounts/import', fields as Record<string, string>, file)
    expect(answer).toMatchObject({ status: 0, errorCode: 500, desc: expect.stringContaining(desc) })
  })

  it('is the only action that accepts files', async () => {
    const answer = await send('accounts/create', { update }, new Blob(['x']))
    expect(answer).toMatchObject({ status: 0, code: 400 })
  })
})

describe('export', () => {
  it('is CSV with a safe file name', async () => {
    await insertEntity(stores.catalog, 'discounts', { description: '@x' })
    const query = encodeURIComponent('{"key":"TENPCT"}')
    const name = encodeURIComponent('"../a b\\"\\r\\nx: y"')
    const response = await fetch(urlOf(`discounts/export?query=${query}&file_name=${name}`))
    expect(response.headers.get('content-type')).toBe('application/csv; charset=UTF-8')
    expect(response.headers.get('content-disposition')).toBe('inline; filename="_a_b_x_y.csv"')
    expect(response.headers.get('cache-control')).toBe('max-age=0')
    const [header, row] = (await response.text()).split('\n')
    expect(header).toContain('creation_time,description,')
    expect(row).toContain(",'@x,")
  })

  it.each([
    ['options={"headers":false}&delimiter=;', /^;'@x;/],
    ['query={"key":"NONE"}', /^creation_time,description,[^\n]*\n$/],
    ['query={"from":"2027-01-01"}&options={"headers":false}', /^,'@x/],
    ['query={"to":"2025-01-01"}&options={"headers":false}', /^$/],
    ['format=jsonl', /^\{"to":[^\n]*"key":"TENPCT"[^\n]*\}\n$/],
  ])('%s', async (parameters, text) => {
    const response = await fetch(urlOf(`discounts/export?${encodeURI(parameters)}`))
    expect(await response.text()).toMatch(text)
  })

  it('refuses undeclared fields, and collections without export', async () => {
    const refused = await fetch(urlOf('discounts/export?query={"colour":1}'))
    expect(await refused.json()).toMatchObject({ status: 0, code: 17_576 })
    const none = await fetch(urlOf('accounts/export'))
    expect(await none.json()).toMatchObject({ status: 0, code: 17_575 })
  })

  it('stops reading when the client disconnects', async () => {
    const filler = 'x'.repeat(20_000)
    const many = Array.from({ length: 3_000 }, (_, index) => {
      const period = { from: new Date(0), to: new Date(Date.UTC(2100, 0, 1)) }
      return { key: `K${index}`, description: filler, ...period, rev: index }
    })
    for (let from = 0; from < many.length; from += 500) {
      await stores.catalog.charges.insertMany(many.slice(from, from + 500) as never)
    }
    await new Promise<void>((resolve, reject) => {
      const request = get(urlOf('charges/export'), (response) => {
        response.once('data', () => {
          response.destroy()
          resolve()
        })
      })
      request.once('error', reject)
    })
    // The server answers other requests, and can be closed without open resources.
    const small = await fetch(urlOf('charges/export?query={"key":"K1"}'))
    expect((await small.text()).split('\n')).toHaveLength(3)
  })
})

describe('while MongoDB is away', () => {
  /** Two batches. */
  const COUNT = 501
  const ALL = { status: 1, total: COUNT, succeeded: COUNT, failed: 0 }
  const WRITE = ['insert', 'subscribers', 'Byron']
  let proxy: StoreProxy
  let behind: Admin
  let said = ''

  const startBehind = (batchTimeoutMs: number) => {
    const write = (line: string) => {
      said += line
    }
    const log = createLogger({ name: 'test', level: 'info', destination: { write } })
    const env = {
      TOLLGATE_MONGO_URL: proxy.url,
      TOLLGATE_MONGO_TIMEOUT_MS: '2000',
      TOLLGATE_MONGO_BATCH_TIMEOUT_MS: String(batchTimeoutMs),
    }
    return start(env, log)
  }

  beforeAll(async () => {
    proxy = await startStoreProxy(stores.mongo.url)
    behind = await startBehind(600_000)
  })
  beforeEach(async () => {
    said = ''
    await stores.catalog.subscribers.deleteMany({})
  })
  afterAll(async () => {
    await behind.close(0)
    await proxy.close()
  })

  /** Cuts the connections before a request that has these words, once. */
  function cutAt(words: readonly string[]): void {
    let isCut = false
    proxy.cutBefore((request) => {
      if (isCut || !words.every((word) => request.includes(word))) return false
      isCut = true
      return true
    })
  }

  const waits = () =>
    expect.poll(() => said, { timeout: 30_000 }).toContain('batch work waits for MongoDB')

  function importAll(id: string, on: Admin, signal: AbortSignal | null = null) {
    const body = formOf({ update, import_id: id }, new Blob([accountsCsv(COUNT)]))
    return fetch(urlOf('accounts/import', on), { method: 'POST', body, signal })
  }

  async function expectAllOnce(): Promise<void> {
    const names = await stores.catalog.subscribers.distinct('lastname')
    const stored = await stores.catalog.subscribers.countDocuments()
    expect([names.length, stored]).toEqual([COUNT, COUNT])
  }

  it('an import waits, says so, and stores each row once', async () => {
    cutAt(WRITE)
    const answer = importAll('away-1', behind)
    await waits()
    await proxy.restore()
    expect(await (await answer).json()).toMatchObject({ ...ALL, import_id: 'away-1' })
    expect(said).toContain('batch work continues')
    await expectAllOnce()
  })

  it('an import waits from its beginning', async () => {
    cutAt(['imports', 'away-2'])
    const answer = importAll('away-2', behind)
    await waits()
    await proxy.restore()
    expect(await (await answer).json()).toMatchObject({ ...ALL, import_id: 'away-2' })
    await expectAllOnce()
  })

  it('an import is answered after mongo.batchTimeoutMs with the id that continues it', async () => {
    const impatient = await startBehind(10)
    try {
      cutAt(WRITE)
      const answer = await importAll('away-3', impatient)
      expect(answer.status).toBe(503)
      const text = /import away-3 stopped after 0 rows; resume it with the same file and import_id/
      expect(await answer.text()).toMatch(text)
    } finally {
      await proxy.restore()
      await impatient.close(0)
    }
    const { imports } = stores.catalog
    await imports.updateOne({ _id: 'away-3' }, { $set: { expires: new Date(0) } as object })
    expect(await (await importAll('away-3', admin)).json()).toMatchObject(ALL)
    await expectAllOnce()
  })

  it('an import whose client disconnects goes on', async () => {
    cutAt(WRITE)
    const client = new AbortController()
    const answer = importAll('away-4', behind, client.signal)
    await waits()
    client.abort()
    await expect(answer).rejects.toThrow('aborted')
    await proxy.restore()
    const shown = { progress: '1', import_id: 'away-4' }
    const details = async () => (await send('accounts/import', shown))['details']
    await expect
      .poll(details, { timeout: 30_000 })
      .toMatchObject({ state: 'done', done: COUNT, failed: 0 })
    await expectAllOnce()
  })

  it('an export waits', async () => {
    await stores.catalog.discounts.deleteMany({})
    await insertEntity(stores.catalog, 'discounts', { description: 'patient' })
    cutAt(['find', 'discounts'])
    const answer = fetch(urlOf('discounts/export?format=jsonl', behind))
    await waits()
    await proxy.restore()
    expect(await (await answer).text()).toContain('"description":"patient"')
  })
})
