/** `/billrun`: previews, pauses, accounts that failed, sums before a confirmation. */
import { beforeEach, describe, expect, it } from 'vitest'
import { cycle } from '../../../src/admin/actions/billrun/cycles.ts'
import { retryparked, skipparked } from '../../../src/admin/actions/billrun/parked.ts'
import { preview } from '../../../src/admin/actions/billrun/preview.ts'
import {
  completecycle,
  pausecycle,
  specificcycle,
} from '../../../src/admin/actions/billrun/run-cycle.ts'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { type Fields, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addAccounts, FROM, TO } from '../../support/billing/cycle-fixture.ts'

const ACTIONS = [completecycle, pausecycle, specificcycle, retryparked, skipparked, preview, cycle]
const api = useActionServer(ACTIONS, {}, { compute: computeAccount })
/** The server's clock is in 202607; the last cycle is 202606. */
const KEY = '202606'
const COLLECTIONS = [
  ...['subscribers', 'billrun', 'lines', 'counters', 'cycleruns', 'cyclepages'],
  ...['cycleparked', 'jobs', 'audit', 'plans'],
] as const

beforeEach(async () => {
  const catalog = api.catalog()
  for (const name of COLLECTIONS) await catalog[name].deleteMany({})
  const lasting = { from: FROM, to: TO, rev: 1, connection_type: 'postpaid' }
  const monthly = { recurrence: { frequency: 1, start: 1 }, upfront: false }
  const price = [{ from: 0, to: 'UNLIMITED', price: 10.01 }]
  const tax = [{ type: 'vat', taxation: 'no' }]
  await catalog.plans.insertOne({ name: 'GOLD', ...lasting, ...monthly, price, tax } as never)
})

const ask = (name: string, params: Fields = {}, how = {}) =>
  api.ask(`billrun/${name}`, { stamp: KEY, ...params }, how)
const details = async (name: string, params: Fields = {}) => {
  const answer = await ask(name, params)
  if (answer['status'] !== 1) throw new Error(answer.text)
  return answer['details'] as Fields
}
const refused = async (name: string, params: Fields = {}) => {
  const { status, desc, http } = await ask(name, params)
  expect([http, status]).toEqual([200, 0])
  return desc
}
/** Accounts that cannot be computed. */
async function addBroken(count: number, aids: readonly number[]): Promise<void> {
  await addAccounts(api.catalog(), count)
  await setPlan(aids, 'NONE')
}
const setPlan = (aids: readonly number[], plan: string) =>
  api
    .catalog()
    .subscribers.updateMany({ aid: { $in: aids }, type: 'subscriber' } as never, { $set: { plan } })
const stored = () => {
  const { lines, billrun, audit } = api.catalog()
  return Promise.all([lines.countDocuments(), billrun.countDocuments(), audit.countDocuments()])
}

describe('preview', () => {
  it('computes pages of 100 accounts, with totals of all so far, and stores nothing', async () => {
    await addBroken(130, [7])
    const before = await stored()
    const first = await details('preview')
    expect(first).toMatchObject({
      key: KEY,
      status: 'to_run',
      compared: '202605',
      previous: { key: '202605', assumption: 'not run: only lines that are stored already' },
      next: 100,
      totals: { accounts: 100, invoices: 99, failed: 1, total: '990.99', stored: '0' },
    })
    const rows = first['accounts'] as Fields[]
    expect(rows).toHaveLength(100)
    expect(rows[6]).toMatchObject({
      aid: 7,
      total: null,
      failed: expect.stringContaining('NONE'),
    })
    const { next, totals } = first
    const second = await details('preview', { after: next, so_far: JSON.stringify(totals) })
    expect(second).toMatchObject({
      next: null,
      totals: { accounts: 130, invoices: 129, failed: 1, total: '1291.29' },
    })
    expect(await stored()).toEqual(before)
  })

  it('shows accounts that differ from their invoices, and a named one in any case', async () => {
    await addAccounts(api.catalog(), 3)
    await details('specificcycle', { aids: '[1,2,3]' })
    expect(await details('preview')).toMatchObject({
      compared: KEY,
      accounts: [],
      totals: { accounts: 3, changed: 0, total: '30.03', stored: '30.03', difference: '0' },
    })
    expect(await details('preview', { aid: 2 })).toMatchObject({
      accounts: [{ aid: 2, total: '10.01', stored: '10.01', changes: [] }],
      next: null,
    })
    const ended = { subscribers: [{ sid: 10_002, to: '2026-04-01' }] }
    const { accounts, totals } = await details('preview', { assume: JSON.stringify(ended) })
    expect(accounts).toMatchObject([{ aid: 2, stored: '10.01' }])
    expect(totals).toMatchObject({ accounts: 3, changed: 1 })
  })

  it.each([
    [{ stamp: 'x' }, 'Need to pass correct billrun key'],
    [{ aid: 9 }, 'the account 9 does not exist'],
    [{ aid: 0 }, 'Field aid must be at least 1'],
    [{ back: 25 }, 'Field back must be at most 24'],
    [{ after: 'x' }, 'Field after should be of type Integer'],
    [{ assume: '[]' }, 'assume must be an object with lists of revisions'],
    [{ assume: '{"plans": [{}]}' }, 'assume.plans.0.name is missing'],
    [{ assume: '{"rates": []}' }, /^assume\.rates is not one of account/],
    [{ so_far: '{"accounts": 1}' }, 'Field so_far must be totals of an answer: invoices'],
  ])('refuses %j: %s', async (params, text) => {
    const desc = await refused('preview', params)
    if (typeof text === 'string') expect(desc).toBe(text)
    else expect(desc).toMatch(text)
  })

  it('needs the role read', async () => {
    await addAccounts(api.catalog(), 1)
    expect((await ask('preview', {}, { role: 'read' }))['status']).toBe(1)
    expect((await ask('preview', {}, { role: 'reports' })).text).toContain('needs read')
  })
})

