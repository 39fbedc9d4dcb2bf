/** Balances and debts read few documents, found by indexes. */
import { describe, expect, it } from 'vitest'
import { documentOf, newBill } from '../../src/billing/books/bill.ts'
import { STORED_CUSTOMERS } from '../../src/billing/customer-lookup.ts'
import { accountBalance, overdueDebts } from '../../src/billing/statements/balances.ts'
import { findBills, unpaidInvoices } from '../../src/billing/statements/find-bills.ts'
import { type Catalog, withGuards } from '../../src/catalog/connection.ts'
import { Exact, storedAmount } from '../../src/catalog/records/money/exact-amount.ts'
import { NOW_MS } from '../support/billing/books.ts'
import { useStore } from '../support/catalog/store.ts'

const store = useStore()
const BILLS = 2_000
const OPEN = 20
const PENDING = 3
const AID = 7

/** Bills of which few are open, and few payments that are not confirmed; other accounts besides. */
async function fill(catalog: Catalog): Promise<void> {
  await catalog.ensureIndexes()
  const urt = new Date(NOW_MS - 86_400_000)
  const bills = Array.from({ length: BILLS }, (_, index) => {
    const isPending = index < PENDING
    const type = isPending ? 'rec' : 'inv'
    const fields = {
      type,
      aid: AID,
      urt,
      due_date: urt,
      ...(isPending && { pending: true }),
    } as const
    const numbered = { ...fields, ...(isPending ? { txid: `t${index}` } : { invoice_id: index }) }
    const bill = newBill(numbered, new Exact(isPending ? -1 : 10))
    if (index >= PENDING + OPEN) {
      const link = { type: 'rec', id: 'x', amount: bill.amount, date: urt } as const
      bill.links.push({ ...link, posting: '', isPending: false })
    }
    return documentOf(bill)
  })
  const others = bills.map((bill, index) => ({ ...bill, aid: 100 + (index % 50) }))
  await catalog.bills.insertMany([...bills, ...others])
  const zero = storedAmount(new Exact(0))
  const receivable = storedAmount(new Exact(OPEN * 10))
  const credit = storedAmount(new Exact(-PENDING))
  const totals = { receivable, credit, deposit: zero, gateway: zero }
  await catalog.books.insertOne({ _id: AID, number: 0, totals })
}

interface Stage {
  readonly stage: string
  readonly inputStage?: Stage
  readonly inputStages?: readonly Stage[]
}

function stagesOf({ stage, inputStage, inputStages = [] }: Stage): string[] {
  const inputs = inputStage === undefined ? inputStages : [inputStage]
  return [stage, ...inputs.flatMap(stagesOf)]
}

/** How the queries on bills of an operation are executed. */
async function plansOf(catalog: Catalog, act: (catalog: Catalog) => Promise<unknown>) {
  const filters: object[] = []
  const bills = new Proxy(catalog.unguarded.bills, {
    get(target, name) {
      if (name !== 'find') return Reflect.get(target, name) as unknown
      return (filter: object, options?: object) => {
        filters.push(filter)
        return target.find(filter as never, options)
      }
    },
  })
  await act(withGuards({ ...catalog, unguarded: { ...catalog.unguarded, bills } }, {}))
  return Promise.all(
    filters.map(async (filter) => {
      const found = await catalog.unguarded.bills.find(filter as never).explain('executionStats')
      return {
        stages: stagesOf(found['queryPlanner'].winningPlan as Stage),
        examined: Number(found['executionStats'].totalDocsExamined),
      }
    }),
  )
}

describe(`an account with ${BILLS} bills`, () => {
  it('its balance reads the payments that are not confirmed only', async () => {
    const catalog = await store.open()
    await fill(catalog)
    const options = { date: null, digits: 2 }
    expect(await accountBalance(catalog, AID, options)).toEqual({
      total: '197.00',
      without_waiting: '200.00',
      total_pending_amount: 3,
    })
    const plans = await plansOf(catalog, (spied) => accountBalance(spied, AID, options))
    expect(plans).toHaveLength(1)
    const [plan] = plans
    expect(plan?.stages).toContain('IXSCAN')
    expect(plan?.stages).not.toContain('COLLSCAN')
    expect(plan?.examined).toBe(PENDING)
  })

  it('its debts and unpaid invoices read what is open only', async () => {
    const catalog = await store.open()
    await fill(catalog)
    const lookup = STORED_CUSTOMERS
    const debts = { aids: [AID], nowMs: NOW_MS, debtMin: 0, rejectionRequired: null, lookup }
    const query = {
      aids: [AID],
      kind: null,
      billrunKeys: null,
      dueFrom: null,
      dueTo: null,
      paid: ['0'],
      page: 0,
      size: 10,
    } as const
    const plans = await plansOf(catalog, async (spied) => {
      expect(await overdueDebts(spied, debts)).toEqual([{ aid: AID, total: 200 }])
      expect(await unpaidInvoices(spied, AID)).toHaveLength(OPEN)
      await findBills(spied, query)
    })
    expect(plans).toHaveLength(3)
    for (const { stages, examined } of plans) {
      expect(stages).toContain('IXSCAN')
      expect(stages).not.toContain('COLLSCAN')
      expect(examined).toBeLessThanOrEqual(OPEN + PENDING)
    }
  })
})

it('credit counts at once, whatever its due date', async () => {
  const catalog = await store.open()
  const [urt, later] = [new Date(NOW_MS - 1), new Date(NOW_MS + 86_400_000)]
  const bill = (invoice_id: number, due: number, date: Date) => {
    const dates = { urt, due_date: date, charge: { not_before: date } }
    return documentOf(newBill({ type: 'inv', aid: AID, invoice_id, ...dates }, new Exact(due)))
  }
  await catalog.bills.insertMany([bill(1, 30, urt), bill(2, 9, later), bill(3, -10, later)])
  const balance = await accountBalance(catalog, AID, { date: new Date(NOW_MS), digits: 2 })
  expect(balance).toMatchObject({ total: '20.00' })
  const debts = { debtMin: 0, rejectionRequired: null, lookup: STORED_CUSTOMERS, withCredits: true }
  const found = await overdueDebts(catalog, { aids: [AID], nowMs: NOW_MS, ...debts })
  expect(found).toEqual([{ aid: AID, total: 20 }])
})
