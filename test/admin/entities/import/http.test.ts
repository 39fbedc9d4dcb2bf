/** Import and export over HTTP, as clients send them. */
import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Admin, startAdmin } from '../../../../src/admin/start.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { createMetrics } from '../../../../src/runtime/metrics.ts'
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_HEADER,
  accountLine,
  accountsCsv,
} from '../../../support/admin/entities/import/import-fixture.ts'
import { insertEntity } from '../../../support/catalog/store.ts'
import { silent, startTestStores, type TestStores } from '../../../support/recorder/accounts.ts'

let stores: TestStores
let admin: Admin

beforeAll(async () => {
  stores = await startTestStores()
  const config = loadConfig({
    env: {
      ...stores.environment,
      TOLLGATE_ADMIN_PORT: '0',
      TOLLGATE_ADMIN_OPEN_TO: 'loopback',
      TOLLGATE_RECORDER_ENABLED: 'false',
    },
  })
  admin = await startAdmin({
    config,
    log: silent,
    metrics: createMetrics({ node: 'test', role: 'admin' }),
    clock: systemClock,
  })
})

afterAll(async () => {
  await admin.close(0)
  await stores.close()
})

const urlOf = (path: string) => `http://127.0.0.1:${admin.port}/billapi/${path}`

async function send(path: string, fields: Record<string, string>, file?: Blob, name = 'a.csv') {
  const body = new FormData()
  for (const [field, value] of Object.entries(fields)) body.append(field, value)
  if (file !== undefined) body.append('files[0]', file, name)
  const response = await fetch(urlOf(path), { method: 'POST', body })
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
    expect(answer).toEqual({ status: 0, errorCode: 500, desc: expect.stringContaining(desc) })
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
