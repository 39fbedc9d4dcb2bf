/** The job that finds debts when their due date passes. */
import { beforeEach, describe, expect, it } from 'vitest'
import { recordPayments } from '../../../src/billing/payments/operations.ts'
import { paymentOrder } from '../../../src/billing/payments/payment-order.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { loadConfig } from '../../../src/config/load.ts'
import {
  beginOverdue,
  nextDueDateMs,
  overdueHandler,
} from '../../../src/jobs/event-jobs/overdue-job.ts'
import { jobsDue } from '../../../src/jobs/jobs.ts'
import { runJob } from '../../../src/jobs/runner.ts'
import { ACTOR, RULES } from '../../support/billing/books.ts'
import { eventsOf, storeEventRules, typesOf } from '../../support/billing/money-rules.ts'
import { storeInvoice } from '../../support/billing/store-invoice.ts'
import { useStore } from '../../support/catalog/store.ts'
import { silent } from '../../support/recorder/accounts.ts'

const store = useStore()
const START_MS = Date.UTC(2026, 5, 15)
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const config = loadConfig({ env: { TOLLGATE_RATING_CURRENCY_CODE: '978' } })
let catalog: Catalog
let nowMs = START_MS
const clock = { nowMs: () => nowMs }
const rules = (money: readonly object[]) => storeEventRules(catalog, { money })

beforeEach(async () => {
  nowMs = START_MS
  catalog = await store.open()
  await catalog.ensureIndexes()
  await rules([{ event_type: 'overdue' }])
  await beginOverdue({ catalog, clock })
})

async function run(on = catalog): Promise<void> {
  const handlers = { overdue: overdueHandler({ catalog: on, clock, config, log: silent }) }
  const stores = { catalog: on, clock, config, log: silent, handlers }
  const [job] = await jobsDue(stores)
  if (job !== undefined) await runJob(stores, job, new AbortController().signal)
}

let invoiceId = 100
async function invoice(aid: number, due: number, dueMs: number): Promise<number> {
  invoiceId += 1
  await storeInvoice(catalog, { aid, invoiceId, due, nowMs, dueDate: new Date(dueMs) })
  return invoiceId
}

async function pay(aid: number, amount: number, method = 'cash'): Promise<string> {
  const order = paymentOrder({ aid, amount }, method as 'cash', RULES)
  const writer = { catalog, currencyCode: 978, actor: ACTOR, nowMs }
  const [txid = ''] = await catalog.transaction('pay', (session) =>
    recordPayments({ ...writer, session }, [order]),
  )
  return txid
}

const types = (aid: number) => typesOf(catalog, aid)

describe('a debt', () => {
  it('makes an event when its due date has passed, once, however often the job runs', async () => {
    const id = await invoice(1, 30, START_MS + DAY_MS)
    await pay(1, 10.5)
    await run()
    nowMs = START_MS + DAY_MS
    await run()
    expect(await types(1)).toEqual([])
    nowMs += 2 * MINUTE_MS
    await run()
    nowMs += MINUTE_MS
    await run()
    nowMs += DAY_MS
    await run()
    const row = {
      ...{ type: 'inv', invoice_id: id, billrun_key: '202606', amount: 30, left_to_pay: 19.5 },
      ...{ currency: 'EUR', due_date: (START_MS + DAY_MS) / 1000, urt: START_MS / 1000 },
    }
    expect(await eventsOf(catalog, 1)).toMatchObject([
      { event_type: 'overdue', extra_params: { aid: 1, sid: 0, row } },
    ])
    const job = await catalog.jobs.findOne({ kind: 'overdue' })
    expect(job?.counts).toEqual({ overdue: 1 })
  })

  it('that is paid before makes none; one that is only reserved does', async () => {
    await invoice(1, 30, START_MS + DAY_MS)
    await invoice(2, 30, START_MS + DAY_MS)
    await run()
    await pay(1, 30)
    await pay(2, 30, 'automatic')
    nowMs = START_MS + 2 * DAY_MS
    await run()
    expect([await types(1), await types(2)]).toEqual([[], ['overdue']])
  })

  it('whose due date is moved makes an event for the new one', async () => {
    const id = await invoice(1, 30, START_MS + DAY_MS)
    await run()
    nowMs = START_MS + 2 * DAY_MS
    await run()
    const due_date = new Date(START_MS + 5 * DAY_MS)
    await catalog.bills.updateOne({ invoice_id: id }, { $set: { due_date } })
    nowMs = START_MS + 6 * DAY_MS
    await run()
    const made = await eventsOf(catalog, 1)
    expect(made.map(({ extra_params: { row } }) => (row as { due_date: number }).due_date)).toEqual(
      [(START_MS + DAY_MS) / 1000, (START_MS + 5 * DAY_MS) / 1000],
    )
  })

  it('is found among many with the same due date', async () => {
    for (let aid = 1; aid <= 450; aid += 1) await invoice(aid, 1, START_MS + DAY_MS)
    await run()
    nowMs = START_MS + 2 * DAY_MS
    await run()
    expect(await catalog.events.countDocuments({ event_type: 'overdue' })).toBe(450)
  })
})

describe('a rule', () => {
  it('applies to due dates that pass after it was stored', async () => {
    await rules([])
    await invoice(1, 30, START_MS + DAY_MS)
    await invoice(1, 30, START_MS + 3 * DAY_MS)
    await run()
    nowMs = START_MS + 2 * DAY_MS
    await run()
    await rules([{ event_type: 'overdue', filter: { aid: [1] } }])
    nowMs += MINUTE_MS
    await run()
    expect(await nextDueDateMs({ catalog, clock })).toBe(START_MS + 3 * DAY_MS + MINUTE_MS + 1)
    nowMs = START_MS + 4 * DAY_MS
    await run()
    expect(await eventsOf(catalog, 1)).toMatchObject([
      { extra_params: { row: { due_date: (START_MS + 3 * DAY_MS) / 1000 } } },
    ])
    expect(await nextDueDateMs({ catalog, clock })).toBeNull()
    await rules([])
    await invoice(1, 30, nowMs + DAY_MS)
    expect(await nextDueDateMs({ catalog, clock })).toBeNull()
  })
})

describe('several processes', () => {
  it('report each debt once, also if one dies and another reads the same bills again', async () => {
    const { url } = { url: store.url() }
    const other = await store.open(url, catalog.unguarded.jobs.dbName)
    for (let aid = 1; aid <= 5; aid += 1) await invoice(aid, 1, START_MS + DAY_MS)
    await run()
    const before = await catalog.jobs.findOne({ kind: 'overdue' })
    nowMs = START_MS + 2 * DAY_MS
    await Promise.all([run(), run(other), run(), run(other)])
    expect(await catalog.events.countDocuments()).toBe(5)
    // As if the process had died before it stored how far it had come.
    const stale = { state: 'waiting', position: before?.position, due: new Date(0) } as const
    await catalog.jobs.updateOne({ kind: 'overdue' }, { $set: stale } as never)
    await run(other)
    expect(await catalog.events.countDocuments()).toBe(5)
  })
})
