/** `tollgate audit`: lines that no invoice has. */
import { beforeEach, describe, expect, it } from 'vitest'
import { moneyFormat } from '../../../src/billing/currency.ts'
import { STORED_CUSTOMERS } from '../../../src/billing/customer-lookup.ts'
import { auditUninvoiced, uninvoicedLines } from '../../../src/cli/audit/uninvoiced.ts'
import { config, KEY, RUN_MS, useCycle } from '../../support/billing/cycle-fixture.ts'
import { addPlan, useLateUsage } from '../../support/billing/late-usage.ts'

describe('tollgate audit', () => {
  const cycle = useCycle()
  const { run, confirm } = useLateUsage(cycle)
  const since = new Date('2026-06-05')
  const usage = (stamp: string, aid: number, more: object = {}) => ({
    ...{ stamp, v: 1, aid, sid: 10_000 + aid, type: 'realtime', source: 'realtime', plan: 'GOLD' },
    ...{ billrun: KEY, urt: new Date('2026-05-20'), last_urt: new Date('2026-05-20') },
    ...{ usaget: 'data', arate_key: 'DATA', usagev: 1, aprice: 3, final_charge: 3, payments: [] },
    exact: { aprice: '3', tax: '0', final_charge: '3' },
    tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
    ...more,
  })
  const audit = () =>
    auditUninvoiced({ catalog: cycle.catalog(), lookup: STORED_CUSTOMERS }, config)

  beforeEach(async () => {
    await addPlan(cycle.catalog())
    await cycle.addAccounts(3)
    cycle.at(RUN_MS)
    await run(KEY)
    await confirm(KEY)
  })

  it('counts late lines that wait for the next run', async () => {
    const mark = { uninvoiced: { since, former: null } }
    await cycle.catalog().lines.insertOne(usage('waiting', 1, mark) as never)
    expect(await audit()).toEqual({
      ...{ ok: true, waiting: 1, lost: [], skipped: [], leftOut: 0 },
    })
  })

  it('reports those that no invoice will have', async () => {
    const { lines, cycleparked } = cycle.catalog()
    const mark = { uninvoiced: { since, former: null } }
    await lines.insertMany([
      usage('unknown', 99, mark),
      usage('unmarked', 2),
      usage('skipped', 3, mark),
    ] as never[])
    await cycleparked.insertOne({
      ...{ _id: `${KEY}:3`, run: KEY, key: KEY, aid: 3, state: 'skipped', tries: 1 },
      ...{ reason: 'no plan', since, changed: since },
    })
    const report = await audit()
    expect(report).toMatchObject({
      ok: false,
      waiting: 1,
      lost: [
        { aid: 99, cycle: KEY, reason: 'late lines of an account that does not exist' },
        { aid: 2, cycle: KEY, amount: '3' },
      ],
      skipped: [{ aid: 3, cycle: KEY, reason: 'the account was left out of the run' }],
    })
    const text = uninvoicedLines(report, moneyFormat(826)).join('\n')
    expect(text).toContain('late lines for the next invoices: 1\n')
    expect(text).toMatch(/account 2: cycle 202606: on no invoice: recorded after .*: 3 GBP\n/)
  })
})
