/** Runs that charge a year read what earlier runs have charged for it. */
import { describe, expect, it } from 'vitest'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { FROM, TO, useCycle } from '../../support/billing/cycle-fixture.ts'

const cycle = useCycle()

async function storeYear(upfront: boolean): Promise<void> {
  await cycle.catalog().plans.insertOne({
    name: 'GOLD',
    from: FROM,
    to: TO,
    price: [{ from: 0, to: 'UNLIMITED', price: 365 }],
    recurrence: { frequency: 12, start: 1 },
    upfront,
    tax: [{ type: 'vat', taxation: 'no' }],
  } as never)
  await cycle.addAccounts(2)
}

/** Ends the first account's subscriber. */
async function endsAt(date: string): Promise<void> {
  const to = new Date(date)
  const set = { $set: { to, deactivation_date: to } }
  await cycle.catalog().subscribers.updateOne({ sid: 10_001 } as never, set as never)
}

async function run(...keys: string[]): Promise<void> {
  for (const key of keys) {
    cycle.at(Date.UTC(Number(key.slice(0, 4)), Number(key.slice(4)) - 1, 2))
    const done = await cycle.run({ key, compute: computeAccount })
    expect(done?.state).toBe('finished')
  }
}

async function written(aid: number): Promise<string[]> {
  const lines = await cycle.lines()
  return lines
    .filter((line) => line['aid'] === aid)
    .map((line) => `${line['billrun']} ${line['charge_op']} ${line['aprice']}`)
    .sort()
}

describe('a year of two accounts', () => {
  it('paid ahead: the one that ends is credited in its cycle, and not again', async () => {
    await storeYear(true)
    await run('202602', '202603')
    await endsAt('2026-03-11')
    await run('202604', '202605', '202606')
    expect(await written(1)).toEqual(['202602 charge 365', '202604 refund -296'])
    expect(await written(2)).toEqual(['202602 charge 365'])
  })

  it('in arrears: an end that is known late is charged by the next run', async () => {
    await storeYear(false)
    await run('202602', '202603', '202604')
    await endsAt('2026-02-11')
    await run('202605', '202606')
    expect(await written(1)).toEqual(['202605 charge 41'])
    expect(await written(2)).toEqual([])
  })
})
