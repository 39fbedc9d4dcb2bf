/** `If-Match`: a write of a revision that has changed since it was read is refused. */
import { expect, it } from 'vitest'
import { requireDocumented } from '../../support/admin/openapi/answer-check.ts'
import {
  type Fields,
  idOf,
  requestOf,
  useApiServer,
} from '../../support/entities/api/api-server.ts'

const api = useApiServer({ admins: 2 })

let keys = 0
const makeTax = async () => {
  keys += 1
  const key = `TAX${keys}`
  const update = { key, description: 'first', rate: 0.1, from: '2026-01-01' }
  const id = idOf(await api.ok('taxes', 'create', { update }))
  return { key, id }
}

interface VersionedAnswer {
  http: number
  etag: string | null
  body: Fields & { entity: Fields; details: Fields[]; data: { message: string } }
}

/** `admin`: which of the admins is called. */
async function call(
  action: string,
  params: Fields,
  ifMatch: string | null = null,
  { admin = 0, collection = 'taxes' } = {},
): Promise<VersionedAnswer> {
  const [query, init] = requestOf(params, 'json')
  const headers = { ...init.headers, ...(ifMatch !== null && { 'If-Match': ifMatch }) }
  const path = `/billapi/${collection}/${action}`
  const response = await fetch(`${api.urls[admin]}${path}${query}`, { ...init, headers })
  const body = (await response.json()) as VersionedAnswer['body']
  const contentType = response.headers.get('content-type') ?? ''
  requireDocumented({ method: 'POST', sent: path, status: response.status, contentType, body })
  return { http: response.status, etag: response.headers.get('etag'), body }
}

const tagOf = async (id: string) => {
  const { etag, body } = await call('get', { query: { _id: id } })
  const info = body.details[0]?.['revision_info'] as { version: string }
  expect(etag).toBe(`"${info.version}"`)
  expect(info.version).toMatch(new RegExp(`^${id}\\.\\d+$`))
  return etag ?? ''
}

const CHANGED = 'taxes: the revision has been changed meanwhile'

const changed = (description: string) => ({ update: { description } })

it('a write with the present version is done, and answers the next one', async () => {
  const { id } = await makeTax()
  const first = await tagOf(id)
  const done = await call('update', { query: { _id: id }, ...changed('second') }, first)
  expect(done).toMatchObject({ http: 200, body: { status: 1, entity: { description: 'second' } } })
  expect(done.etag).not.toBe(first)
  expect(done.etag).toBe(await tagOf(id))
  const again = await call('update', { query: { _id: id }, ...changed('third') }, done.etag)
  expect(again.body).toMatchObject({ status: 1 })
})

it('a write with an old version is refused with the present revision', async () => {
  const { id, key } = await makeTax()
  const old = await tagOf(id)
  await call('update', { query: { _id: id }, ...changed('by another') })
  const before = await api.digest()
  const refused = await call('update', { query: { _id: id }, ...changed('mine') }, old)
  expect(await api.digest()).toBe(before)
  const present = await tagOf(id)
  expect(refused).toMatchObject({
    http: 409,
    etag: present,
    body: {
      status: 0,
      code: 409,
      data: {
        message: `${CHANGED}; its version is ${present.slice(1, -1)}`,
      },
      entity: {
        key,
        description: 'by another',
        from: '2026-01-01T00:00:00+0000',
        revision_info: { version: present.slice(1, -1), status: 'active' },
      },
    },
  })
  const forced = await call('update', { query: { _id: id }, ...changed('mine') }, present)
  expect(forced.body).toMatchObject({ status: 1 })
})

it('compares in every write of a revision, also of one found by its key', async () => {
  const { id, key } = await makeTax()
  const old = await tagOf(id)
  await call('update', { query: { _id: id }, ...changed('by another') })
  const byKey = { key, effective_date: '2026-06-01' }
  const writes: [string, Fields][] = [
    ['update', { query: byKey, ...changed('x') }],
    ['close', { query: { _id: id }, update: { to: '2026-08-01' } }],
    ['closeandnew', { query: byKey, update: { from: '2026-07-01', description: 'x' } }],
    ['move', { query: { _id: id }, update: { to: '2026-09-01' } }],
    ['permanentchange', { query: byKey, update: { from: '2026-07-01', description: 'x' } }],
    ['reopen', { query: { _id: id }, update: { from: '2026-07-01' } }],
    ['delete', { query: { _id: id } }],
  ]
  const before = await api.digest()
  for (const [action, params] of writes) {
    expect([action, (await call(action, params, old)).http]).toEqual([action, 409])
    const tried = await call(action, { ...params, validate: true }, old)
    expect([action, tried.http]).toEqual([action, 409])
  }
  expect(await api.digest()).toBe(before)
  const next = await call('closeandnew', writes[2]?.[1] ?? {}, await tagOf(id))
  expect(next.body).toMatchObject({ status: 1 })
  // The new revision has a version of its own, and the closed one has changed.
  expect(next.etag).toBe(await tagOf(idOf(next.body as never)))
  expect(next.etag).not.toContain(id)
})

