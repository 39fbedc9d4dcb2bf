/** Runs of the cycle for accounts of a customer system, over HTTP, beside those of stored ones. */
import { describe, expect, it } from 'vitest'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { expectedInvoice } from '../../../src/billing/run/expected.ts'
import { claimPage } from '../../../src/billing/run/pages.ts'
import { participate } from '../../../src/billing/run/participate.ts'
import { previewAccounts } from '../../../src/billing/run/preview.ts'
import type { ComputeAccount } from '../../../src/billing/run/process-page.ts'
import { runAccounts } from '../../../src/billing/run/run-accounts.ts'
import { beginRun } from '../../../src/billing/run/runs.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { forgetCustomers, keptCustomers } from '../../../src/catalog/feed/kept-customers.ts'
import { CustomerSystemError } from '../../../src/external/customers/errors.ts'
import { ACTOR } from '../../support/billing/books.ts'
import {
  computeSmall,
  cycleOf,
  FROM,
  KEY,
  RUN_MS,
  TO,
  useCycle,
} from '../../support/billing/cycle-fixture.ts'
import { account, subscriber, useExternalCycle } from '../../support/billing/external-cycle.ts'
import { answersRows } from '../../support/external/example-crm.ts'

type Fields = Record<string, unknown>

const cycle = useCycle()
const external = useExternalCycle(cycle)
const cut = cycleOf()
const range = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at)
const numbers = async () => (await cycle.invoices()).map(({ invoice_id: id }) => id)
const aids = async () => (await cycle.invoices()).map(({ aid }) => aid)
const pagesAsked = () =>
  external
    .crm()
    .asked.filter(({ path }) => path === '/billable')
    .map(({ body }) => body['page'])

async function customers(count: number): Promise<void> {
  for (const aid of range(1, count)) external.crm().revisions.push(account(aid), subscriber(aid))
}

