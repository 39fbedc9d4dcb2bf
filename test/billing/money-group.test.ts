/** Operations that share a transaction, each with its own outcome. */
import { describe, expect, it } from 'vitest'
import { loadBooks } from '../../src/billing/books/store-books.ts'
import { BillingError } from '../../src/billing/errors.ts'
import { admitCall, ClaimLostError, storeAnswer } from '../../src/billing/idempotency.ts'
import { storeInvoiceBill } from '../../src/billing/invoices/invoice-bill.ts'
import { MoneyGroup } from '../../src/billing/money-group.ts'
import { recordPayments } from '../../src/billing/payments/operations.ts'
import { paymentOrder } from '../../src/billing/payments/payment-order.ts'
import type { Catalog } from '../../src/catalog/connection.ts'
import { Exact } from '../../src/catalog/records/money/exact-amount.ts'
import { auditBooks } from '../../src/cli/audit/books.ts'
import { ACTOR, NOW_MS, RULES } from '../support/billing/books.ts'
import { useStore } from '../support/catalog/store.ts'

const store = useStore()
const CAUSE = { currencyCode: 978, actor: ACTOR, nowMs: NOW_MS } as const

async function open(): Promise<{ catalog: Catalog; group: MoneyGroup }> {
  const catalog = await store.open()
  await catalog.ensureIndexes()
  return { catalog, group: new MoneyGroup(catalog) }
}

function pay(
  { catalog, group }: { catalog: Catalog; group: MoneyGroup },
  aid: number,
  amount: number,
  more: object = {},
): Promise<string[]> {
  const order = paymentOrder({ aid, amount, ...more }, 'cash', RULES)
  return group.run({
    what: 'pay',
    aids: [aid],
    write: (session) => recordPayments({ catalog, session, ...CAUSE }, [order]),
  })
}

async function addInvoices(
  catalog: Catalog,
  aid: number,
  count: number,
  urtOf = (index: number) => new Date(NOW_MS - (count - index) * 1_000),
): Promise<void> {
  await catalog.transaction('store invoices', async (session) => {
    for (let index = 0; index < count; index += 1) {
      await storeInvoiceBill(
        { catalog, session, ...CAUSE },
        {
          aid,
          invoiceId: aid * 10_000 + index,
          billrunKey: '202601',
          due: new Exact(1),
          beforeTax: new Exact(1),
          taxes: {},
          urt: urtOf(index),
          dueDate: new Date(NOW_MS),
        },
      )
    }
  })
}

const versionOf = async ({ transactions }: Catalog) =>
  (await transactions.findOne({ _id: 'head' }))?.version ?? 0

