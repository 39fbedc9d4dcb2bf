/** Runs of the cycle for accounts of a customer system, over HTTP, beside those of stored ones. */
import { describe, expect, it } from 'vitest'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { expectedInvoice } from '../../../src/billing/run/expected.ts'
import { claimPage } from '../../../src/billing/run/pages.ts'
import { readParked } from '../../../src/billing/run/parked.ts'
import { participate } from '../../../src/billing/run/participate.ts'
import { previewAccounts } from '../../../src/billing/run/preview.ts'
import type { ComputeAccount } from '../../../src/billing/run/process-page.ts'
import { retryParked, runAccounts } from '../../../src/billing/run/run-accounts.ts'
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
import { useExternalCycle } from '../../support/billing/external-cycle.ts'
import {
  answersRows,
  answersText,
  type Disturb,
  sendJson,
} from '../../support/external/example-crm.ts'

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
const account = (aid: number, more: Fields = {}): Fields => ({
  type: 'account',
  aid,
  from: '2026-01-01 00:00:00',
  to: '2170-01-01 00:00:00',
  firstname: 'Dana',
  lastname: `Levi ${aid}`,
  email: `a${aid}@example.org`,
  ...more,
})
const subscriber = (aid: number, more: Fields = {}): Fields => ({
  ...account(aid),
  type: 'subscriber',
  sid: 10_000 + aid,
  plan: 'GOLD',
  ...more,
})

async function customers(count: number): Promise<void> {
  for (const aid of range(1, count)) external.crm().revisions.push(account(aid), subscriber(aid))
}

