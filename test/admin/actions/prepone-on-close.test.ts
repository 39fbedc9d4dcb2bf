/** Installments become due when a subscriber is closed, if configured. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { type ClosedAdmin, startClosedAdmin } from '../../support/identity/closed-admin.ts'

let closed: ClosedAdmin
let cookie = ''
beforeAll(async () => {
  closed = await startClosedAdmin({ TOLLGATE_BILLING_PREPONE_ON_TERMINATION: 'true' })
  await closed.addUser('ops@example.org', 'a good password', ['read', 'write'])
  cookie = await closed.cookieOf('ops@example.org', 'a good password')
})
afterAll(() => closed?.close())

const PERSON = { firstname: 'Ada', lastname: 'Byron', country: 'UK', address: '1 Mill Road' }

async function post(path: string, params: Record<string, unknown>) {
  const texts = Object.entries(params).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const answer = await closed.post(path, Object.fromEntries(texts), cookie)
  expect(answer).toMatchObject({ status: 1 })
  return answer
}

const create = (collection: string, update: object) =>
  post(`/billapi/${collection}/create`, { update: { from: '2026-01-01', ...update } })

it('moves the later installments to the current cycle', async () => {
  const price = { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] } }
  const kind = { pricing_method: 'tiered', tariff_category: 'retail' }
  await create('rates', { key: 'PHONE', description: 'Phone', ...kind, rates: { fee: price } })
  const offer = { price: [{ from: 0, to: 'UNLIMITED', price: 25 }], upfront: false }
  const monthly = { recurrence: { frequency: 1, start: 1 }, connection_type: 'postpaid' }
  await create('plans', { name: 'GOLD', description: 'Gold', ...offer, ...monthly })
  const account = await create('accounts', { ...PERSON, email: 'a@example.org', zip_code: 'A1' })
  const { aid } = account['entity'] as { aid: number }
  const made = await create('subscribers', { ...PERSON, aid, plan: 'GOLD' })
  const { sid, _id } = made['entity'] as { sid: number; _id: { $id: string } }
  const credit = { aid, sid, rate: 'PHONE', credit_time: '2026-06-10', usagev: 1, aprice: 90 }
  await post('/api/credit', { ...credit, installments: 3 })
  const cycles = async () => {
    const lines = await closed.stores.catalog.lines.find({ sid }).sort({ urt: 1 }).toArray()
    return lines.map((line) => ('billrun' in line ? line.billrun : ''))
  }
  expect(await cycles()).toEqual(['202607', '202608', '202609'])
  await post('/billapi/subscribers/close', { query: { _id: _id.$id }, update: { to: 'now' } })
  expect(await cycles()).toEqual(['202607', '202607', '202607'])
  const audited = await closed.stores.catalog.audit.find({ type: 'prepone' }).toArray()
  expect(audited).toMatchObject([{ user: { name: 'ops@example.org' } }])
  expect(ObjectId.isValid(_id.$id)).toBe(true)
})
