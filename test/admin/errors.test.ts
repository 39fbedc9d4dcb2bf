/** Every family of endpoints of a node answers errors with `errors`, and warns of unknown names. */
import { describe, expect, it } from 'vitest'
import { startTestAdmin } from '../support/admin/test-admin.ts'
import { useOpened } from '../support/opened.ts'
import { startTestStores } from '../support/recorder/accounts.ts'

const stores = useOpened(startTestStores)
const admin = useOpened(
  () => startTestAdmin(stores()),
  (opened) => opened.close(0),
)

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${admin().port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, unknown>
}

const PERSON = { firstname: 'Ada', lastname: 'Byron', address: '1 Mill Road', country: 'UK' }
const ACCOUNT = { ...PERSON, email: 'ada@example.org', zip_code: 'AB1 2CD' }
const TIERS = [{ from: 0, to: 'UNLIMITED', interval: 0, price: 1 }]

describe('an error', () => {
  it.each([
    ['/billapi/nothing/get', {}, { path: '', code: 'not_allowed' }],
    ['/billapi/plans/get', { query: { nam: 'X' } }, { path: 'query.nam', code: 'unknown' }],
    ['/billapi/plans/get', { page: 'x', size: 'x' }, { path: 'page', code: 'invalid' }],
    ['/billapi/plans/get', { query: '{', sort: '[1]' }, { path: 'query', code: 'invalid' }],
    ['/billapi/plans/close', { query: { _id: 'f'.repeat(24) } }, { path: '', code: 'target' }],
    ['/billapi/accounts/import', {}, { path: '', code: 'refused' }],
    ['/api/credit', { aid: 'x' }, { path: 'aid', code: 'invalid' }],
    ['/api/remove', { stamps: 'x' }, { path: '', code: 'refused' }],
    ['/api/settings', { action: 'set', category: 'rates' }, { path: 'data', code: 'missing' }],
    [
      '/api/settings',
      { action: 'set', category: 'taxation', data: { x: 1 } },
      { path: 'taxation.x', code: 'unknown' },
    ],
    ['/api/clock', { to: '2030-01-01' }, { path: '', code: 'not_allowed' }],
    ['/auth/login', { username: 'ada' }, { path: 'password', code: 'missing' }],
    ['/auth/login', { username: 'ada', password: 'x' }, { path: '', code: 'refused' }],
    ['/auth/totp/begin', {}, { path: '', code: 'refused' }],
    ['/oauth2/token', {}, { path: '', code: 'request' }],
    ['/nowhere', {}, { path: '', code: 'not_found' }],
  ])('of %s with %j names what is wrong', async (path, body, first) => {
    const answer = await post(path, body)
    expect(answer).toMatchObject({
      errors: expect.arrayContaining([expect.objectContaining(first)]),
    })
  })

  it('of an invalid token has it, too', async () => {
    const headers = { authorization: `Bearer ${'f'.repeat(40)}` }
    const answer = await post('/api/bill', {}, headers)
    expect(answer).toMatchObject({ error: 'invalid_token', errors: [{ code: 'not_logged_in' }] })
  })

  it('of a write names everything, has the text of the first, and takes no number', async () => {
    const counters = () => stores().catalog.counters.find().toArray()
    const before = await counters()
    const { zip_code: _, ...others } = ACCOUNT
    const update = { ...others, email: 'ada' }
    expect(await post('/billapi/accounts/create', { update })).toMatchObject({
      ...{ status: 0, code: 17577, display: { code: 0 } },
      message: 'zip_code is mandatory',
      errors: [
        { path: 'zip_code', code: 'missing' },
        { path: 'email', code: 'invalid' },
      ],
    })
    const rate = { key: 'r1', pricing_method: 'tiered', rates: { call: { BASE: { rate: TIERS } } } }
    expect(await post('/billapi/rates/create', { update: rate })).toMatchObject({
      message: 'update.key must be of capital letters, digits and _',
      errors: [
        { path: 'key', code: 'invalid' },
        { path: 'rates.call.BASE.rate.0.interval', code: 'invalid' },
      ],
    })
    expect(await counters()).toEqual(before)
    expect(await stores().catalog.rates.countDocuments()).toBe(0)
  })
})

describe('a warning', () => {
  it('names unknown parameters and fields, with what was probably meant', async () => {
    const update = { ...ACCOUNT, firstnam: 'Ada' }
    expect(await post('/billapi/accounts/create', { update, aditional: {} })).toMatchObject({
      status: 1,
      warnings: [
        'aditional is not a parameter of accounts/create: ignored; did you mean additional?',
        'firstnam is not a field of accounts: ignored; did you mean firstname?',
      ],
    })
    expect(await post('/billapi/accounts/get', { quer: {} })).toMatchObject({
      warnings: ['quer is not a parameter of accounts/get: ignored; did you mean query?'],
    })
    const usedBy = { collection: 'plans', key: 'X', colour: 1 }
    expect(await post('/api/usedby', usedBy)).toMatchObject({
      status: 1,
      warnings: ['colour is not a parameter of usedby: ignored'],
    })
    expect(await post('/billapi/accounts/get', { query: {} })).not.toHaveProperty('warnings')
  })
})