describe('the same customers', () => {
  /** Plans, services, overrides, discounts, changes and ends, usage, credits and installments. */
  async function populate(): Promise<void> {
    const catalog = cycle.catalog()
    const forever = { from: FROM, to: TO, rev: 1 }
    const tax = [{ type: 'vat', taxation: 'global' }]
    const price = (amount: number) => [{ from: 0, to: 'UNLIMITED', price: amount }]
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
    const documents = range(1, 24).flatMap((aid): Fields[] => {
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
    await catalog.subscribers.insertMany(documents as never[])
    const line = (aid: number, index: number, fields: Fields) => ({
      stamp: `s${aid}-${index}`,
      source: 'credit',
      type: 'credit',
      usaget: 'charge',
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

  it('are none', async () => {
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
    await cycle
      .catalog()
      .lines.insertMany(
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

describe('a page that breaks the rules pauses the run', () => {
  const full = () => range(1, 6).map((aid) => account(aid))
  const onPage =
    (wanted: number, rows: readonly Fields[]): Disturb =>
    ({ body }, response) => {
      if (body['page'] !== wanted) return false
      sendJson(response, { status: 1, data: rows, options: [] })
      return true
    }

  it.each<[string, () => Disturb, string]>([
    [
      'not sorted',
      () => onPage(1, [account(4), account(3)]),
      'page 1: account 3 follows account 4',
    ],
    [
      'an account twice',
      () => onPage(1, [account(3), account(4), subscriber(3)]),
      'page 1: account 3 follows account 4',
    ],
    [
      'overlapping',
      () => onPage(1, [account(2), account(3)]),
      'page 1: account 2 is on an earlier page, which ended with account 2',
    ],
    ['too large', () => onPage(1, full().slice(2)), 'page 1: has 4 accounts, asked for 2'],
    [
      'no list',
      () => answersText('/billable', '{"status":1,"data":"x"}'),
      'page 0: data must be a list',
    ],
    ['no JSON', () => answersText('/billable', '<html>'), 'its answer is not JSON'],
    ['empty', () => answersText('/billable', ''), 'its answer is empty'],
    [
      'without data',
      () => answersText('/billable', '{}'),
      'Failed to retrive valid results for billable, remote returned no data.',
    ],
    [
      'a failure',
      () => answersText('/billable', '{"status":0,"data":[]}'),
      'Remote server return an error (status : 0) on request : {"start_date":"2026-05-01"',
    ],
  ])('%s', async (_, disturb, reason) => {
    await customers(6)
    await external.configure({ billable: { size: 2 } })
    external.crm().disturb = disturb()
    const paused = await external.run()
    expect(paused?.state).toBe('paused')
    expect(paused?.reason).toContain(reason)
    expect(await cycle.catalog().cycleparked.countDocuments()).toBe(0)
    // The customer system is repaired: the run continues where it was.
    external.crm().disturb = null
    expect(await external.run()).toMatchObject({ state: 'finished', counts: { invoices: 6 } })
    expect(await numbers()).toEqual(range(101, 6))
  })

  it('a huge answer is not read to its end', async () => {
    await customers(1)
    await external.configure({ billable: { size: 1 } })
    let written = 0
    external.crm().disturb = (_, response) => {
      const chunk = ' '.repeat(1024 * 1024)
      const more = () => {
        while (!response.destroyed && written < 1024 && response.write(chunk)) written += 1
      }
      response.on('drain', more)
      more()
      return true
    }
    const paused = await external.run()
    expect(paused?.reason).toMatch(/its answer has more than \d+ bytes/)
    expect(written).toBeLessThan(3 * 64)
  })

  it('is asked for again first: a short disturbance is not noticed', async () => {
    await customers(3)
    await external.configure()
    let failures = 2
    external.crm().disturb = (_, response) => {
      failures -= 1
      if (failures < 0) return false
      response.end('<html>')
      return true
    }
    expect((await external.run())?.state).toBe('finished')
  })
})

describe('a customer system that is away', () => {
  it('is waited for, and the run continues in the same order', async () => {
    await customers(40)
    await external.configure({ billable: { size: 10 } })
    const waited: string[] = []
    let isDown = false
    const run = await external.run({
      onProgress: async (progress, waiting) => {
        if (!isDown && progress.counts.accounts >= 10) {
          isDown = true
          await external.crm().stop()
        }
        if (waiting === '') return
        waited.push(waiting)
        await external.crm().start()
      },
    })
    expect(run).toMatchObject({ state: 'finished', counts: { invoices: 40, failed: 0 } })
    expect(waited[0]).toContain('customer system: it cannot be reached')
    expect(await numbers()).toEqual(range(101, 40))
  })

  it.each<[string, Disturb, RegExp]>([
    ['slow', () => true, /its answer was not complete within 150 ms/],
    [
      'slow after the first bytes',
      (_, response) => {
        response.write('{"status":1,')
        return true
      },
      /its answer was not complete within 150 ms/,
    ],
    [
      'overloaded',
      (_, response) => {
        response.writeHead(503).end()
        return true
      },
      /status 503/,
    ],
  ])('%s, is waited for', async (_, disturb, reason) => {
    await customers(3)
    await external.configure({ billable: { timeout_ms: 150 } })
    external.crm().disturb = disturb
    const waited: string[] = []
    const run = await external.run({
      onProgress: (_run, waiting) => {
        if (waiting === '') return
        waited.push(waiting)
        external.crm().disturb = null
      },
    })
    expect(waited.length).toBe(1)
    expect(waited[0]).toMatch(reason)
    expect(run).toMatchObject({ state: 'finished', counts: { invoices: 3 } })
  })

  it('without its address pauses the run', async () => {
    await external.configure({ billable: { url: undefined } })
    const paused = await external.run()
    expect(paused).toMatchObject({ state: 'paused' })
    expect(paused?.reason).toContain('subscribers.billable.url is not set')
  })
})

describe('an account whose data cannot be used', () => {
  it('is parked with account and field, and does not affect the others', async () => {
    await customers(5)
    const { revisions } = external.crm()
    revisions[3] = subscriber(2, { plan: null })
    revisions.push(subscriber(4, { sid: 9, to: '2026-05-10 00:00:00' }))
    revisions.push(subscriber(4, { sid: 9, from: '2026-05-09 00:00:00' }))
    await external.configure()
    const run = await external.run()
    expect(run).toMatchObject({ state: 'finished', counts: { invoices: 3, failed: 2 } })
    const parked = await readParked(cycle.deps(), { run: KEY })
    expect(parked.map(({ aid, reason }) => [aid, reason])).toEqual([
      [2, 'account 2: customer system: subscriber 10002: plan is missing'],
      [4, expect.stringContaining('account 4: customer system: subscriber 9: revisions overlap')],
    ])
    revisions[3] = subscriber(2)
    const retried = await retryParked(external.deps(), cut, [2])
    expect(retried).toMatchObject({ invoices: 1, failed: 0 })
  })

  it('lacks a mandatory field that the operator has added', async () => {
    external.crm().revisions.push(account(1, { branch: 'N' }), account(2))
    const fields = [{ field_name: 'branch', type: 'text', mandatory: true }]
    await external.configure({ account: { fields } })
    await external.run()
    const [parked] = await readParked(cycle.deps(), { run: KEY })
    expect(parked).toMatchObject({
      aid: 2,
      reason: 'account 2: customer system: branch is missing: it is mandatory',
    })
  })

  it('is unknown to the customer system', async () => {
    await customers(1)
    await external.configure()
    const counts = await runAccounts(external.deps(), cut, [1, 77])
    expect(counts).toMatchObject({ invoices: 1, failed: 1 })
    const [parked] = await readParked(cycle.deps(), { run: KEY })
    expect(parked?.reason).toBe('account 77: the customer system does not return it')
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
    const wanted = { aid: 2, cycle: cut, ignoresLines: false, account: null, subscribers: null }
    const expected = await expectedInvoice(deps, computeSmall, { ...wanted, nowMs: RUN_MS })
    expect(expected?.invoice.attributes.fullname).toBe('Dana Levi 2')
    const request = { cycle: cut, assumed: null, comparedKey: KEY, nowMs: RUN_MS }
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
