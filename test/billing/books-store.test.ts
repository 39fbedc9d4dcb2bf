/** Any sequence of operations on the store keeps the books, compared with an independent model. */
import { describe, expect, it } from 'vitest'
import { billOf, isActive, isUnconfirmed, openAmount } from '../../src/billing/books/bill.ts'
import { accountBalance } from '../../src/billing/statements/balances.ts'
import { exactAmount } from '../../src/catalog/records/money/exact-amount.ts'
import { auditBooks } from '../../src/cli/audit/books.ts'
import { StoredBooksModel } from '../support/billing/stored-books.ts'
import { useStore } from '../support/catalog/store.ts'
import { isFull } from '../support/domain/property-runs.ts'
import { Random } from '../support/system/random.ts'

const OPERATIONS = 200
const SEEDS = Array.from({ length: isFull() ? 6 : 2 }, (_, index) => 4_711 + index)

const store = useStore()

describe('books of stored accounts', () => {
  it.each(SEEDS)(`agree after ${OPERATIONS} operations, seed %i`, async (seed) => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const model = new StoredBooksModel(catalog, new Random(seed), 10)
    for (let count = 0; count < OPERATIONS; ) count += await model.step()
    const report = await auditBooks(catalog, new Date(model.nowMs - 100_000))
    expect(report).toMatchObject({ ok: true, differences: [] })
    expect(report.postings).toBeGreaterThan(OPERATIONS / 2)
    for (const { aid, owed, frozen } of model.accounts) {
      const { total } = await accountBalance(catalog, aid, { date: null, digits: 2 })
      expect([aid, total]).toEqual([aid, (owed / 100).toFixed(2)])
      const bills = (await catalog.bills.find({ aid }).toArray()).map(billOf).filter(isActive)
      for (const bill of bills)
        expect(openAmount(bill).isNegative(), `${bill.fields.txid}`).toBe(false)
      const deposits = bills.map(({ fields }) => exactAmount(fields.deposit_amount).times(100))
      expect(deposits.reduce((sum, each) => sum.plus(each)).toNumber()).toBe(frozen)
      const open = bills.filter((bill) => openAmount(bill).greaterThan(0))
      const debts = open.filter(({ due }) => due.greaterThan(0))
      const credits = open.filter((bill) => bill.due.lessThan(0) && !isUnconfirmed(bill))
      expect(debts.length === 0 || credits.length === 0).toBe(true)
    }
  })
})
