/**
 * The caller of a request with several credentials: a token, then a signature, then the session.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { signatureOf, signedText } from '../../../src/catalog/signature/signed-text.ts'
import { present } from '../../../src/domain/assert.ts'
import { startClosedAdmin } from '../../support/identity/closed-admin.ts'
import { useOpened } from '../../support/opened.ts'

const PASSWORD = 'a good password'
const BOSS = 'boss@example.org'
const READER = 'reader@example.org'
let secret = ''
let token = ''
let cookie = ''

const closed = useOpened(startClosedAdmin)
beforeAll(async () => {
  await closed().addUser(BOSS, PASSWORD, ['admin'])
  await closed().addUser(READER, PASSWORD, ['read'])
  const data = JSON.stringify({ name: 'crm', roles: ['write'] })
  const change = { action: 'set', category: 'shared_secret', data }
  const made = await closed().post('/api/settings', change, await closed().cookieOf(BOSS, PASSWORD))
  secret = (made['details'] as { key: string }).key
  closed().pass(1000)
  const grant = { grant_type: 'client_credentials', client_id: 'crm', client_secret: secret }
  token = String((await closed().post('/oauth2/token', grant))['access_token'])
  cookie = await closed().cookieOf(READER, PASSWORD)
})

const createTax = (key: string) => ({
  update: JSON.stringify({ key, description: key, rate: 0.1, from: '2026-01-01' }),
})

function signed(fields: Record<string, string>): Record<string, string> {
  const all = { ...fields, _t_: String(Math.floor(closed().now() / 1000)) }
  return { ...all, _sig_: signatureOf(signedText(new Map(Object.entries(all))), secret) }
}

describe('endpoints that answer by HTTP status', () => {
  const metricsStatus = async (headers: Record<string, string>, query = '') =>
    (await fetch(`${closed().url}/metrics${query}`, { headers })).status

  it('answer 401 without a caller, and 403 if the caller lacks the role', async () => {
    expect(await metricsStatus({})).toBe(401)
    expect(await metricsStatus({}, '?_sig_=')).toBe(401)
    const twice = { authorization: `Bearer ${token}` }
    expect(await metricsStatus(twice, `?access_token=${token}`)).toBe(401)
    expect(await metricsStatus({ authorization: `Bearer ${token}` })).toBe(403)
    expect(await metricsStatus({ cookie })).toBe(200)
  })
})

describe('a request with the session cookie of a reader', () => {
  const create = (fields: Record<string, string>) =>
    closed().post('/billapi/taxes/create', fields, cookie)

  it('may not write with no other credentials', async () => {
    expect(await create(createTax('NONE'))).toMatchObject({ status: 0, code: 17575 })
  })

  it('writes with the token of a writer in the form', async () => {
    const fields = { ...createTax('TOKEN'), access_token: token }
    expect(await create(fields)).toMatchObject({ status: 1, entity: { key: 'TOKEN' } })
  })

  it('writes with the signature of a writer, once', async () => {
    const fields = signed(createTax('SIGNED'))
    expect(await create(fields)).toMatchObject({ status: 1, entity: { key: 'SIGNED' } })
    expect(await create(fields)).toMatchObject({ status: 0, code: 17575 })
  })

  it('ignores invalid further credentials', async () => {
    const read = (fields: Record<string, string>) =>
      closed().post('/billapi/taxes/get', fields, cookie)
    expect(await read({ access_token: 'f'.repeat(40) })).toMatchObject({ status: 1 })
    expect(await read({ ...signed({ page: '0' }), page: '1' })).toMatchObject({ status: 1 })
    const wrong = { ...createTax('WRONG'), access_token: 'f'.repeat(40) }
    expect(await create(wrong)).toMatchObject({ status: 0, code: 17575 })
  })
})

describe('GET /api/remove, which writes', () => {
  const remove = async (parameters: Record<string, string>, headers: Record<string, string>) => {
    const query = new URLSearchParams({ stamps: 'a', ...parameters })
    const response = await fetch(`${closed().url}/api/remove?${query}`, { headers })
    const { desc } = (await response.json()) as { desc: string }
    return `${response.status} ${desc}`
  }
  const served = '200 remove is not enabled'

  it('is served to a caller with a token or a signature, also with a session cookie', async () => {
    expect(await remove({}, { authorization: `Bearer ${token}` })).toBe(served)
    expect(await remove({ access_token: token }, {})).toBe(served)
    expect(await remove(signed({ stamps: 'a' }), {})).toBe(served)
    expect(await remove({ access_token: token }, { cookie })).toBe(served)
  })

  it('is refused to a caller with a session cookie only', async () => {
    const boss = await closed().cookieOf(BOSS, PASSWORD)
    const refused = /^405 remove must be sent by POST with a session cookie: it writes, and a link/
    expect(await remove({}, { cookie: boss })).toMatch(refused)
    expect(await remove({ access_token: 'f'.repeat(40) }, { cookie: boss })).toMatch(refused)
  })
})

describe('a body of more than 256 KB', () => {
  const large = new URLSearchParams({ ...createTax('LARGE'), more: 'x'.repeat(300_000) })
  const send = (
    headers: Record<string, string>,
    body: string | URLSearchParams | ReadableStream,
    path = '/api/cards',
  ) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const init = { method: 'POST', headers: { ...type, ...headers }, body, duplex: 'half' }
    return fetch(`${closed().url}${path}`, init as RequestInit)
  }
  const chunks = () => new Blob([large.toString()]).stream()

  it('is refused before it is parsed if only it could identify the caller', async () => {
    const tokenInside = `${large}&access_token=${token}`
    for (const body of [large, tokenInside, chunks()]) {
      const answer = await send({}, body)
      expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close'])
      expect(await answer.text()).toContain('needs a session, or a token in the header')
    }
  })

  it('may be a form with files: only its fields are limited', async () => {
    const form = (fields: Record<string, string>) => {
      const sent = new FormData()
      for (const [name, value] of Object.entries({ ...createTax('FORM'), ...fields })) {
        sent.set(name, value)
      }
      return new Response(sent)
    }
    const sendForm = async (fields: Record<string, string>) => {
      const { headers, body } = form(fields)
      return send({ 'content-type': headers.get('content-type') ?? '' }, present(body, 'body'))
    }
    expect((await sendForm({ access_token: token })).status).not.toBe(413)
    const refused = await sendForm({ access_token: token, more: 'x'.repeat(300_000) })
    expect(refused.status).toBe(413)
    expect(await refused.text()).toContain('the fields of the body have more than 262144 bytes')
  })

  it('is read for a session, and for a token in the header or the query', async () => {
    const known = [
      send({ cookie }, large),
      send({ authorization: `Bearer ${token}` }, chunks()),
      send({}, large, `/api/cards?access_token=${token}`),
    ]
    for (const answer of await Promise.all(known)) expect(answer.status).not.toBe(413)
  })
})