describe('pausecycle', () => {
  it('pauses a run, with who it was, and completecycle continues it', async () => {
    await addAccounts(api.catalog(), 2)
    expect(await refused('pausecycle')).toBe('Billing cycle 202606 is not running')
    await details('completecycle', { generate_pdf: 'false' })
    expect((await ask('pausecycle'))['status']).toBe(1)
    expect(await details('cycle')).toMatchObject({ state: 'paused', reason: 'paused by ada' })
    expect(await refused('pausecycle')).toBe('Billing cycle 202606 is not running')
    await details('completecycle', { generate_pdf: 'false' })
    expect(await details('cycle')).toMatchObject({ state: 'running', reason: '' })
    const audit = await api
      .catalog()
      .audit.find({ key: KEY } as object)
      .toArray()
    expect(audit.map((entry) => (entry as Fields)['type'])).toEqual(['run', 'pause', 'continue'])
  })
})

describe('accounts that failed', () => {
  const fail = async () => {
    await addBroken(4, [2, 3])
    await details('specificcycle', { aids: '[1,2,3,4]' })
  }

  it('are computed again', async () => {
    await fail()
    await setPlan([2], 'GOLD')
    expect(await details('retryparked', { aids: '[2]' })).toMatchObject({ invoices: 1, failed: 0 })
    expect(await details('retryparked')).toMatchObject({ accounts: 1, failed: 1 })
    expect(await details('cycle')).toMatchObject({ parked_accounts: [{ aid: 3, tries: 2 }] })
  })

  it('are left out, once, and it is in the audit', async () => {
    await fail()
    expect(await details('skipparked', { aids: '[3]' })).toEqual({ skipped: 1 })
    expect(await details('skipparked', { aids: '[3]' })).toEqual({ skipped: 0 })
    expect(await details('cycle')).toMatchObject({ parked: 1, parked_accounts: [{ aid: 2 }] })
    const entries = await api
      .catalog()
      .audit.find({ type: 'skip' } as object)
      .toArray()
    expect(entries).toMatchObject([{ key: KEY, new: { aids: [3], count: 1 } }])
  })

  it('wait while the cycle runs', async () => {
    await addAccounts(api.catalog(), 1)
    await details('completecycle', { generate_pdf: 'false' })
    const text = 'Billing cycle 202606 is running: wait, or pause it'
    expect(await refused('retryparked')).toBe(text)
    expect(await refused('skipparked')).toBe(text)
    expect(await refused('skipparked', { aids: '["x"]' })).toBe("Illgal account id's")
  })

  it.each(['pausecycle', 'retryparked', 'skipparked'])('%s needs the role admin', async (name) => {
    expect((await ask(name, {}, { role: 'read,write' })).text).toContain('needs admin')
  })
})

it('a cycle tells the exact sums of what a confirmation would confirm', async () => {
  await addAccounts(api.catalog(), 3)
  await details('specificcycle', { aids: '[1,2,3]' })
  await api.catalog().billrun.updateOne({ aid: 2 }, { $set: { billed: 1 } })
  expect(await details('cycle', { totals: 'true' })).toMatchObject({
    unconfirmed: { invoices: 2, before_vat: '20.02', after_vat: '20.02' },
  })
  expect(await details('cycle')).not.toHaveProperty('unconfirmed')
  expect(await details('cycle', { stamp: '202605', totals: 'true' })).toMatchObject({
    unconfirmed: { invoices: 0, before_vat: '0', after_vat: '0' },
  })
})
