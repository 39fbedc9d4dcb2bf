import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { answerOf } from '../../../examples/crm/crm.mjs'
import type { BillableQuery } from '../../../src/external/customers/billable.ts'
import { checkBillable, checkDetails } from '../../../src/external/customers/check.ts'
import type { CustomerQuery } from '../../../src/external/customers/queries.ts'
import type { RevisionContext } from '../../../src/external/customers/revisions.ts'

type Fields = Record<string, unknown>

const context: RevisionContext = { timeZone: 'UTC', customFields: { account: [], subscriber: [] } }
const FILE = new URL('../../../examples/crm/customers.json', import.meta.url)
const customers = () => JSON.parse(readFileSync(fileURLToPath(FILE), 'utf8')) as Fields[]
const query: BillableQuery = {
  request: { start_date: '2026-05-01', end_date: '2026-06-01', page: 0, size: 1, aids: '17' },
  after: 0,
  aids: [17],
  startMs: Date.UTC(2026, 4, 1),
  endMs: Date.UTC(2026, 5, 1),
}
const changed = (index: number, change: Fields): Fields[] =>
  customers().map((each, at) => (at === index ? { ...each, ...change } : each))
const billable = (rows: unknown, more: Fields = {}) =>
  checkBillable({ status: 1, data: rows, options: [], ...more }, query, context).map(
    ({ level, field, problem }) => `${level}: ${field} ${problem}`,
  )

describe('billable accounts', () => {
  it('of the example are right', () => {
    const answer = answerOf('/billable', query.request, customers())
    expect(checkBillable(answer, query, context)).toEqual([])
  })

  it.each<[number, Fields, string]>([
    [0, { from: undefined }, 'error: data.0.from is missing'],
    [0, { to: '31/12/2026' }, 'error: data.0.to must be a date such as'],
    [0, { aid: 'x' }, 'error: data.0.aid must be an integer from 1'],
    [0, { email: 5 }, 'error: data.0.email must be a text'],
    [0, { email: undefined }, 'warning: data.0.email is missing'],
    [0, { invoice_shipping_method: 'fax' }, 'must be email, mail, post, website'],
    [0, { invoice_detailed: 'no' }, 'error: data.0.invoice_detailed must be true or false'],
    [1, { type: 'sub' }, 'error: data.1.type must be account or subscriber'],
    [1, { plan: '' }, 'error: data.1.plan is missing'],
    [1, { services: 'TV' }, 'error: data.1.services must be a list'],
    [
      1,
      { services: [{ from: '2026-01-01 00:00:00' }] },
      'error: data.1.services.0.name is missing',
    ],
    [1, { services: [{ name: 'TV', to: 'never' }] }, 'error: data.1.services.0.to must be a date'],
    [1, { imsi: '234' }, 'error: data.1.imsi must be a list'],
    [1, { imsi: ['234'] }, 'warning: data.1.imsi must be an IMSI of 6 to 15 digits, has 3'],
    [1, { msisdn: '4.477E+11' }, 'warning: data.1.msisdn must be a number with country code'],
    [
      1,
      { aid: 18 },
      'error: data billable accounts, page 0: account 18 is not one of the requested',
    ],
    [
      1,
      { type: 'account', sid: undefined },
      'error: data account 17: customer system: revisions overlap',
    ],
  ])('with revision %i as %j', (index, change, text) => {
    expect(billable(changed(index, change)).join('\n')).toContain(text)
  })

  it('name every field that is wrong', () => {
    const found = billable(changed(1, { plan: null, from: 'x', sid: 0 }))
    expect(found.length).toBeGreaterThanOrEqual(3)
  })

  it.each<[unknown, string]>([
    ['x', 'must be an object with status and data'],
    [{ status: 0, data: [] }, 'must be 1 for a success'],
    [{ status: 1 }, 'must be a list'],
  ])('%j is wrong as a whole', (answer, problem) => {
    expect(checkBillable(answer, query, context)[0]?.problem).toBe(problem)
  })
})

describe('details', () => {
  const asked = (key: string, value: number): CustomerQuery => ({
    id: 'q1',
    time: '2026-05-15T12:00:00+00:00',
    params: [{ key, operator: 'equal', value }],
    limit: 1,
  })
  const answer = (path: string, expected: CustomerQuery) =>
    answerOf(path, { query: [expected] }, customers()) as Fields[]
  const problems = (rows: unknown, expected = asked('sid', 171)) =>
    checkDetails('subscriber', rows, [expected], context).map(
      ({ field, problem }) => `${field} ${problem}`,
    )

  it('of the example are right', () => {
    expect(problems(answer('/subscribers', asked('sid', 171)))).toEqual([])
    const account = asked('aid', 17)
    expect(checkDetails('account', answer('/accounts', account), [account], context)).toEqual([])
  })

  it.each<[Fields, string]>([
    [{ id: 'other' }, '0.id must be the id of a query'],
    [{ sid: 172 }, '0.sid must be 171, as in the query'],
    [{ to: '2026-05-01 00:00:00' }, '0.from to 0.to must contain the time of the query'],
    [{ plan: undefined }, '0.plan is missing'],
  ])('with %j are wrong', (change, text) => {
    const rows = answer('/subscribers', asked('sid', 171)).map((row) => ({ ...row, ...change }))
    expect(problems(rows).join('\n')).toContain(text)
  })

  it('are none, too many, or no list', () => {
    const [row] = answer('/subscribers', asked('sid', 171))
    expect(problems([])).toEqual([' has no revision for sid 171'])
    expect(problems([row, row])).toContain(' has 2 revisions for sid 171; the limit is 1')
    expect(problems({ data: [] })).toEqual([' must be a list of revisions'])
  })

  it('have the fields of a card', () => {
    const expected = asked('aid', 17)
    const rows = answer('/accounts', expected).map((row) => ({
      ...row,
      payment_gateway: { active: { name: 'sandbox', card_expiration: 'soon' } },
    }))
    expect(checkDetails('account', rows, [expected], context)).toMatchObject([
      { field: '0.payment_gateway.active.card_token', problem: 'is missing' },
      { field: '0.payment_gateway.active.card_expiration' },
      { level: 'warning', field: '0.payment_gateway.active.generate_token_time' },
    ])
  })
})