describe('the same customers', () => {
  /** 24 accounts with one subscriber each; `more`: fields of the revisions of the subscriber. */
  function customers(more: Record<number, Fields[]>): Fields[] {
    return range(1, 24).flatMap((aid): Fields[] => {
      const common = { aid, from: FROM, to: TO, rev: 1, activation_date: FROM }
      const names = { firstname: 'Dana', lastname: `Levi ${aid}`, custom: { level: aid } }
      const own = more[aid] ?? [{}]
      return [
        { ...common, ...names, type: 'account', email: `a${aid}@example.org` },
        ...own.map((fields) => ({
          ...common,
          ...names,
          type: 'subscriber',
          sid: 10_000 + aid,
          plan: 'GOLD',
          ...fields,
        })),
      ]
    })
  }

  const price = (amount: number) => [{ from: 0, to: 'UNLIMITED', price: amount }]

  async function addOffers(): Promise<void> {
    const catalog = cycle.catalog()
    const forever = { from: FROM, to: TO, rev: 1 }
    const tax = [{ type: 'vat', taxation: 'global' }]
    const offer = { ...forever, recurrence: { frequency: 1, start: 1 }, tax }
    await catalog.taxes.insertOne({
      _id: new ObjectId('6a0000000000000000000001'),
      ...forever,
      key: 'VAT',
      rate: 0.17,
    } as never)
    await catalog.plans.insertMany([
      { ...offer, name: 'GOLD', price: price(100), upfront: false },
      { ...offer, name: 'AHEAD', price: price(70), upfront: true },
    ] as never[])
    await catalog.services.insertMany([
      { ...offer, name: 'TV', price: price(20), prorated: true, quantitative: true },
    ] as never[])
    await catalog.discounts.insertOne({
      ...forever,
      key: 'TENTH',
      type: 'percentage',
      proration: 'inherited',
      params: {
        conditions: [{ subscriber: [{ fields: [{ field: 'vip', op: 'eq', value: true }] }] }],
      },
      subject: { plan: { GOLD: { value: 0.1 } } },
    } as never)
  }

  /** Plans, services, overrides, discounts, changes and ends, usage, credits and installments. */
  async function populate(): Promise<void> {
    const catalog = cycle.catalog()
    await addOffers()
    const mid = new Date('2026-05-11T00:00:00Z')
    const more: Record<number, Fields[]> = {
      2: [{ plan: 'AHEAD' }],
      3: [{ vip: true, services: [{ name: 'TV', from: mid, quantity: 2, service_id: 7 }] }],
      4: [
        { to: mid, plan: 'GOLD' },
        { from: mid, plan: 'AHEAD', former_plan: 'GOLD', plan_activation: mid },
      ],
      5: [{ to: mid, deactivation_date: mid }],
      6: [
        {
          overrides: [
            { type: 'plan', key: 'GOLD', value: { price: price(55) } },
            { type: 'plan', key: 'AHEAD', value: { price: price(1) } },
          ],
        },
      ],
      7: [{ discounts: [{ key: 'TENTH' }] }],
      8: [{ to: new Date('2026-04-01T00:00:00Z'), deactivation_date: new Date('2026-04-01') }],
      9: [{ from: new Date('2026-06-05T00:00:00Z') }],
    }
    await catalog.subscribers.insertMany(customers(more) as never[])
    const line = (aid: number, index: number, fields: Fields) => ({
      stamp: `s${aid}-${index}`,
      ...{ source: 'credit', type: 'credit', usaget: 'charge' },
      aid,
      sid: 10_000 + aid,
      urt: mid,
      aprice: 3,
      final_charge: 3,
      tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
      exact: { aprice: '3', tax: '0', final_charge: '3' },
      ...fields,
    })
    await catalog.lines.insertMany(
      range(1, 12).flatMap((aid) => [
        line(aid, 1, { billrun: KEY }),
        line(aid, 2, { billrun: '202607', installment_no: 2 }),
      ]) as never[],
    )
  }

  const resultOf = async () => ({
    invoices: (await cycle.invoices()).map(withoutLongNames),
    lines: await cycle.lines(),
    parked: await cycle.catalog().cycleparked.countDocuments(),
    moved: await cycle
      .catalog()
      .lines.find({ preponed: { $exists: true } } as never)
      .sort({ stamp: 1 })
      .toArray(),
  })

  /** The only difference: `first_name` and `last_name`, which revisions from outside have too. */
  function withoutLongNames(invoice: Fields): unknown {
    const text = JSON.stringify(invoice, (name, value: unknown) =>
      name === 'first_name' || name === 'last_name' ? undefined : value,
    )
    return JSON.parse(text)
  }

  it.each([
    [100, 10],
    [7, 3],
    [3, 10],
    [1, 10],
  ])(
    'get the same invoices, byte for byte, by answers of %i and pages of %i',
    async (size, pageSize) => {
      await populate()
      const run = await cycle.run({ compute: computeAccount })
      const local = await resultOf()
      expect(run?.counts).toMatchObject({ accounts: 24, failed: 0 })
      expect(local.invoices.length).toBeGreaterThan(15)
      const { billrun, lines, counters, cycleruns, cyclepages } = cycle.catalog()
      for (const each of [billrun, counters, cycleruns, cyclepages]) await each.deleteMany({})
      await lines.deleteMany({ source: 'billrun' } as never)
      const back = { $set: { billrun: '202607' }, $unset: { preponed: 1 } }
      await lines.updateMany({ preponed: { $exists: true } } as never, back as never)
      await external.moveCustomers()
      await external.configure({ billable: { size } })
      const outside = await external.run({ compute: computeAccount, pageSize })
      expect(outside).toMatchObject({ state: 'finished', total: 24, counts: run?.counts })
      expect(JSON.stringify(await resultOf())).toBe(JSON.stringify(local))
    },
  )
})