describe('operations that wait at the same time', () => {
  it('are committed together, with their own audit records and postings', async () => {
    const parts = await open()
    const { catalog } = parts
    await pay(parts, 1, 1)
    const before = await versionOf(catalog)
    const aids = Array.from({ length: 40 }, (_, index) => (index % 7) + 1)
    const txids = await Promise.all(aids.map((aid) => pay(parts, aid, 2)))
    expect(new Set(txids.flat()).size).toBe(40)
    expect((await versionOf(catalog)) - before).toBeLessThanOrEqual(2)
    expect(await catalog.audit.countDocuments({ type: 'pay' })).toBe(41)
    const report = await auditBooks(catalog, null)
    expect(report).toMatchObject({ ok: true, accounts: 7, bills: 41, postings: 41 })
  })

  it('see the changes of those before them: two payments, the second is credit', async () => {
    const parts = await open()
    await addInvoices(parts.catalog, 1, 1)
    const pays = { inv: { '10000': 1 } }
    const results = await Promise.allSettled([1, 2, 3].map(() => pay(parts, 1, 1, { pays })))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    const [, refused] = results as PromiseRejectedResult[]
    expect(refused?.reason).toEqual(new BillingError('Invoice 10000 already paid', 'refused'))
    expect(await parts.catalog.bills.countDocuments({ type: 'rec' })).toBe(1)
    expect(await auditBooks(parts.catalog, null)).toMatchObject({ ok: true })
  })

  it('one that fails after it has changed its accounts adds nothing', async () => {
    const parts = await open()
    const { catalog, group } = parts
    const orders = [1, 2].map((aid) => paymentOrder({ aid, amount: 5 }, 'cash', RULES))
    const failing = group.run({
      what: 'fail',
      aids: [1, 2],
      async write(session) {
        await recordPayments({ catalog, session, ...CAUSE }, orders)
        throw new BillingError('too late', 'refused')
      },
    })
    const [one, failed, two] = await Promise.allSettled([
      pay(parts, 1, 1),
      failing,
      pay(parts, 2, 1),
    ])
    expect(failed).toMatchObject({
      status: 'rejected',
      reason: new BillingError('too late', 'refused'),
    })
    const numbers = [one, two].map((each) => (each.status === 'fulfilled' ? each.value : null))
    expect(numbers).toEqual([['0000000000001'], ['0000000000002']])
    expect(await auditBooks(catalog, null)).toMatchObject({ ok: true, bills: 2, postings: 2 })
  })

  it('one whose write the store refuses fails alone', async () => {
    const parts = await open()
    const { catalog } = parts
    await pay(parts, 1, 1)
    const alien = { aid: 1, number: 2, event: 'x', entries: [], user: {} } as never
    await catalog.journal.insertOne(alien)
    const results = await Promise.allSettled([pay(parts, 1, 1), pay(parts, 2, 1), pay(parts, 3, 1)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(await catalog.bills.distinct('aid')).toEqual([1, 2, 3])
    expect(await catalog.bills.countDocuments()).toBe(3)
  })
})

it('one whose idempotency key another process has taken over fails alone', async () => {
  const parts = await open()
  const { catalog, group } = parts
  const stores = { catalog, clock: { nowMs: () => NOW_MS } }
  const keyed = async (aid: number, isLost: boolean) => {
    const call = { action: 'pay', caller: 'a', key: `k${aid}`, digest: '' }
    const admitted = await admitCall(stores, call)
    if (!('claim' in admitted)) throw new Error('answered')
    const { claim } = admitted
    if (isLost) await catalog.idempotency.updateOne({ _id: claim.id }, { $set: { token: 'x' } })
    const order = paymentOrder({ aid, amount: 1 }, 'cash', RULES)
    return () =>
      group.run({
        what: 'pay',
        aids: [aid],
        async write(session) {
          const txids = await recordPayments({ catalog, session, ...CAUSE }, [order])
          storeAnswer(session, claim, `answer ${aid}`)
          return txids
        },
      })
  }
  const calls = [await keyed(1, false), await keyed(2, true), await keyed(3, false)]
  const results = await Promise.allSettled(calls.map((call) => call()))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((results[1] as PromiseRejectedResult).reason).toBeInstanceOf(ClaimLostError)
  expect(await catalog.bills.distinct('aid')).toEqual([1, 3])
  expect(await catalog.idempotency.distinct('answer')).toEqual(['answer 1', 'answer 3'])
  expect(await auditBooks(catalog, null)).toMatchObject({ ok: true })
})

describe('an account with many open debts', () => {
  const COUNT = 260
  const openIn = (catalog: Catalog, aid: number) =>
    catalog.bills.find({ aid, paid: '0' }).sort({ urt: 1 }).toArray()

  it('a payment reads the oldest of them only, and covers them', async () => {
    const parts = await open()
    const { catalog } = parts
    await addInvoices(catalog, 1, COUNT)
    const covers = new Exact(3)
    const loaded = await catalog.transaction('load', async (session) => {
      const books = await loadBooks({ catalog, session, ...CAUSE }, 1, { covers })
      return [...books.bills()].length
    })
    expect(loaded).toBeLessThan(200)
    await pay(parts, 1, 2.5)
    const still = await openIn(catalog, 1)
    expect(still).toHaveLength(COUNT - 2)
    expect(still[0]).toMatchObject({ invoice_id: 10_002 })
    expect(String(still[0]?.left_to_pay)).toBe('0.5')
    expect(await auditBooks(catalog, null)).toMatchObject({ ok: true })
  })

  it.each([
    { what: 'more than is read at first', amount: 210.5, left: COUNT - 210 },
    { what: 'more than all', amount: COUNT + 1, left: 1 },
  ])('a payment of $what covers as many as it can', async ({ amount, left }) => {
    const parts = await open()
    await addInvoices(parts.catalog, 1, COUNT)
    await Promise.all([pay(parts, 1, 1), pay(parts, 1, amount - 1)])
    expect(await openIn(parts.catalog, 1)).toHaveLength(left)
    expect(await auditBooks(parts.catalog, null)).toMatchObject({ ok: true })
  })

  it('of one time: the order is that of their numbers', async () => {
    const parts = await open()
    await addInvoices(parts.catalog, 1, COUNT, () => new Date(NOW_MS))
    await pay(parts, 1, 5)
    const covered = await parts.catalog.bills.find({ type: 'inv', paid: '1' }).toArray()
    const numbers = covered.map(({ invoice_id: number }) => number).sort()
    expect(numbers).toEqual([0, 1, 2, 3, 4].map((index) => 10_000 + index))
  })
})
