import { describe, expect, it } from 'vitest'
import type { CycleRunDocument } from '../../src/catalog/records/money/cycle-documents.ts'
import {
  parkedAccounts,
  progressText,
  runCycle,
  shareText,
  showCycle,
} from '../../src/cli/cycle.ts'
import { UsageError } from '../../src/cli/errors.ts'
import { Shell } from '../../src/cli/shell.ts'
import { addAccounts, KEY } from '../support/billing/cycle-fixture.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

describe('tollgate cycle refuses', () => {
  it.each([
    [showCycle, {}, '--key is missing'],
    [showCycle, { key: '2026' }, '--key must be a cycle such as 202611'],
    [showCycle, { key: KEY, 'invoicing-day': '29' }, '--invoicing-day must be a day from 1 to 28'],
    [runCycle, { key: KEY, threads: '0' }, '--threads must be a number from 1 to 128'],
    [parkedAccounts, { key: KEY, retry: true, skip: true }, 'give either --retry or --skip'],
    [parkedAccounts, { key: KEY, aids: '1' }, '--aids requires --retry or --skip'],
    [parkedAccounts, { key: KEY, skip: true, aids: 'x' }, '--aids must be numbers'],
  ])('%o %j', async (command, options, message) => {
    const refused = (async () => command(new Shell(), options as never))()
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toBeInstanceOf(UsageError)
  })
})

describe('progress', () => {
  const run = {
    total: 400,
    counts: { accounts: 100, invoices: 97, empty: 0, confirmed: 0, failed: 3 },
    state: 'running',
  } as CycleRunDocument

  it('is the share of the accounts', () => {
    expect(progressText(run, '')).toBe('25.00 %, 100 of 400 accounts, 3 failed')
    expect(progressText(run, 'MongoDB: no answer')).toMatch(/; paused: MongoDB: no answer$/)
    expect(shareText(run)).toBe('25.00 %')
  })

  it('is the number of accounts so far, if a customer system has not named them all yet', () => {
    const outside = { ...run, total: 0 }
    expect(progressText(outside, '')).toBe('100 accounts, 3 failed')
    expect(shareText(outside)).toBe('100 accounts')
    expect(shareText({ ...outside, state: 'finished' })).toBe('100.00 %')
  })
})

describe('tollgate cycle, as a command', () => {
  const product = useTollgate()

  it('runs, shows, confirms and resets a cycle; accounts that fail are listed', async () => {
    const catalog = product.catalog()
    await catalog.ensureIndexes()
    const common = { from: new Date('2026-01-01'), to: new Date('2170-01-01'), rev: 1 }
    await catalog.plans.insertOne({
      ...common,
      name: 'GOLD',
      price: [{ from: 0, to: 'UNLIMITED', price: 100 }],
      tax: [{ type: 'vat', taxation: 'no' }],
      upfront: false,
    } as never)
    await addAccounts(catalog, 3)
    await catalog.subscribers.updateOne({ sid: 10_002 } as never, { $set: { plan: 'NONE' } })

    const run = await product.run('cycle', 'run', '--key', KEY, '--threads', '1')
    expect(run.stderr).toContain('0 of 3 accounts')
    expect(run.stdout).toContain('cycle 202606 finished: accounts 3, invoices 2')
    expect(run.code).toBe(0)
    const parked = await product.run('cycle', 'parked', '--key', KEY)
    expect(parked.stdout).toMatch(/2 +parked +1 +account 2: .*NONE/)
    const retried = await product.run('cycle', 'parked', '--key', KEY, '--retry')
    expect([retried.code, retried.stdout]).toEqual([1, expect.stringContaining('failed 1')])
    const skipped = await product.run('cycle', 'parked', '--key', KEY, '--skip', '--json')
    expect(JSON.parse(skipped.stdout)).toEqual({ skipped: 1 })

    const status = await product.run('cycle', 'status', '--key', KEY, '--json')
    expect(JSON.parse(status.stdout)).toMatchObject({ status: 'finished', invoices: 2, parked: 0 })
    const again = await product.run('cycle', 'run', '--key', KEY)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('--rerun')])
    const reset = await product.run('cycle', 'reset', '--key', KEY)
    expect(reset.stdout).toBe('cycle 202606 can be run again\n')
    const rerun = await product.run('cycle', 'run', '--key', KEY, '--rerun', '--json')
    expect(JSON.parse(rerun.stdout)).toMatchObject({ state: 'finished', counts: { failed: 1 } })

    const confirmed = await product.run('cycle', 'confirm', '--key', KEY)
    expect(confirmed.stdout).toBe('confirmed 2, not for bill 0\n')
    const nothing = await product.run('cycle', 'confirm', '--key', KEY)
    expect([nothing.code, nothing.stderr]).toEqual([
      1,
      expect.stringContaining('there are no invoices to confirm'),
    ])
  })
})
