/** Usage recorded by real recorders, and cycles with the real calculation. */
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { loadInvoiceSource } from '../../../src/billing/documents/load-invoice.ts'
import { confirmInvoices } from '../../../src/billing/run/confirm.ts'
import { runAccounts } from '../../../src/billing/run/run-accounts.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import type { InvoiceDocument } from '../../../src/catalog/records/money/invoice-document.ts'
import type { RealtimeLineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import type { Uninvoiced } from '../../../src/catalog/records/usage/uninvoiced.ts'
import type { Line } from '../../../src/domain/line.ts'
import { coalesce } from '../../../src/recorder/coalesce.ts'
import { createCycleEnds } from '../../../src/recorder/cycle-ends.ts'
import { writeFlush } from '../../../src/recorder/write.ts'
import { type Flat, withFields } from '../domain/lines.ts'
import { lineOf } from '../recorder/accounts.ts'
import { ACTOR } from './books.ts'
import { type CycleFixture, config, cycleOf, FROM, TO } from './cycle-fixture.ts'
import { inlineDocuments } from './invoices.ts'

/** A price of 0, so that invoices consist of usage. */
export async function addPlan(catalog: Catalog, more: object = {}): Promise<void> {
  await catalog.plans.insertOne({
    name: 'GOLD',
    from: FROM,
    to: TO,
    price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
    tax: [{ type: 'vat', taxation: 'no' }],
    ...more,
  } as never)
}

const VAT = { key: 'VAT', description: 'Vat', type: 'vat', rate: '0.17', isEmbedded: false }

/** A version of the line of a segment; `charged`: before tax. */
export function usageOf(
  stamp: string,
  version: number,
  charged: number,
  more: Partial<Flat<Line>> = {},
): Line {
  const { aid = 1, cycle = '202606' } = more
  const firstMs = Date.UTC(2026, 4, 31, 20)
  return withFields(lineOf(aid, 10_000 + aid, stamp), {
    plan: 'GOLD',
    cycle,
    version,
    used: charged * 10,
    chargedUnits: charged * 10,
    charged: Math.round(charged * 1_000_000),
    taxes: [VAT],
    firstMs,
    lastMs: firstMs + version * 60_000,
    ...more,
  })
}

export function useLateUsage(cycle: CycleFixture) {
  const catalog = () => cycle.catalog()
  const clock = { nowMs: () => cycle.now() }
  const confirm = (key: string, on = catalog()) =>
    confirmInvoices(
      { ...cycle.deps(), config, documents: inlineDocuments({ catalog: on, config }), catalog: on },
      { cycle: cycleOf(key), invoices: null, actor: ACTOR },
    )
  return {
    /** As a recorder does: each with its own memory. */
    async record(...lines: Line[]): Promise<void> {
      const cycles = createCycleEnds(catalog(), config.rating, clock, () => 0)
      await cycles.refresh()
      const flush = coalesce([{ lines, operations: [], owners: [] }])
      const refused = await writeFlush(catalog(), flush, () => '', { cycles })
      if (refused.size > 0) throw new Error([...refused.values()].map(String).join())
    },
    run: (key: string, rerun = false) => cycle.run({ key, rerun, compute: computeAccount }),
    runAccount: (key: string, aid = 1) =>
      runAccounts({ ...cycle.deps(computeAccount), config }, cycleOf(key), [aid]),
    confirm,
    /** Before tax; null without an invoice. */
    async total(key: string, aid = 1): Promise<string | null> {
      const found = await catalog().billrun.findOne({ aid, billrun_key: key })
      return (found as unknown as InvoiceDocument | null)?.totals.exact.before_vat ?? null
    },
    /** Sum of all confirmed invoices of an account, before tax. */
    async invoiced(aid = 1): Promise<number> {
      const found = await catalog().billrun.find({ aid, billed: 1 }).toArray()
      return found
        .map((each) => (each as unknown as InvoiceDocument).totals.exact.before_vat)
        .reduce((sum, text) => sum.plus(text), new Exact(0))
        .toNumber()
    },
    async line(stamp: string): Promise<RealtimeLineDocument & { uninvoiced?: Uninvoiced }> {
      const found = await catalog().lines.findOne({ stamp })
      if (found === null) throw new Error(`there is no line ${stamp}`)
      return found as RealtimeLineDocument
    },
    /** Its lines add up to its total. */
    async source(key: string, aid = 1) {
      const found = await catalog().billrun.findOne({ aid, billrun_key: key })
      if (found === null) throw new Error(`there is no invoice of ${key}`)
      return loadInvoiceSource(catalog(), config, found)
    },
  }
}
