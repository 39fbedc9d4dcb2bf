/** `/billrun`: the commands of the billing cycle. */
import { beforeEach, describe, expect, it } from 'vitest'
import { confirmcycle } from '../../../src/admin/actions/billrun/confirm-cycle.ts'
import { billrunChargestatus, cycle, cycles } from '../../../src/admin/actions/billrun/cycles.ts'
import {
  completecycle,
  resetcycle,
  specificcycle,
} from '../../../src/admin/actions/billrun/run-cycle.ts'
import { createCycle } from '../../../src/admin/cycle/cycle.ts'
import { confirmHandler, cycleHandler } from '../../../src/admin/cycle/jobs.ts'
import { jobsDue } from '../../../src/admin/jobs/jobs.ts'
import { runJob } from '../../../src/admin/jobs/runner.ts'
import { storedAccounts } from '../../../src/billing/run/accounts.ts'
import { exactAmount } from '../../../src/catalog/records/exact-amount.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { type Fields, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addAccounts, config, smallWorkers } from '../../support/billing/cycle-fixture.ts'

const api = useActionServer([
  ...[completecycle, specificcycle, resetcycle, confirmcycle, cycles, cycle],
  billrunChargestatus,
])
/** The server's clock is in 202607; the last cycle is 202606. */
const KEY = '202606'
const COLLECTIONS = [
  ...['subscribers', 'billrun', 'bills', 'journal', 'books', 'lines', 'counters', 'config'],
  ...['cycleruns', 'cyclepages', 'cycleparked', 'voidinvoices', 'jobs'],
] as const

beforeEach(async () => {
  const catalog = api.catalog()
  for (const name of COLLECTIONS) await catalog[name].deleteMany({})
  await addAccounts(catalog, 5)
})

const ask = (name: string, params: Fields = {}, how = {}) => api.ask(`billrun/${name}`, params, how)
const refused = async (name: string, params: Fields = {}) => {
  const { status, desc, message, http } = await ask(name, params)
  expect([http, status, message]).toEqual([200, 0, desc])
  return desc
}
const details = async (name: string, params: Fields = {}) => {
  const answer = await ask(name, params)
  if (answer['status'] !== 1) throw new Error(answer.text)
  return answer['details'] as Fields & Fields[]
}

/** Runs the jobs that are due, as the control plane does. */
async function runJobs(): Promise<void> {
  const catalog = api.catalog()
  const clock = { nowMs: api.now }
  const log = createLogger({ name: 'test', level: 'silent' })
  const openAccounts = async () => storedAccounts(catalog)
  const startWorkers = () => smallWorkers({ catalog, clock })
  const parts = createCycle({ catalog, clock, config, log, openAccounts, startWorkers })
  const metrics = { cycleRun: () => undefined }
  const handlers = { cycle: cycleHandler(parts, metrics), confirm: confirmHandler(parts) }
  for (const job of await jobsDue({ catalog, clock })) {
    await runJob({ catalog, clock, config, log, handlers }, job, new AbortController().signal)
  }
}

const complete = (more: Fields = {}) =>
  details('completecycle', { stamp: KEY, generate_pdf: 'false', ...more })

describe('generate_pdf of confirmcycle', () => {
  it('is true or false, and a part of the job', async () => {
    await complete()
    await runJobs()
    expect(await refused('confirmcycle', { stamp: KEY, generate_pdf: 'x' })).toBe(
      'Field generate_pdf must be true or false',
    )
    await details('confirmcycle', { stamp: KEY, generate_pdf: 'true' })
    const job = await api.catalog().jobs.findOne({ kind: 'confirm' })
    expect(job?.options).toMatchObject({ key: KEY, generatePdf: true })
    await runJobs()
    expect(await api.catalog().billrun.countDocuments({ billed: 1 })).toBe(5)
  })
})

