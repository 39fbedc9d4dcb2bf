/** A run of the cycle on a real store, with a small calculation. */
import { describe, expect, it } from 'vitest'
import { calendarOf } from '../../../src/billing/credit/credits.ts'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { BillingError } from '../../../src/billing/errors.ts'
import { claimPage } from '../../../src/billing/run/pages.ts'
import { readParked, skipParked } from '../../../src/billing/run/parked.ts'
import { participate } from '../../../src/billing/run/participate.ts'
import { retryParked, runAccounts } from '../../../src/billing/run/run-accounts.ts'
import { beginRun, readRun, resetRun } from '../../../src/billing/run/runs.ts'
import { readCycleState } from '../../../src/billing/run/status.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { ACTOR } from '../../support/billing/books.ts'
import {
  computeSmall,
  config,
  cycleOf,
  FROM,
  invoiceOf,
  KEY,
  RUN_MS,
  TO,
  useCycle,
} from '../../support/billing/cycle-fixture.ts'

const cycle = useCycle()
const cut = cycleOf()
const range = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at)
const numbers = async () => (await cycle.invoices()).map((invoice) => invoice['invoice_id'])
const statusNow = async (nowMs = RUN_MS, key = KEY) =>
  (await readCycleState(cycle.catalog(), { key, invoicingDay: null }, calendarOf(config), nowMs))
    .status

it('charges the day of a move to another account once', async () => {
  await cycle.addAccounts(3)
  const { plans, subscribers } = cycle.catalog()
  const price = [{ from: 0, to: 'UNLIMITED', price: 31 }]
  const tax = [{ type: 'vat', taxation: 'no' }]
  await plans.insertOne({ name: 'GOLD', from: FROM, to: TO, price, tax } as never)
  const at = new Date('2026-05-10T12:00:00Z')
  const sid = 10_001
  await subscribers.updateOne({ sid } as never, { $set: { to: at } } as never)
  const moved = { type: 'subscriber', aid: 2, sid, plan: 'GOLD', from: at, to: TO, rev: 1 }
  await subscribers.insertOne(moved as never)
  // A page of one account does not read the other one.
  await cycle.run({ compute: computeAccount, pageSize: 1 })
  const lines = await cycle.lines()
  const amounts = lines.map(({ aid, sid: of, aprice }) => [aid, of, aprice])
  expect(amounts).toEqual([
    [1, sid, 10],
    [2, sid, 21],
    [2, 10_002, 31],
    [3, 10_003, 31],
  ])
})

