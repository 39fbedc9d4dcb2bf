/** Two admin processes of one installation, payments over both. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exactAmount } from '../../../src/catalog/records/money/exact-amount.ts'
import { storeInvoice } from '../../support/billing/store-invoice.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { ask } from '../../support/system/billing/payers.ts'
import { tollgate } from '../../support/system/command.ts'
import { type Fields, withCatalog } from '../../support/system/exchange.ts'
import { withRecentLogs } from '../../support/system/recent-logs.ts'

const PAYMENTS = 50
let one: Product
let two: Product

beforeAll(async () => {
  one = await startProduct()
  await withCatalog(one, (catalog) => catalog.ensureIndexes())
  await one.start('admin')
  const { mongoUrl, database, redisUrl } = one
  two = await startProduct({ mongoUrl, database, redisUrl })
  await two.start('admin')
})
afterAll(async () => {
  await two?.stop()
  await one?.stop()
})

/** Payments of 5 for an account, every other one to the second process. */
async function payAtOnce(aid: number, more: Fields = {}): Promise<Fields[]> {
  const calls = Array.from({ length: PAYMENTS }, (_, index) => {
    const { adminUrl } = index % 2 === 0 ? one : two
    const params = { method: 'cash', payments: [{ aid, amount: 5, ...more }] }
    return ask(adminUrl, { action: 'pay', params, key: `${aid}-${index}` })
  })
  const texts = await withRecentLogs(one, Promise.all(calls))
  return texts.map((text) => JSON.parse(text ?? '{"status":"not answered"}') as Fields)
}

async function stored(aid: number) {
  return withCatalog(one, async ({ bills }) => {
    const invoice = await bills.findOne({ aid, type: 'inv' })
    const payments = await bills.find({ aid, type: 'rec' }).toArray()
    const left = payments.map((payment) => exactAmount(payment.left).toNumber())
    return {
      leftToPay: exactAmount(invoice?.left_to_pay).toNumber(),
      paid: exactAmount(invoice?.total_paid).toNumber(),
      payments: payments.length,
      numbers: new Set(payments.map(({ txid }) => txid)).size,
      credit: left.reduce((sum, each) => sum + each, 0),
    }
  })
}

describe(`${PAYMENTS} payments at once over two admin processes`, () => {
  it('for one bill: it is paid exactly, and the others are refused', async () => {
    await withCatalog(one, (catalog) =>
      storeInvoice(catalog, { aid: 1, invoiceId: 101, due: 100, nowMs: Date.now() }),
    )
    const answers = await payAtOnce(1, { pays: { inv: { '101': 5 } } })
    const refused = answers.filter(({ status }) => status !== 1)
    expect(refused.map(({ message }) => message)).toEqual(
      Array.from({ length: PAYMENTS - 20 }, () => 'Invoice 101 already paid'),
    )
    expect(await stored(1)).toEqual({
      leftToPay: 0,
      paid: 100,
      payments: 20,
      numbers: 20,
      credit: 0,
    })
  })

  it('for one account: what is beyond the bill is credit, in full', async () => {
    await withCatalog(one, (catalog) =>
      storeInvoice(catalog, { aid: 2, invoiceId: 102, due: 100, nowMs: Date.now() }),
    )
    const answers = await payAtOnce(2)
    expect(answers.filter(({ status }) => status !== 1)).toEqual([])
    expect(await stored(2)).toEqual({
      leftToPay: 0,
      paid: 100,
      payments: PAYMENTS,
      numbers: PAYMENTS,
      credit: PAYMENTS * 5 - 100,
    })
  })

  it('the books agree', async () => {
    expect(await tollgate(one, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})