describe('completecycle', () => {
  it('runs the cycle in the background', async () => {
    expect(await complete()).toEqual({ job: expect.any(String), accounts: 5 })
    expect(await details('cycle', { stamp: KEY })).toMatchObject({
      cycle_status: 'running',
      completion_percentage: 0,
    })
    await runJobs()
    expect(await details('cycle', { stamp: KEY })).toEqual({
      billrun_key: KEY,
      start_date: '2026-05-01 00:00:00',
      end_date: '2026-06-01 00:00:00',
      cycle_status: 'finished',
      completion_percentage: 100,
      generated_invoices: 5,
      generated_bills: 0,
      confirmation_percentage: 0,
      generate_pdf: false,
      state: 'finished',
      reason: '',
      accounts: { total: 5, accounts: 5, invoices: 5, empty: 0, confirmed: 0, failed: 0 },
      parked: 0,
      parked_accounts: [],
    })
  })

  it('replaces the invoices of a finished cycle only if told to', async () => {
    await complete()
    await runJobs()
    expect(await refused('completecycle', { stamp: KEY, generate_pdf: 'false' })).toBe(
      'For rerun pass rerun value as true',
    )
    await complete({ rerun: 'true' })
    await runJobs()
    expect(await details('cycle', { stamp: KEY })).toMatchObject({ generated_invoices: 5 })
  })

  it.each([
    [{}, 'Need to pass correct billrun key'],
    [{ stamp: '2026' }, 'Need to pass correct billrun key'],
    [{ stamp: '202613' }, 'Need to pass correct billrun key'],
    [{ stamp: '202607' }, "Can't run billing cycle on active or future cycles"],
    [{ stamp: '202701' }, "Can't run billing cycle on active or future cycles"],
    [{ stamp: KEY }, "One or more of the parameters of the 'cycle' command is not valid"],
    [
      { stamp: KEY, generate_pdf: 'x' },
      "One or more of the parameters of the 'cycle' command is not valid",
    ],
  ])('refuses %j: %s', async (params, text) => {
    expect(await refused('completecycle', params)).toBe(text)
  })

  it('is refused while a process works on the cycle', async () => {
    await complete()
    await api.catalog().cyclepages.insertOne({
      ...{ _id: 'p', run: KEY, generation: 1, after: 0, to: 1, next: null, aids: [1] },
      ...{ state: 'claimed' },
      ...{ token: 't', holder: { host: 'elsewhere', pid: 1, instance: 'i' } },
      ...{ expires: new Date(api.now() + 1000), started: new Date(), ended: null },
    })
    expect(await refused('completecycle', { stamp: KEY, generate_pdf: 'false' })).toMatch(
      /^Billing cycle 202606 is already running on host \S+$/,
    )
  })

  it('needs the day if accounts have different ones', async () => {
    const value = { multi_day_cycle: true }
    await api.catalog().config.insertOne({ _id: 'billrun', value } as never)
    const text = 'Need to pass invoicing day when on multi day cycle mode.'
    expect(await refused('completecycle', { stamp: KEY, generate_pdf: 'true' })).toBe(text)
    expect(await refused('completecycle', { stamp: KEY, invoicing_day: '29' })).toBe(text)
    await complete({ invoicing_day: 1 })
    await runJobs()
    expect(await details('cycle', { stamp: KEY, invoicing_day: '1' })).toMatchObject({
      generated_invoices: 5,
    })
  })
})

describe('specificcycle', () => {
  it('computes the accounts at once', async () => {
    expect(await details('specificcycle', { stamp: KEY, aids: '[2,4]' })).toEqual({
      ...{ accounts: 2, invoices: 2, empty: 0, confirmed: 0, failed: 0 },
    })
    expect(await details('cycles', { stamp: KEY })).toMatchObject([{ cycle_status: 'to_rerun' }])
  })

  it.each([
    [{}, 'Need to pass correct billrun key'],
    [{ stamp: KEY }, 'Need to supply at least one account id'],
    [{ stamp: KEY, aids: '[]' }, 'Need to supply at least one account id'],
    [{ stamp: KEY, aids: '["x"]' }, "Illgal account id's"],
    [{ stamp: KEY, aids: '[0]' }, "Illgal account id's"],
    [{ stamp: '202607', aids: '[1]' }, "Can't Run"],
  ])('refuses %j: %s', async (params, text) => {
    expect(await refused('specificcycle', params)).toBe(text)
  })
})

describe('resetcycle', () => {
  it('only of a finished cycle', async () => {
    expect(await refused('resetcycle', { stamp: KEY })).toBe('error')
    await complete()
    expect(await refused('resetcycle', { stamp: KEY })).toBe('error')
    await runJobs()
    expect(await ask('resetcycle', { stamp: KEY })).toMatchObject({ status: 1, desc: 'success' })
    expect(await details('cycles', { stamp: KEY })).toMatchObject([{ cycle_status: 'to_rerun' }])
  })
})

