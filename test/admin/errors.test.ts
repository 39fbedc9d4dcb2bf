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

/** By GET without a body. */
async function post(path: string, body: object | null, headers: Record<string, string> = {}) {
  const type = { 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${admin().port}${path}`, {
    headers: { ...(body && type), ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  return (await response.json()) as Record<string, unknown>
}

const PERSON = { firstname: 'Ada', lastname: 'Byron', address: '1 Mill Road', country: 'UK' }
const ACCOUNT = { ...PERSON, email: 'ada@example.org', zip_code: 'AB1 2CD' }
const CREDIT = { aid: 1, sid: 0, rate: 'FEE', usagev: 1, credit_time: '2026-03-06' }
const DATA_USAGE = ['data_usage', 'from_account_id', 'to_account_id', 'billrun']
const TIERS = [{ from: 0, to: 'UNLIMITED', interval: 0, price: 1 }]

describe('an error', () => {
  it.each([
    ['/billapi/nothing/get', {}, { path: '', code: 'not_allowed' }],
    ['/billapi/plans/get', { query: { nam: 'X' } }, { path: 'query.nam', code: 'unknown' }],
    ['/billapi/plans/update', {}, { path: 'query._id', code: 'missing' }],
    ['/billapi/plans/get', { options: { colour: 1 } }, { path: 'options.colour', code: 'unknown' }],
    ['/billapi/plans/get', { page: 'x', size: 'x' }, { path: 'page', code: 'invalid' }],
    ['/billapi/plans/get', { query: '{', sort: '[1]' }, { path: 'query', code: 'invalid' }],
    ['/billapi/plans/close', { query: { _id: 'f'.repeat(24) } }, { path: '', code: 'target' }],
    ['/billapi/accounts/import', {}, { path: 'files', code: 'missing' }],
    ['/api/credit', { aid: 'x' }, { path: 'aid', code: 'invalid' }],
    ['/api/remove', { stamps: 'x' }, { path: '', code: 'refused' }],
    ['/api/settings', { action: 'set', category: 'rates' }, { path: 'data', code: 'missing' }],
    [
      '/api/settings',
      { action: 'set', category: 'taxation', data: { x: 1 } },
      { path: 'taxation.x', code: 'unknown' },
    ],
    ['/api/settings', { action: 'set' }, { path: 'category', code: 'missing' }],
    ['/api/clock', { to: '2030-01-01' }, { path: '', code: 'not_allowed' }],
    ['/api/live?colour=1', null, { path: 'colour', code: 'unknown' }],
    ['/api/charge', { colour: 1 }, { path: 'colour', code: 'unknown' }],
    ['/api/pay', { method: 'cash' }, { path: 'payments', code: 'missing' }],
    [
      '/api/pay',
      { method: 'cash', payments: [{ amount: 1 }] },
      { path: 'payments.0.aid', code: 'missing' },
    ],
    ['/api/resetlines', {}, { path: 'aid', code: 'missing' }],
    [
      '/api/generateexpected',
      { aid: 1, billrun_key: 'x' },
      { path: 'billrun_key', code: 'invalid' },
    ],
    [
      '/api/cards',
      { method: 'update', query: { batch_number: 1, serial_number: 1 }, update: { colour: 1 } },
      { path: 'update.colour', code: 'unknown' },
    ],
    [
      '/api/subscribersautorenew',
      { method: 'query', query: { colour: 1 } },
      { path: 'query.colour', code: 'unknown' },
    ],
    [
      '/api/onetimeinvoice',
      { aid: 1, cdrs: [{ aid: 1, sid: 0, rate: 'FEE', usagev: 1 }] },
      { path: 'cdrs.0.credit_time', code: 'missing' },
    ],
    [
      '/api/bulkcredit',
      { credits: [{ aid: 1, sid: 0, rate: 'FEE', usagev: 1 }] },
      { path: 'credits.0.credit_time', code: 'missing' },
    ],
    [
      '/api/bulkcredit',
      { credits: [CREDIT] },
      { path: 'credits.0.rate', code: 'invalid', why: `Rate doesn't exist` },
    ],
    ['/api/credit', CREDIT, { path: 'rate', code: 'invalid' }],
    [
      '/api/pay',
      { action: 'cancel_payments', cancellations: [{ txid: 'x' }] },
      { path: 'cancellations.0.txid', code: 'invalid', why: 'x Not Found' },
    ],
    ['/auth/login', { username: 'ada' }, { path: 'password', code: 'missing' }],
    ['/auth/login', { username: 'ada', password: 'x' }, { path: '', code: 'refused' }],
    ['/auth/totp/begin', {}, { path: '', code: 'not_logged_in' }],
    ['/oauth2/token', {}, { path: '', code: 'request' }],
    ['/nowhere', {}, { path: '', code: 'not_found' }],
  ])('of %s with %j names what is wrong', async (path, body, first) => {
    const answer = await post(path, body)
    expect(answer).toMatchObject({
      errors: expect.arrayContaining([expect.objectContaining(first)]),
    })
  })

  it.each([
    ['/api/datausage', { plan: 'X' }, 'Missing required parameter: data_usage', DATA_USAGE],
    ['/auth/password', { username: 'a' }, 'password is missing', ['password', 'new_password']],
  ])('of %s names all that is missing', async (path, body, desc, missing) => {
    const answer = await post(path, body)
    const errors = missing.map((each) => ({ path: each, code: 'missing', why: 'is missing' }))
    expect(answer).toMatchObject({ status: 0, desc })
    expect(answer['errors']).toEqual(errors.map((each) => ({ ...each, why: expect.any(String) })))
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
    for (const name of ['force', 'validate']) {
      const warnings = [`${name} is not a parameter of accounts/get: ignored`]
      expect(await post('/billapi/accounts/get', { [name]: 1 })).toMatchObject({ warnings })
      const close = await post('/billapi/accounts/close', { [name]: 1 })
      expect(close).not.toHaveProperty('warnings')
    }
    const usedBy = { collection: 'plans', key: 'X', colour: 1 }
    expect(await post('/api/usedby', usedBy)).toMatchObject({
      status: 1,
      warnings: ['colour is not a parameter of usedby: ignored'],
    })
    expect(await post('/billapi/accounts/get', { query: {} })).not.toHaveProperty('warnings')
  })
})