describe('billable accounts', () => {
  it('are asked for by page until one is not full, with the window of the cycle', async () => {
    await customers(25)
    await external.configure({ billable: { size: 10 } })
    const run = await external.run({ pageSize: 4 })
    expect(run).toMatchObject({ state: 'finished', total: 25, counts: { invoices: 25 } })
    expect(await numbers()).toEqual(range(101, 25))
    expect(pagesAsked()).toEqual([0, 1, 2])
    expect(external.crm().asked[0]).toEqual({
      path: '/billable',
      contentType: 'application/json',
      body: { start_date: '2026-05-01', end_date: '2026-06-01', page: 0, size: 10 },
    })
  })

  it('are asked for until a page is empty, if each is full', async () => {
    await customers(4)
    await external.configure({ billable: { size: 2 } })
    expect((await external.run())?.counts.invoices).toBe(4)
    expect(pagesAsked()).toEqual([0, 1, 2])
  })

  it('are none: the run finishes without invoices', async () => {
    await external.configure()
    expect(await external.run()).toMatchObject({ state: 'finished', total: 0 })
    expect(pagesAsked().length).toBeGreaterThan(0)
  })

  it('are asked for by form, and with a configured format of dates', async () => {
    await customers(2)
    const format = 'YYYY-MM-DD HH:MM:SS'
    await external.configure({ billable: { encoding: 'form', single_day_cycle_format: format } })
    expect((await external.run())?.counts.invoices).toBe(2)
    const [first] = external.crm().asked
    expect(first?.contentType).toBe('application/x-www-form-urlencoded')
    expect(first?.body).toEqual({
      start_date: '2026-05-01 00:00:00',
      end_date: '2026-06-01 00:00:00',
      page: '0',
      size: '100',
    })
  })

  it('of an invoicing day are asked for by it; those of another day are left out', async () => {
    external
      .crm()
      .revisions.push(
        ...[account(1, { invoicing_day: 5 }), subscriber(1)],
        ...[account(2, { invoicing_day: '6' }), subscriber(2)],
        ...[account(3), subscriber(3)],
      )
    await external.configure()
    await external.run({ day: 5 })
    expect(external.crm().asked[0]?.body['invoicing_days']).toEqual([5])
    expect(await aids()).toEqual([1])
    external.crm().disturb = answersRows(external.crm().revisions)
    await external.run({ day: 6 })
    expect(await aids()).toEqual([1, 2])
  })

  it('merge the later installments of subscribers that options name', async () => {
    await customers(3)
    const line = { type: 'credit', source: 'credit', usaget: 'charge', urt: FROM, aprice: 1 }
    const later = { billrun: '202609', installment_no: 3 }
    await cycle.catalog().lines.insertMany(
      [1, 2, 3].map((aid) => ({
        ...line,
        ...later,
        aid,
        sid: 10_000 + aid,
        stamp: `i${aid}`,
      })) as never[],
    )
    await external.configure()
    const rows = external.crm().revisions
    const options = { merge_credit_installments: { 2: [10_002], 3: [99] } }
    external.crm().disturb = answersRows(rows, { options })
    const merged = new Map<number, readonly number[]>()
    await external.run({
      compute: (input) => {
        merged.set(input.aid, input.mergedInstallments)
        return computeSmall(input)
      },
    })
    expect([...merged]).toEqual([
      [1, []],
      [2, [10_002]],
      [3, [99]],
    ])
  })

  it('are processed once by several processes', async () => {
    await customers(60)
    await external.configure({ billable: { size: 20 } })
    const named = { cycle: cut, rerun: false, generatePdf: false, actor: ACTOR }
    await beginRun(external.deps(), named)
    const { signal } = new AbortController()
    await Promise.all(range(0, 4).map(() => participate(external.deps(), cut, signal)))
    expect((await numbers()).map(Number).sort((a, b) => a - b)).toEqual(range(101, 60))
    expect((await cycle.lines()).length).toBe(60)
  })

  it('that move to later pages, because others were added, are found again', async () => {
    for (const aid of [2, 4, 6, 8]) external.crm().revisions.push(account(aid), subscriber(aid))
    await external.configure({ billable: { size: 2 } })
    external.crm().disturb = ({ body }) => {
      if (body['page'] === 1) external.crm().revisions.push(account(1), subscriber(1))
      if (body['page'] === 1) external.crm().disturb = null
      return false
    }
    expect(await external.run()).toMatchObject({ state: 'finished', counts: { invoices: 4 } })
    expect(await aids()).toEqual([2, 4, 6, 8])
  })

  it('of a page that another process has left are asked for by number', async () => {
    await customers(25)
    await external.configure()
    const own = external.deps()
    const run = await beginRun(own, { cycle: cut, rerun: false, generatePdf: false, actor: ACTOR })
    await claimPage(own, run, { cycle: cut, source: await own.openAccounts() }, 10)
    cycle.at(RUN_MS + 61_000)
    external.crm().asked.length = 0
    await participate(own, cut, new AbortController().signal)
    expect(await numbers()).toEqual(range(101, 25))
    expect(external.crm().asked[0]?.body).toMatchObject({
      aids: range(1, 10).join(','),
      page: 0,
      size: 10,
    })
  })
})