describe('a run', () => {
  it('stores an invoice and lines for each account, numbered without gaps from 101', async () => {
    await cycle.addAccounts(25)
    const run = await cycle.run()
    expect(run).toMatchObject({
      state: 'finished',
      total: 25,
      counts: { accounts: 25, invoices: 25, empty: 0, confirmed: 0, failed: 0 },
    })
    expect(await numbers()).toEqual(range(101, 25))
    expect((await cycle.lines()).length).toBe(25)
    const [first] = await cycle.invoices()
    expect(first).toMatchObject({
      aid: 1,
      billrun_key: KEY,
      due_date: new Date('2026-06-15T00:00:00Z'),
      charge: { not_before: new Date('2026-06-15T00:00:00Z') },
      input: { lines: 0 },
      totals: { after_vat_rounded: 10.01 },
    })
  })

  it('passes usage, credits and what the previous run wrote to the calculation', async () => {
    await cycle.addAccounts(2)
    const line = { aid: 2, sid: 10_002, type: 'credit', source: 'credit', urt: FROM }
    await cycle.catalog().lines.insertMany([
      { ...line, stamp: 'b', billrun: KEY, aprice: 2 },
      { ...line, stamp: 'a', billrun: KEY, aprice: 1 },
      { ...line, stamp: 'c', billrun: '202605', aprice: 9 },
      { ...line, stamp: 'w', billrun: '202605', source: 'billrun', type: 'flat', aprice: 10 },
      { ...line, stamp: 'i', billrun: '202608', installment_no: 3, aprice: 4 },
    ] as never[])
    const seen: unknown[] = []
    await cycle.run({
      compute: (input) => {
        if (input.aid === 2) {
          const stamps = (lines: readonly { stamp?: unknown }[]) => lines.map(({ stamp }) => stamp)
          seen.push(stamps(input.lines), stamps(input.prior), stamps(input.laterInstallments))
          seen.push(input.hasPreviousRun, input.account.length, input.subscribers.length)
        }
        return computeSmall(input)
      },
    })
    expect(seen).toEqual([['a', 'b'], ['w'], ['i'], false, 1, 1])
    const [, second] = await cycle.invoices()
    expect(second).toMatchObject({ totals: { after_vat_rounded: 13.02 }, input: { lines: 2 } })
  })

  it('gives an account without anything to invoice no invoice', async () => {
    await cycle.addAccounts(3)
    await cycle.catalog().subscribers.deleteOne({ type: 'subscriber', aid: 2 } as never)
    const run = await cycle.run()
    expect(run?.counts).toMatchObject({ accounts: 3, invoices: 2, empty: 1 })
    expect(await numbers()).toEqual([101, 102])
  })

  it('is refused a second time unless the invoices are to be replaced', async () => {
    await cycle.addAccounts(3)
    await cycle.run()
    await expect(cycle.run()).rejects.toThrow(BillingError)
    await expect(cycle.run()).rejects.toThrow('For rerun pass rerun value as true')
  })

  it('replaces the invoices of an earlier one, and keeps their numbers', async () => {
    await cycle.addAccounts(15)
    await cycle.run()
    const before = await cycle.invoices()
    const lines = await cycle.lines()
    await cycle.run({ rerun: true })
    expect(await cycle.invoices()).toEqual(before)
    expect(await cycle.lines()).toEqual(lines)
    await cycle.run({ rerun: true, compute: (input) => invoiceOf(input, 20) })
    expect(await numbers()).toEqual(range(101, 15))
    expect((await cycle.lines()).map(({ aprice }) => aprice)).toEqual(Array(15).fill(20))
    expect((await cycle.catalog().cyclepages.distinct('generation')).length).toBe(1)
  })

  it('keeps a number that is not needed any more as a void entry, and uses it again', async () => {
    await cycle.addAccounts(3)
    await cycle.run()
    await cycle.run({
      rerun: true,
      compute: (input) => (input.aid === 2 ? null : computeSmall(input)),
    })
    expect(await numbers()).toEqual([101, 103])
    expect((await cycle.lines()).map(({ aid }) => aid)).toEqual([1, 3])
    expect(await cycle.catalog().voidinvoices.find().toArray()).toEqual([
      {
        _id: 102,
        series: 'regular',
        aid: 2,
        billrun_key: KEY,
        reason: expect.stringContaining('no invoice'),
        voided: new Date(RUN_MS),
      },
    ])
    await cycle.run({ rerun: true })
    expect(await numbers()).toEqual([101, 102, 103])
    expect(await cycle.catalog().voidinvoices.countDocuments()).toBe(0)
  })

  it('never changes a confirmed invoice, or its lines', async () => {
    await cycle.addAccounts(3)
    await cycle.run()
    await cycle.catalog().billrun.updateOne({ aid: 2 }, { $set: { billed: 1 } })
    const before = (await cycle.invoices())[1]
    const run = await cycle.run({ rerun: true, compute: (input) => invoiceOf(input, 99) })
    expect(run?.counts).toMatchObject({ invoices: 2, confirmed: 1 })
    expect((await cycle.invoices())[1]).toEqual(before)
    expect((await cycle.lines()).map(({ aprice }) => aprice)).toEqual([99, 10.02, 99])
    // Nor if it would not be needed.
    await cycle.run({ rerun: true, compute: () => null })
    expect(await numbers()).toEqual([102])
  })

  it('is done once by several processes at the same time', async () => {
    await cycle.addAccounts(60)
    const own = cycle.deps()
    await beginRun(own, { cycle: cut, rerun: false, generatePdf: false, actor: ACTOR })
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 4 }, () => participate(cycle.deps(), cut, signal)))
    const run = await readRun(own, KEY)
    expect(run).toMatchObject({ state: 'finished', counts: { accounts: 60, invoices: 60 } })
    expect((await numbers()).map(Number).sort((a, b) => a - b)).toEqual(range(101, 60))
    expect((await cycle.lines()).length).toBe(60)
  })

  it('processes a page again whose process has not come back in time', async () => {
    await cycle.addAccounts(25)
    const own = cycle.deps()
    const run = await beginRun(own, { cycle: cut, rerun: false, generatePdf: false, actor: ACTOR })
    const paged = { cycle: cut, source: await own.openAccounts() }
    const lost = await claimPage(own, run, paged, 10)
    expect(lost?.page.aids).toEqual(range(1, 10))
    cycle.at(RUN_MS + 61_000)
    const { signal } = new AbortController()
    await participate(own, cut, signal)
    expect(await numbers()).toEqual(range(101, 25))
  })

  it('stands still during an outage, says so, and continues in the same order', async () => {
    await cycle.addAccounts(40)
    const waited: string[] = []
    const own = cycle.deps()
    let outages = 0
    const workers = {
      ...own.workers,
      process: async (...args: Parameters<typeof own.workers.process>) => {
        outages += 1
        if (outages === 2) throw new CatalogUnavailableError('MongoDB: no answer')
        return own.workers.process(...args)
      },
    }
    await beginRun(own, { cycle: cut, rerun: false, generatePdf: false, actor: ACTOR })
    await participate({ ...own, workers }, cut, new AbortController().signal, {
      onProgress: (_run, waiting) => {
        if (waiting !== '') waited.push(waiting)
      },
    })
    expect(waited).toEqual(['MongoDB: no answer'])
    expect(await numbers()).toEqual(range(101, 40))
  })
})