describe('confirmcycle', () => {
  const finish = async () => {
    await complete()
    await runJobs()
  }

  it('makes bills of all invoices', async () => {
    await finish()
    expect(await details('confirmcycle', { stamp: KEY })).toEqual({ job: expect.any(String) })
    expect((await ask('chargestatus'))['details']).toEqual([{ status: false }])
    await runJobs()
    expect((await ask('chargestatus'))['details']).toEqual([{ status: true }])
    expect(await details('cycle', { stamp: KEY })).toMatchObject({
      cycle_status: 'confirmed',
      generated_bills: 5,
      confirmation_percentage: 100,
    })
    const bills = await api.catalog().bills.find().sort({ aid: 1 }).toArray()
    expect(bills.map(({ aid, due }) => [aid, exactAmount(due).toFixed()])).toEqual([
      ...[1, 2, 3, 4, 5].map((aid) => [aid, `10.0${aid}`]),
    ])
    expect(bills[0]).toMatchObject({
      invoice_id: 101,
      billrun_key: KEY,
      invoice_type: 'regular',
      payer_name: 'Dana Levi 1',
      due_date: new Date('2026-06-15T00:00:00Z'),
    })
  })

  it('confirms given invoices at once, and the others never by mistake', async () => {
    await finish()
    const done = await details('confirmcycle', { stamp: KEY, invoices: '102, 104' })
    expect(done).toEqual({ confirmed: 2, not_for_bill: 0, refused: [] })
    const nothing = 'Cycle was confirmed already, or no invoices were found to confirm'
    expect(await refused('confirmcycle', { stamp: KEY, invoices: '102' })).toBe(nothing)
    expect(await details('cycle', { stamp: KEY })).toMatchObject({ generated_bills: 2 })
    const found = await api.catalog().billrun.findOne({ invoice_id: 102 })
    expect(found).toMatchObject({ billed: 1, confirmation_time: new Date(api.now()) })
  })

  it('bills nothing of an invoice that is not for a bill', async () => {
    await finish()
    await api.catalog().billrun.updateOne({ aid: 3 }, { $set: { allow_bill: 0 } })
    expect(await details('confirmcycle', { stamp: KEY, invoices: [103] })).toMatchObject({
      confirmed: 0,
      not_for_bill: 1,
    })
    expect(await api.catalog().bills.countDocuments()).toBe(0)
    expect(await api.catalog().billrun.findOne({ aid: 3 })).toMatchObject({ billed: 2 })
  })

  it('refuses an invoice whose account has got lines since', async () => {
    await finish()
    await api.catalog().lines.insertOne({
      ...{ stamp: 'late', aid: 2, sid: 10_002, billrun: KEY, type: 'credit', aprice: 3 },
      ...{ source: 'credit', urt: new Date('2026-05-20') },
    } as never)
    expect(await details('confirmcycle', { stamp: KEY, invoices: '101,102' })).toEqual({
      confirmed: 1,
      not_for_bill: 0,
      refused: [{ invoice_id: 102, reason: expect.stringContaining('compute it again') }],
    })
    await details('specificcycle', { stamp: KEY, aids: '[2]' })
    const again = await details('confirmcycle', { stamp: KEY, invoices: '102' })
    expect(again).toMatchObject({ confirmed: 1 })
    const bill = await api.catalog().bills.findOne({ invoice_id: 102 })
    expect(exactAmount(bill?.due).toFixed()).toBe('13.02')
  })

  it('is covered by credit that the account has', async () => {
    await finish()
    await details('confirmcycle', { stamp: KEY, invoices: '101' })
    const bill = await api.catalog().bills.findOne({ invoice_id: 101 })
    expect(exactAmount(bill?.left_to_pay).toFixed()).toBe('10.01')
  })

  it.each([
    [{}, 'stamp is in incorrect format or missing '],
    [{ stamp: 'x' }, 'stamp is in incorrect format or missing '],
    [{ stamp: KEY }, 'Cycle was confirmed already, or no invoices were found to confirm'],
    [{ stamp: KEY, invoices: '1,x' }, 'Field invoices must be numbers of invoices'],
  ])('refuses %j: %s', async (params, text) => {
    expect(await refused('confirmcycle', params)).toBe(text)
  })

  it('waits for the end of the run', async () => {
    await complete()
    expect(await refused('confirmcycle', { stamp: KEY })).toBe(
      "Can't confirm invoices while the billing cycle run is ongoing",
    )
  })
})

describe('cycles', () => {
  it('lists 24 months back, the newest first', async () => {
    const rows = await details('cycles')
    expect(rows).toHaveLength(25)
    expect(rows[0]).toEqual({
      billrun_key: '202607',
      start_date: '2026-06-01 00:00:00',
      end_date: '2026-07-01 00:00:00',
      cycle_status: 'current',
    })
    expect(rows.at(-1)).toMatchObject({ billrun_key: '202407', cycle_status: 'to_run' })
  })

  it('lists a range in the other order, with the position in time', async () => {
    const params = { from: KEY, to: '202608', newestFirst: 'false', timeStatus: 'true' }
    expect(await details('cycles', params)).toMatchObject([
      { billrun_key: KEY, cycle_time_status: 'past' },
      { billrun_key: '202607', cycle_time_status: 'present' },
      { billrun_key: '202608', cycle_time_status: 'future' },
    ])
  })

  it('lists at most 100', async () => {
    expect(await details('cycles', { from: '200001', to: '202601' })).toHaveLength(100)
  })

  it('refuses a key that is none', async () => {
    expect(await refused('cycles', { from: 'x' })).toMatch(/^Field from must be a cycle key/)
  })
})

describe('access', () => {
  it.each(['completecycle', 'specificcycle', 'resetcycle', 'confirmcycle'])(
    '%s: admins, by POST',
    async (name) => {
      expect((await ask(name, {}, { role: 'read,write' })).text).toContain('needs admin')
      expect((await ask(name, {}, { as: 'query', method: 'GET' })).http).toBe(405)
    },
  )

  it.each(['cycles', 'cycle', 'chargestatus'])('%s: users with role read', async (name) => {
    const params = { stamp: KEY }
    const answer = await ask(name, params, { role: 'read', as: 'query', method: 'GET' })
    expect(answer['status']).toBe(1)
  })
})
