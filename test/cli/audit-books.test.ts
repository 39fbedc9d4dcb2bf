/** `tollgate audit`: the books now and at a past time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordPayments } from '../../src/billing/payments/operations.ts'
import { paymentOrder } from '../../src/billing/payments/payment-order.ts'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import { ACTOR, RULES } from '../support/billing/books.ts'
import { storeInvoice } from '../support/billing/store-invoice.ts'
import { tollgate } from '../support/product/command.ts'
import { type Product, startProduct } from '../support/product/product.ts'

const INVOICED_MS = Date.UTC(2026, 0, 10, 12)
const PAID_MS = Date.UTC(2026, 1, 10, 12)
/** Between the invoice and the payment. */
const BETWEEN = '2026-01-31T00:00:00Z'

let product: Product
let catalog: Catalog

beforeAll(async () => {
  product = await startProduct()
  const { mongoUrl: url, database } = product
  catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  await catalog.ensureIndexes()
  const invoice = { aid: 1, invoiceId: 101, due: 100, billrunKey: '202601' }
  await storeInvoice(catalog, { ...invoice, nowMs: INVOICED_MS })
  await catalog.transaction('pay', (session) => {
    const order = paymentOrder({ aid: 1, amount: 30 }, 'cash', RULES)
    const cause = { actor: ACTOR, nowMs: PAID_MS }
    return recordPayments({ catalog, session, currencyCode: 978, ...cause }, [order])
  })
})
afterAll(async () => {
  await catalog?.close()
  await product?.stop()
})

const audit = (...args: string[]) =>
  tollgate(product, ['audit', ...args], { TOLLGATE_RATING_CURRENCY_CODE: '978' })

describe('tollgate audit --at', () => {
  it('compares the balances of that time, too', async () => {
    for (const at of ['2025-12-31', BETWEEN, '2026-03-01']) {
      const { code, stdout, stderr } = await audit('--at', at)
      expect({ at, code, stderr }).toEqual({ at, code: 0, stderr: '' })
      expect(stdout).toContain('books: accounts 1, bills 2, postings 3\nthe books agree\n')
    }
    const { stdout } = await audit('--at', BETWEEN, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, books: { ok: true, postings: 3 } })
  })

  it('finds a bill that was moved to another time; the present balance agrees', async () => {
    const move = (date: number) =>
      catalog.bills.updateOne({ type: 'rec' }, { $set: { process_time: new Date(date) } })
    await move(INVOICED_MS)
    try {
      expect(await audit()).toMatchObject({ code: 0 })
      expect(await audit('--at', '2026-03-01')).toMatchObject({ code: 0 })
      const { code, stdout } = await audit('--at', BETWEEN)
      expect(code).toBe(1)
      expect(stdout).toContain(
        'account 1: account: balance at 2026-01-31T00:00:00.000Z: ' +
          '100 EUR expected, 70 EUR found\n' +
          'the books do not agree\n',
      )
    } finally {
      await move(PAID_MS)
    }
  })

  it('finds a changed amount at every time since', async () => {
    const change = (due: number) =>
      catalog.bills.updateOne({ invoice_id: 101 }, { $inc: { due } } as never)
    await change(5)
    try {
      expect(await audit('--at', '2025-12-31')).toMatchObject({ code: 1 })
      const { code, stdout } = await audit('--at', BETWEEN)
      expect(code).toBe(1)
      expect(stdout).toContain(
        'balance at 2026-01-31T00:00:00.000Z: 100 EUR expected, 105 EUR found',
      )
    } finally {
      await change(-5)
    }
    expect(await audit('--at', BETWEEN)).toMatchObject({ code: 0 })
  })

  it('refuses what is not a date', async () => {
    const { code, stderr } = await audit('--at', 'yesterday or so')
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(
      "--at must be a date, as in 2030-01-31 or ISO 8601, not 'yesterday or so'",
    )
  })
})