describe('without a run', () => {
  it('given accounts are asked for by number, at most as many at once as configured', async () => {
    await customers(9)
    await external.configure({ billable: { size: 2 } })
    const counts = await runAccounts(external.deps(), cut, [5, 3, 1])
    expect(counts).toMatchObject({ accounts: 3, invoices: 3 })
    const asked = external.crm().asked.map(({ body }) => [body['aids'], body['size']])
    expect(asked).toEqual([
      ['1,3', 2],
      ['5', 1],
    ])
  })

  it('an expected invoice and a preview use the customer system', async () => {
    await customers(3)
    await external.configure({ billable: { size: 2 } })
    const compute: ComputeAccount = (input) => {
      const found = computeSmall(input)
      return found && { ...found, lines: [] }
    }
    const deps = { ...external.deps(), compute }
    const query = { aid: 2, cycle: cut, ignoresLines: false, account: null, subscribers: null }
    const expected = await expectedInvoice(deps, computeSmall, { ...query, nowMs: RUN_MS })
    expect(expected?.invoice.attributes.fullname).toBe('Dana Levi 2')
    const request = { cycle: cut, assumed: null, back: 0, comparedKey: KEY, nowMs: RUN_MS }
    const previewed: unknown[] = []
    for await (const { aid, failed } of previewAccounts(deps, { ...request, aid: null })) {
      previewed.push([aid, failed])
    }
    for await (const { aid } of previewAccounts(deps, { ...request, aid: 3 })) previewed.push(aid)
    expect(previewed).toEqual([[1, undefined], [2, undefined], [3, undefined], 3])
    expect(await cycle.catalog().billrun.countDocuments()).toBe(0)
  })

  it('reports an outage', async () => {
    await external.configure()
    await external.crm().stop()
    await expect(runAccounts(external.deps(), cut, [1])).rejects.toThrow(CustomerSystemError)
  })
})

describe('answers of the cycle', () => {
  const kept = (
    key: string,
    value: string | number,
    kind: 'account' | 'subscriber' = 'subscriber',
  ) =>
    keptCustomers(
      cycle.catalog(),
      kind,
      [{ key, value, atMs: RUN_MS, limit: 1 }],
      new Date(cycle.now()),
    )

  it('are kept for charging, if that is configured', async () => {
    external.crm().revisions.push(account(1), subscriber(1, { msisdn: '050', imsi: ['1', '2'] }))
    await external.configure()
    await external.run()
    expect(await kept('sid', 10_001)).toEqual([null])
    await external.configure({ account: { cache_gba_to_gsd: { enabled: true } } })
    await external.run({ rerun: true })
    const found = [expect.objectContaining({ sid: 10_001, plan: 'GOLD', from: FROM })]
    expect(await kept('sid', 10_001)).toEqual(found)
    expect(await kept('msisdn', '050')).toEqual(found)
    expect(await kept('imsi', '2')).toEqual(found)
    expect(await kept('aid', 1, 'account')).toEqual([
      expect.objectContaining({ email: 'a1@example.org' }),
    ])
    expect(await kept('sid', 1)).toEqual([null])
    await forgetCustomers(cycle.catalog(), { aid: 0, sid: 10_001 })
    expect(await kept('sid', 10_001)).toEqual([null])
    cycle.at(RUN_MS + 301_000)
    expect(await kept('aid', 1, 'account')).toEqual([null])
  })
})
