import { describe, expect, it } from 'vitest'
import {
  type BillableQuery,
  NO_DATA,
  readBillable,
} from '../../../src/external/customers/billable.ts'
import { CustomerSystemError } from '../../../src/external/customers/errors.ts'
import type { RevisionContext } from '../../../src/external/customers/revisions.ts'

const context: RevisionContext = {
  timeZone: 'UTC',
  customFields: {
    account: [{ name: 'branch', isMandatory: true, isDate: false, plays: [] }],
    subscriber: [],
  },
}
const query: BillableQuery = {
  request: { start_date: '2026-05-01', end_date: '2026-06-01', page: 2, size: 3 },
  after: 10,
  aids: null,
  startMs: Date.UTC(2026, 4, 1),
  endMs: Date.UTC(2026, 6, 1),
}
const time = { from: '2026-01-01 00:00:00', to: '2170-01-01 00:00:00' }
const account = (aid: unknown, more: object = {}) => ({
  type: 'account',
  aid,
  ...time,
  branch: 'N',
  ...more,
})
const subscriber = (aid: unknown, sid: unknown, more: object = {}) => ({
  type: 'subscriber',
  aid,
  sid,
  plan: 'GOLD',
  ...time,
  ...more,
})
const read = (data: unknown, more: object = {}, asked: object = {}) =>
  readBillable({ status: 1, data, options: [], ...more }, { ...query, ...asked }, context)
const problems = (data: unknown) => read(data).map(({ problem }) => problem)

describe('an answer', () => {
  it('has the revisions of each account', () => {
    const found = read([account(11), subscriber(11, 1), subscriber(11, 2), account(12)])
    expect(
      found.map(({ aid, account, subscribers }) => [aid, account.length, subscribers.length]),
    ).toEqual([
      [11, 1, 2],
      [12, 1, 0],
    ])
    expect(found.every(({ problem }) => problem === null)).toBe(true)
  })

  it.each([[[]], [{}]])('with data %j has no accounts', (data) => {
    expect(read(data)).toEqual([])
  })

  it.each([null, '', [], {}, 'text', 5])('%j is none', (answer) => {
    expect(() => readBillable(answer, query, context)).toThrow(NO_DATA)
  })

  it.each([
    [{ status: 0, data: [] }, '0'],
    [{ status: '0', data: [] }, '"0"'],
    [{ status: false, data: [] }, 'false'],
    [{ data: [] }, ''],
    [{ status: 1 }, '1'],
    [{ status: 1, data: null }, '1'],
  ])('%j is a failure of the customer system', (answer, status) => {
    const request = '{"start_date":"2026-05-01","end_date":"2026-06-01","page":2,"size":3}'
    expect(() => readBillable(answer, query, context)).toThrow(
      `Remote server return an error (status : ${status}) on request : ${request}`,
    )
  })

  it.each([true, 1, '1', 'success'])('with status %j is a success', (status) => {
    expect(read([], { status })).toEqual([])
  })

  it.each([
    ['not sorted', [account(12), account(11)], 'account 11 follows account 12: accounts must be'],
    ['an account twice', [account(11), account(12), subscriber(11, 1)], 'account 11 follows'],
    ['the last page again', [account(10)], 'account 10 is on an earlier page, which ended with'],
    ['an earlier account', [account(3), account(11)], 'account 3 is on an earlier page'],
    ['too many', [11, 12, 13, 14].map((aid) => account(aid)), 'has 4 accounts, asked for 3'],
    ['no list', { a: 1 }, 'data must be a list'],
    ['no object', [account(11), 'x'], 'data.1 must be an object'],
    ['no number', [account(undefined)], 'data.0.aid is missing'],
    ['a wrong number', [account('x')], 'data.0.aid must be an integer'],
  ])('with %s is refused as a whole', (_, data, reason) => {
    expect(() => read(data)).toThrow(CustomerSystemError)
    expect(() => read(data)).toThrow(`billable accounts, page 2: ${reason}`)
  })

  it('has only accounts that were asked for', () => {
    const asked = { after: 0, aids: [1, 5] }
    expect(read([account(5)], {}, asked).map(({ aid }) => aid)).toEqual([5])
    expect(() => read([account(4)], {}, asked)).toThrow(
      'account 4 is not one of the requested accounts (aids)',
    )
  })
})

describe('an account', () => {
  it.each([
    ['no account revision', [subscriber(11, 1)], 'has no account revision'],
    ['no plan', [account(11), subscriber(11, 7, { plan: null })], 'subscriber 7: plan is missing'],
    ['no mandatory field', [account(11, { branch: '' })], 'branch is missing: it is mandatory'],
    [
      'another type',
      [account(11), { ...account(11), type: 'x' }],
      'type must be account or subscri',
    ],
    [
      'overlapping revisions',
      [account(11, { to: '2026-06-01 00:00:00' }), account(11, { from: '2026-05-31 23:59:59' })],
      'revisions overlap: one until 2026-06-01T00:00:00.000Z, one from 2026-05-31T23:59:59.000Z',
    ],
    [
      'a revision twice',
      [account(11), subscriber(11, 1), subscriber(11, 1)],
      'subscriber 1: revisions overlap',
    ],
  ])('with %s cannot be invoiced, the others can', (_, rows, reason) => {
    const found = problems([...rows, account(12)])
    expect(found[0]).toContain(`account 11: customer system: ${reason}`)
    expect(found[1]).toBeNull()
  })

  it('has the revisions with a part in the window, in their order', () => {
    const [found] = read([
      account(11, { to: '2026-05-15 00:00:00' }),
      account(11, { from: '2026-05-15 00:00:00' }),
      subscriber(11, 2, { from: '2026-05-02 00:00:00' }),
      subscriber(11, 1, { from: '2026-05-02 00:00:00' }),
      subscriber(11, 3, { to: '2026-05-01 00:00:00' }),
      subscriber(11, 3, { from: '2026-07-01 00:00:00' }),
      subscriber(11, 4, { from: '2026-05-10 00:00:00', to: '2026-05-10 00:00:00' }),
    ])
    expect(found?.account.length).toBe(2)
    expect(found?.subscribers.map(({ sid }) => sid)).toEqual([1, 2])
  })

  it('that has ended keeps its last revision, for usage that comes later', () => {
    const [found] = read([
      account(11, { to: '2026-02-01 00:00:00' }),
      account(11, { from: '2026-02-01 00:00:00', to: '2026-03-01 00:00:00', address: 'last' }),
    ])
    expect(found?.account).toMatchObject([{ address: 'last' }])
  })

  it.each([
    [{ merge_credit_installments: { 11: [1, '2'] } }, [1, 2]],
    [[{ merge_credit_installments: { 11: [1] } }], [1]],
    [{ merge_credit_installments: [] }, []],
    [{ merge_credit_installments: { 12: [1] } }, []],
    [[], []],
    [null, []],
  ])('with options %j has subscribers %j whose installments are merged', (options, merged) => {
    expect(read([account(11)], { options })[0]?.merged).toEqual(merged)
  })

  it.each([
    ['x', 'options must be an object'],
    [{ merge_credit_installments: 'x' }, 'options.merge_credit_installments must be an object'],
    [
      { merge_credit_installments: { 11: 1 } },
      'options.merge_credit_installments.11 must be a list',
    ],
    [
      { merge_credit_installments: { 11: ['x'] } },
      'options.merge_credit_installments.11.0 must be',
    ],
  ])('options %j are refused', (options, reason) => {
    expect(() => read([account(11)], { options })).toThrow(`billable accounts, page 2: ${reason}`)
  })
})
