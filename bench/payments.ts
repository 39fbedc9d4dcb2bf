/**
 * Payments and credits per second through HTTP, as a ratio to plain inserts of as many documents in
 * the same run; and the balance of an account with many bills.
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { documentOf, newBill } from '../src/billing/books/bill.ts'
import { type Catalog, openCatalog } from '../src/catalog/connection.ts'
import { Exact, storedAmount } from '../src/catalog/records/money/exact-amount.ts'
import { insertEntity } from '../test/support/catalog/store.ts'
import { startProduct } from '../test/support/product/product.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '500' },
    connections: { type: 'string', default: '16' },
    bills: { type: 'string', default: '10000' },
  },
})

const REQUESTS = Number(values.requests)
const CONNECTIONS = Number(values.connections)
const BILLS = Number(values.bills)
const OLD_ACCOUNT = 900_000
const say = (text: string) => process.stdout.write(`${text}\n`)

async function call(
  url: string,
  name: string,
  parameters: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(`${url}/api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(parameters),
  })
  const answer = await response.text()
  if (!answer.startsWith('{"status":1')) throw new Error(answer)
  return answer
}

/** Calls per second with several connections at once. */
async function perSecond(act: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (next < REQUESTS) {
        const index = next
        next += 1
        await act(index)
      }
    }),
  )
  return (REQUESTS * 1000) / (performance.now() - startedMs)
}

/** Bills of which each hundredth is not paid, and their totals. */
async function insertBills(catalog: Catalog): Promise<void> {
  const urt = new Date(Date.now() - 86_400_000)
  const documents = Array.from({ length: BILLS }, (_, index) => {
    const fields = { type: 'inv', aid: OLD_ACCOUNT, urt, due_date: urt, invoice_id: index } as const
    const bill = newBill(fields, new Exact(10))
    if (index % 100 > 0) {
      const link = { type: 'rec', id: 'x', amount: bill.amount, date: urt } as const
      bill.links.push({ ...link, posting: '', isPending: false })
    }
    return documentOf(bill)
  })
  await catalog.bills.insertMany(documents)
  const zero = storedAmount(new Exact(0))
  const receivable = storedAmount(new Exact(BILLS / 10))
  const totals = { receivable, credit: zero, deposit: zero, gateway: zero }
  await catalog.books.insertOne({ _id: OLD_ACCOUNT, number: 0, totals })
}

async function measureBalance(url: string): Promise<void> {
  const balances: number[] = []
  const refusals: number[] = []
  const timed = async (times: number[], act: () => Promise<unknown>) => {
    const startedMs = performance.now()
    await act()
    times.push(performance.now() - startedMs)
  }
  const headers = { 'content-type': 'application/json' }
  const refused = { method: 'POST', headers, body: '{"action":"unknown"}' }
  for (let index = 0; index < 400; index += 1) {
    await timed(balances, () => call(url, 'bill', { aid: OLD_ACCOUNT }))
    // The same request without its two reads: what HTTP and the machine take.
    await timed(refusals, async () => (await fetch(`${url}/api/bill`, refused)).text())
  }
  say(`balance of an account with ${BILLS} bills: ${quantiles(balances)}`)
  say(`the same action without reads: ${quantiles(refusals)}`)
}

function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms`
}

const product = await startProduct()
const catalog = await openCatalog({
  url: product.mongoUrl,
  database: product.database,
  timeoutMs: 20_000,
  appName: 'bench',
})
try {
  await catalog.ensureIndexes()
  await insertEntity(catalog, 'taxes')
  await insertEntity(catalog, 'rates', { key: 'FEE' })
  await insertEntity(catalog, 'subscribers')
  await product.start('admin')
  const url = product.adminUrl
  say(`${REQUESTS} calls each, ${CONNECTIONS} at once`)
  const pay = (index: number) =>
    call(url, 'pay', { method: 'cash', payments: [{ aid: index % 100, amount: 5 }] })
  for (let index = 0; index < 50; index += 1) await pay(index)
  const before = {
    bills: await catalog.bills.countDocuments({}),
    journal: await catalog.journal.countDocuments({}),
  }
  const payments = await perSecond(pay)
  const written = (await catalog.bills.countDocuments({})) - before.bills
  const postings = (await catalog.journal.countDocuments({})) - before.journal
  // A payment writes a bill, postings, the books, an audit record and the head.
  const perPayment = Math.round((written + postings) / REQUESTS) + 3
  const plain = catalog.unguarded.bills.db.collection<{ n: number; note: string }>('plain')
  const insertMany = (count: number) =>
    perSecond((index) =>
      plain.insertMany(Array.from({ length: count }, () => ({ n: index, note: 'x'.repeat(400) }))),
    )
  const ofPayments = await insertMany(perPayment)
  const ratio = (rate: number, ceiling: number) => `${((rate / ceiling) * 100).toFixed(0)} %`
  say(
    `payments: ${payments.toFixed(0)}/s, ${ratio(payments, ofPayments)} of inserts of ` +
      `${perPayment} documents (${ofPayments.toFixed(0)}/s)`,
  )
  const keyed = await perSecond((index) => {
    const payments = [{ aid: index % 100, amount: 5 }]
    return call(url, 'pay', { method: 'cash', payments }, { 'idempotency-key': `key-${index}` })
  })
  // The key is claimed by an insert of its own, before the payment.
  const ofKeyed = await insertMany(perPayment + 1)
  say(`payments with a key: ${keyed.toFixed(0)}/s, ${ratio(keyed, ofKeyed)} of inserts`)
  const credit = { aid: 17, sid: 18, rate: 'FEE', credit_time: 'now', usagev: 1, aprice: 5 }
  const credits = await perSecond(() => call(url, 'credit', credit))
  const ofCredits = await insertMany(3)
  say(
    `credits: ${credits.toFixed(0)}/s, ${ratio(credits, ofCredits)} of inserts of 3 documents ` +
      `(${ofCredits.toFixed(0)}/s)`,
  )
  await insertBills(catalog)
  await measureBalance(url)
  const { queryPlanner, executionStats } = await catalog.unguarded.bills
    .find({ aid: OLD_ACCOUNT, paid: '2' })
    .explain('executionStats')
  const { indexName } = queryPlanner.winningPlan.inputStage
  say(`index ${indexName}, ${executionStats.totalDocsExamined} documents examined`)
} finally {
  await catalog.close()
  await product.stop()
}