describe('an account that fails', () => {
  const broken = (aids: readonly number[]) => (aid: number) =>
    aids.includes(aid) ? { broken: 'has no price' } : {}

  it('is parked with its reason, and does not affect the others', async () => {
    await cycle.addAccounts(12, broken([3]))
    const run = await cycle.run()
    expect(run).toMatchObject({ state: 'finished', counts: { invoices: 11, failed: 1 } })
    expect(await readParked(cycle.deps(), { run: KEY })).toMatchObject([
      { aid: 3, state: 'parked', reason: 'account 3: plan GOLD: has no price', tries: 1 },
    ])
  })

  it('gets its invoice when it is computed again', async () => {
    await cycle.addAccounts(5, broken([3]))
    await cycle.run()
    const own = cycle.deps()
    expect(await retryParked(own, cut, null)).toMatchObject({ failed: 1 })
    expect((await readParked(own, { run: KEY }))[0]).toMatchObject({ tries: 2 })
    await cycle.catalog().subscribers.updateOne({ aid: 3 } as never, { $unset: { broken: '' } })
    expect(await retryParked(own, cut, null)).toMatchObject({ invoices: 1, failed: 0 })
    expect(await readParked(own, { run: KEY })).toEqual([])
    expect((await readRun(own, KEY))?.counts).toMatchObject({ invoices: 5, failed: 0 })
    expect((await cycle.invoices())[2]).toMatchObject({ aid: 3, invoice_id: 105 })
  })

  it('can be left out', async () => {
    await cycle.addAccounts(5, broken([3]))
    await cycle.run()
    const skip = () => skipParked(cycle.deps(), KEY, [3], ACTOR)
    expect(await skip()).toBe(1)
    expect(await skip()).toBe(0)
    expect(await readParked(cycle.deps(), { run: KEY, state: 'parked' })).toEqual([])
  })

  it('because its invoice cannot be stored', async () => {
    await cycle.addAccounts(12)
    const run = await cycle.run({
      compute: (input) => {
        const result = computeSmall(input)
        if (input.aid !== 4 || result === null) return result
        return { ...result, invoice: { ...result.invoice, blob: 'x'.repeat(17 * 1024 * 1024) } }
      },
    })
    expect(run?.counts).toMatchObject({ invoices: 11, failed: 1 })
    const [parked] = await readParked(cycle.deps(), { run: KEY })
    expect(parked?.reason).toMatch(/^account 4: its invoice cannot be stored: /)
  })

  it('pauses the run if there are more than 1 %, and at least 20', async () => {
    await cycle.addAccounts(200, (aid) => (aid <= 19 ? { broken: 'no price' } : {}))
    expect(await cycle.run()).toMatchObject({ state: 'finished', counts: { failed: 19 } })
    const all = { aid: { $lte: 40 }, type: 'account' } as never
    await cycle.catalog().subscribers.updateMany(all, { $set: { broken: 'x' } })
    const paused = await cycle.run({ rerun: true })
    expect(paused?.state).toBe('paused')
    expect(paused?.reason).toMatch(/^\d+ of \d+ accounts failed, more than 1 %$/)
    expect(await statusNow()).toBe('running')
    await cycle.catalog().subscribers.updateMany(all, { $unset: { broken: '' } })
    const done = await cycle.run()
    expect(done?.state).toBe('finished')
    expect(await retryParked(cycle.deps(), cut, null)).toMatchObject({ failed: 0 })
    expect((await cycle.invoices()).length).toBe(200)
    expect((await numbers()).map(Number).sort((a, b) => a - b)).toEqual(range(101, 200))
  })
})

