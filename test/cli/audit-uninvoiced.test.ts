/** `tollgate audit`: lines that no invoice has. */
import { beforeAll, describe, expect, it } from 'vitest'
import { addAccounts, KEY } from '../support/billing/cycle-fixture.ts'
import { addPlan } from '../support/billing/late-usage.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

describe('tollgate audit', () => {
  const product = useTollgate()
  const since = new Date('2026-06-05')
  const usage = (stamp: string, aid: number, more: object = {}) => ({
    ...{ stamp, v: 1, aid, sid: 10_000 + aid, type: 'realtime', source: 'realtime', plan: 'GOLD' },
    ...{ billrun: KEY, urt: new Date('2026-05-20'), last_urt: new Date('2026-05-20') },
    ...{ usaget: 'data', arate_key: 'DATA', usagev: 1, aprice: 3, final_charge: 3, payments: [] },
    exact: { aprice: '3', tax: '0', final_charge: '3' },
    tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
    ...more,
  })
  const audit = async () => {
    const { code, stdout } = await product.run('audit', '--json')
    const { uninvoiced } = JSON.parse(stdout) as { uninvoiced: Record<string, unknown> }
    return { code, uninvoiced }
  }

  beforeAll(async () => {
    const catalog = product.catalog()
    await catalog.ensureIndexes()
    await addPlan(catalog)
    await addAccounts(catalog, 3)
    await product.run('cycle', 'run', '--key', KEY, '--threads', '1')
    await product.run('cycle', 'confirm', '--key', KEY)
  })

  it('counts late lines that wait for the next run', async () => {
    const mark = { uninvoiced: { since, former: null } }
    await product.catalog().lines.insertOne(usage('waiting', 1, mark) as never)
    expect((await audit()).uninvoiced).toEqual({
      ...{ ok: true, waiting: 1, lost: [], skipped: [], leftOut: 0 },
    })
  })

  it('reports those that no invoice will have', async () => {
    const { lines, cycleparked } = product.catalog()
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
    const { code, uninvoiced } = await audit()
    expect(code).toBe(1)
    expect(uninvoiced).toMatchObject({
      ok: false,
      waiting: 2,
      lost: [
        { aid: 99, cycle: KEY, reason: 'late lines of an account that does not exist' },
        { aid: 2, cycle: KEY, amount: '3' },
      ],
      skipped: [{ aid: 3, cycle: KEY, reason: 'the account was left out of the run' }],
    })
    const { stdout } = await product.run('audit')
    expect(stdout).toContain('late lines for the next invoices: 2\n')
    expect(stdout).toMatch(/account 2: cycle 202606: on no invoice: recorded after .*: 3\n/)
  })
})
