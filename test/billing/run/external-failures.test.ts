/** Runs of the cycle with a customer system that is away, slow, or wrong. */
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { readParked } from '../../../src/billing/run/parked.ts'
import { retryParked, runAccounts } from '../../../src/billing/run/run-accounts.ts'
import { cycleOf, KEY, useCycle } from '../../support/billing/cycle-fixture.ts'
import { account, subscriber, useExternalCycle } from '../../support/billing/external-cycle.ts'
import { answersText, type Disturb, sendJson } from '../../support/external/example-crm.ts'

type Fields = Record<string, unknown>

const cycle = useCycle()
const external = useExternalCycle(cycle)
const cut = cycleOf()
const range = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at)
const numbers = async () => (await cycle.invoices()).map(({ invoice_id: id }) => id)

async function customers(count: number): Promise<void> {
  for (const aid of range(1, count)) external.crm().revisions.push(account(aid), subscriber(aid))
}

function answersStatus(response: ServerResponse, status: number): true {
  response.writeHead(status).end()
  return true
}

describe('a page that breaks the rules pauses the run', () => {
  const full = () => range(1, 6).map((aid) => account(aid))
  const onPage =
    (expected: number, rows: readonly Fields[]): Disturb =>
    ({ body }, response) => {
      if (body['page'] !== expected) return false
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

  it.each([400, 401, 403, 404, 413])('status %i, without asking again', async (status) => {
    await customers(1)
    await external.configure()
    external.crm().disturb = (_, response) => answersStatus(response, status)
    const paused = await external.run()
    expect(paused).toMatchObject({ state: 'paused', reason: expect.stringContaining(`${status}`) })
    expect(external.crm().asked).toHaveLength(1)
    external.crm().disturb = null
    expect(await external.run()).toMatchObject({ state: 'finished', counts: { invoices: 1 } })
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
    ['failing', (_, response) => answersStatus(response, 500), /status 500/],
    ['overloaded', (_, response) => answersStatus(response, 503), /status 503/],
    ['busy', (_, response) => answersStatus(response, 429), /status 429/],
    ['late', (_, response) => answersStatus(response, 408), /status 408/],
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
