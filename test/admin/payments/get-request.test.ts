/** `/paymentgateways/getRequest`: signed links that send a customer to a hosted page. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { signatureOf, signedText } from '../../../src/catalog/signature/signed-text.ts'
import { startClosedAdmin } from '../../support/identity/closed-admin.ts'
import { useOpened } from '../../support/opened.ts'

const BOSS = 'boss@example.org'
const PASSWORD = 'a good password'
const PAGE = /^http:\/\/127\.0\.0\.1:\d+\/paymentgateways\/sandbox\/[\w-]{32}$/
let cookie = ''
let secret = ''
let aid = 0

const closed = useOpened(startClosedAdmin)
beforeAll(async () => {
  await closed().addUser(BOSS, PASSWORD, ['admin'])
  cookie = await closed().cookieOf(BOSS, PASSWORD)
  const set = (category: string, value: unknown) =>
    closed().post('/api/settings', { action: 'set', category, data: JSON.stringify(value) }, cookie)
  const made = await set('shared_secret', { name: 'shop', roles: ['write'] })
  secret = (made['details'] as { key: string }).key
  await set('payment_gateways', [{ name: 'sandbox' }])
  await set('payments', { return_origins: ['https://shop.example.org', 'https://x'] })
  closed().pass(60_000)
  const person = { firstname: 'Ada', lastname: 'Byron', country: 'UK', address: '1 Mill Rd' }
  const update = JSON.stringify({ ...person, email: 'ada@example.org', zip_code: 'AB1' })
  const account = await closed().post('/billapi/accounts/create', { update }, cookie)
  aid = Number((account['entity'] as { aid: number }).aid)
})

type Data = Record<string, unknown>

const NOT_ALLOWED =
  'its origin is not in payments.return_origins of the settings, as https://shop.example.net'

function signed(data: Data, key = secret): string {
  const all = { ...data, _t_: Math.floor(closed().now() / 1000) }
  return JSON.stringify({
    ...all,
    _sig_: signatureOf(signedText(new Map(Object.entries(all))), key),
  })
}

async function open(
  params: Record<string, string>,
  headers: Record<string, string> = {},
  method = 'GET',
) {
  const url = `${closed().url}/paymentgateways/getRequest?${new URLSearchParams(params)}`
  const response = await fetch(url, { redirect: 'manual', headers, method })
  const text = await response.text()
  const body = text.startsWith('{') ? (JSON.parse(text) as Data) : {}
  return { status: response.status, location: response.headers.get('location'), body }
}

describe('a signed link', () => {
  it('redirects to the hosted page, once', async () => {
    const data = signed({ aid, name: 'sandbox', return_url: 'https://shop.example.org/' })
    const first = await open({ data })
    expect(first).toMatchObject({ status: 302, location: expect.stringMatching(PAGE) })
    const found = await closed().stores.catalog.tokenizations.findOne({ aid })
    expect(found).toMatchObject({ returnUrl: 'https://shop.example.org/', actor: { name: 'shop' } })
    const { body } = await open({ data })
    expect(body).toMatchObject({ status: 0, code: 17574, desc: body['message'] })
  })

  it('answers with the address for a frame', async () => {
    const { status, body } = await open({ data: signed({ aid, iframe: 1 }) })
    expect([status, body['status'], body['desc']]).toEqual([200, 1, 'success'])
    expect((body['details'] as { url: string }).url).toMatch(PAGE)
  })

  it('is refused if it was changed, or signed by another key', async () => {
    const changed = signed({ aid }).replace(`"aid":${aid}`, `"aid":${aid + 1}`)
    for (const data of [changed, signed({ aid }, 'another key'), JSON.stringify({ aid })]) {
      expect((await open({ data })).body).toMatchObject({ status: 0, code: 17574 })
    }
  })

  it('is not needed with a session, by POST: any page may have a link', async () => {
    const opened = await closed().post(
      '/paymentgateways/getRequest',
      { aid: String(aid), iframe: '1' },
      cookie,
    )
    expect((opened['details'] as { url: string }).url).toMatch(PAGE)
    for (const sent of [{ aid: String(aid) }, { data: JSON.stringify({ aid }) }]) {
      const { status, body } = await open(sent, { cookie })
      expect([status, body['desc']]).toEqual([
        405,
        expect.stringMatching(/^getRequest must be sent by POST/),
      ])
    }
  })

  it.each([
    [{}, 'Following field/s are missing: aid'],
    [{ aid: 'x' }, 'Field aid should be of type Integer'],
    [{ aid: 999_999 }, 'aid: there is no account 999999'],
    [{ aid: 'own', name: 'paypal' }, 'name must be one of sandbox'],
    [{ aid: 'own', ok_page: 'javascript:1' }, /^ok_page must be an address/],
    ...['return_url', 'ok_page', 'fail_page'].flatMap((name) =>
      [
        'https://evil.example.org/',
        'http://shop.example.org/',
        'https://shop.example.org:8443/',
      ].map((page) => [{ aid: 'own', [name]: page }, `${name}: ${NOT_ALLOWED}`] as [Data, string]),
    ),
    [
      { aid: 'own', action: 'single_payment', amount: 5 },
      'action single_payment is not supported: a page stores a card',
    ],
  ])('with %o is refused', async (given: Data, message) => {
    const data = given['aid'] === 'own' ? { ...given, aid } : given
    const text = typeof message === 'string' ? message : expect.stringMatching(message)
    const { body } = await open({ data: signed(data) })
    expect(body).toMatchObject({ status: 0, desc: text, message: text })
  })

  it('with any members is refused by name, or leads to a page', async () => {
    const names = ['aid', 'name', 'return_url', 'ok_page', 'fail_page', 'lang', 'iframe', 'action']
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>('', 'sandbox', '\0', 'https://x', '1e400', -1, {}, [], null),
    )
    const members = fc.dictionary(fc.constantFrom(...names, '__proto__', '$set'), value)
    await fc.assert(
      fc.asyncProperty(members, fc.boolean(), async (given, isKnown) => {
        const data = JSON.stringify({ ...given, ...(isKnown && { aid }) })
        const { status, body } = await open({ data }, { cookie }, 'POST')
        expect([200, 302, 400], data).toContain(status)
        if (status === 200 && body['status'] === 0) expect(body['desc']).toBe(body['message'])
      }),
      { numRuns: 100 },
    )
  })

  it('must be an object of JSON', async () => {
    expect((await open({ data: '[1]' }, { cookie }, 'POST')).body['desc']).toBe(
      'Field data should be of type Object',
    )
    expect((await open({ data: '{' }, { cookie }, 'POST')).body['desc']).toMatch(
      /^data is not JSON/,
    )
  })
})