it('a deleted revision has no version any more', async () => {
  const { id, key } = await makeTax()
  const old = await tagOf(id)
  await call('delete', { query: { _id: id } }, old)
  for (const query of [{ _id: id }, { key, effective_date: '2026-06-01' }]) {
    const refused = await call('update', { query, ...changed('mine') }, old)
    expect(refused).toMatchObject({
      http: 409,
      etag: null,
      body: {
        code: 409,
        entity: null,
        data: { message: 'taxes: the revision has been deleted meanwhile' },
      },
    })
  }
  const any = await call('update', { query: { _id: id }, ...changed('mine') }, '*')
  expect(any).toMatchObject({ http: 200, body: { status: 0, code: 500 } })
})

it('accepts any version, and one of several', async () => {
  const { id } = await makeTax()
  const update = (text: string, ifMatch: string) =>
    call('update', { query: { _id: id }, ...changed(text) }, ifMatch)
  expect((await update('any', '*')).body).toMatchObject({ status: 1 })
  const several = `"65f0c0ffee0123456789abcd.1" , ${await tagOf(id)}`
  expect((await update('several', several)).body).toMatchObject({ status: 1 })
  expect((await update('of another', '"65f0c0ffee0123456789abcd.1"')).http).toBe(409)
})

const MALFORMED = ['12', 'W/"65f0c0ffee0123456789abcd.1"', '""', '"a.1"', '*, *', ','.repeat(2000)]

it.each(MALFORMED.map((header) => ({ header, shown: header.slice(0, 40) })))(
  'refuses the header $shown by name',
  async ({ header }) => {
    const { id } = await makeTax()
    const refused = await call('update', { query: { _id: id }, ...changed('x') }, header)
    expect(refused).toMatchObject({ http: 400, body: { status: 0, code: 400 } })
    expect(refused.body.data.message).toContain('If-Match must be *, or versions')
  },
)

it('refuses the header for writes that change no revision', async () => {
  const update = { key: 'NEW', description: 'x', rate: 0.1 }
  const created = await call('create', { update }, '*')
  expect(created).toMatchObject({
    http: 400,
    body: { data: { message: 'If-Match: taxes/create does not change a revision' } },
  })
  const bill = await call('update', { query: { invoice_id: 1 }, update: {} }, '*', {
    collection: 'bills',
  })
  expect(bill.http).toBe(400)
})

it('shows no version of several revisions, nor of a part that does not have it', async () => {
  const first = await makeTax()
  const second = await makeTax()
  const both = await call('get', { query: { key: { $in: [first.key, second.key] } } })
  expect([both.body.details.length, both.etag]).toEqual([2, null])
  const part = await call('get', { query: { _id: first.id }, project: { key: 1 } })
  expect(part).toMatchObject({ etag: null, body: { details: [{ key: first.key }] } })
  const project = { key: 1, from: 1, to: 1, revision_info: 1 }
  for (const action of ['get', 'uniqueget']) {
    const whole = await call(action, { query: { key: first.key }, project })
    expect(whole.etag).toBe(await tagOf(first.id))
    expect(whole.body.details[0]).not.toHaveProperty('rev')
  }
})

it('of concurrent writers with one version exactly one succeeds, on several admins', async () => {
  const { id } = await makeTax()
  for (let round = 0; round < 3; round += 1) {
    const tag = await tagOf(id)
    const writers = Array.from({ length: 8 }, (_, index) =>
      call('update', { query: { _id: id }, ...changed(`round ${round} writer ${index}`) }, tag, {
        admin: index % 2,
      }),
    )
    const answers = await Promise.all(writers)
    const winners = answers.filter(({ http }) => http === 200)
    expect(answers.map(({ http }) => http).sort()).toEqual([200, ...Array(7).fill(409)])
    const { entity } = winners[0]?.body ?? {}
    const shown = await call('get', { query: { _id: id } })
    expect(shown.body.details[0]?.['description']).toBe(entity?.['description'])
  }
})