describe('given accounts', () => {
  it('are computed without a run', async () => {
    await cycle.addAccounts(5)
    const counts = await runAccounts(cycle.deps(), cut, [4, 2])
    expect(counts).toMatchObject({ accounts: 2, invoices: 2 })
    expect((await cycle.invoices()).map(({ aid, invoice_id }) => [aid, invoice_id])).toEqual([
      [2, 101],
      [4, 102],
    ])
  })
})

describe('the status of a cycle', () => {
  it('follows the calendar, the run and the confirmation', async () => {
    await cycle.addAccounts(2)
    expect(await statusNow(RUN_MS, '202607')).toBe('current')
    expect(await statusNow(RUN_MS, '202608')).toBe('future')
    expect(await statusNow()).toBe('to_run')
    const own = cycle.deps()
    await beginRun(own, { cycle: cut, rerun: false, generatePdf: false, actor: ACTOR })
    expect(await statusNow()).toBe('running')
    await participate(own, cut, new AbortController().signal)
    expect(await statusNow()).toBe('finished')
    expect(await resetRun(own, cut, ACTOR)).toBe(true)
    expect(await resetRun(own, cut, ACTOR)).toBe(false)
    expect(await statusNow()).toBe('to_rerun')
    await cycle.run({ rerun: true })
    await cycle.catalog().billrun.updateMany({}, { $set: { billed: 1 } })
    expect(await statusNow()).toBe('confirmed')
  })
})

describe('accounts with invoicing days', () => {
  it('are run by day', async () => {
    await cycle.addAccounts(6, (aid) => (aid % 2 === 0 ? { invoicing_day: '10' } : {}))
    cycle.at(Date.UTC(2026, 5, 12))
    const run = await cycle.run({ day: 10 })
    expect(run?.counts).toMatchObject({ accounts: 3, invoices: 3 })
    const [first] = await cycle.invoices()
    expect(first).toMatchObject({ aid: 2, end_date: new Date('2026-06-10T00:00:00Z') })
    await cycle.run({ day: 1 })
    expect((await cycle.invoices()).map(({ aid }) => aid)).toEqual([1, 2, 3, 4, 5, 6])
  })
})
