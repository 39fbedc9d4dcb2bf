/** Events of the invoices of a cycle: confirmed, or parked. */

import { describe, expect, it } from 'vitest'
import { CycleError } from '../../../src/billing/cycle/compute.ts'
import { skipParked } from '../../../src/billing/run/parked.ts'
import type { ComputeAccount } from '../../../src/billing/run/process-page.ts'
import { retryParked } from '../../../src/billing/run/run-accounts.ts'
import { ACTOR } from '../../support/billing/books.ts'
import { computeSmall, cycleOf, KEY, useCycle } from '../../support/billing/cycle-fixture.ts'
import { ALL_TYPES, eventsOf, storeEventRules, typesOf } from '../../support/billing/money-rules.ts'
import { runReal } from '../../support/billing/real-cycle.ts'

const cycle = useCycle()
const EUR = { TOLLGATE_RATING_CURRENCY_CODE: '978' }
const rules = (money: readonly object[]) => storeEventRules(cycle.catalog(), { money })
const types = (aid: number) => typesOf(cycle.catalog(), aid)

/** Fails for account 2. */
const failing: ComputeAccount = (input) => {
  if (input.aid === 2) throw new CycleError(2, 'plan GOLD', 'is gone')
  return computeSmall(input)
}

describe('an invoice', () => {
  it('makes an event when it is confirmed, once, with its bill', async () => {
    await rules(ALL_TYPES)
    const { confirm } = await runReal(cycle, 10.5, EUR)
    expect(await types(1)).toEqual([])
    await confirm()
    await confirm()
    const bill = await cycle.catalog().bills.findOne({ invoice_id: 101 })
    expect(await eventsOf(cycle.catalog(), 1)).toMatchObject([
      {
        event_type: 'invoice_confirmed',
        ...{ before: 0, after: 10.5 },
        extra_params: {
          row: {
            ...{ type: 'inv', invoice_id: 101, billrun_key: KEY, amount: 10.5, currency: 'EUR' },
            due_date: Math.floor(Number(bill?.due_date) / 1000),
          },
        },
      },
    ])
  })

  it('makes none without a rule', async () => {
    const { confirm } = await runReal(cycle, 10.5, EUR)
    await confirm()
    expect(await cycle.catalog().events.countDocuments()).toBe(0)
  })
})

describe('an account that cannot be computed', () => {
  it('makes an event when it is parked, not when it fails once more', async () => {
    await rules(ALL_TYPES)
    await cycle.addAccounts(3)
    await cycle.run({ compute: failing })
    const row = { run: KEY, billrun_key: KEY, reason: 'account 2: plan GOLD: is gone' }
    expect(await eventsOf(cycle.catalog(), 2)).toMatchObject([
      { event_type: 'invoice_parked', based_on: 'monetary', extra_params: { aid: 2, sid: 0, row } },
    ])
    expect(await retryParked(cycle.deps(failing), cycleOf(), null)).toMatchObject({ failed: 1 })
    expect(await types(2)).toEqual(['invoice_parked'])
    expect(await types(1)).toEqual([])
  })

  it('makes another one when a later run parks it, at the same time of the clock', async () => {
    await rules([{ event_type: 'invoice_parked' }])
    await cycle.addAccounts(3)
    await cycle.run({ compute: failing })
    await cycle.run({ rerun: true })
    expect(await types(2)).toHaveLength(1)
    await cycle.run({ compute: failing, rerun: true })
    expect(await types(2)).toHaveLength(2)
    await skipParked(cycle.deps(), KEY, [2], ACTOR)
    await cycle.run({ compute: failing, rerun: true })
    expect(await types(2)).toHaveLength(3)
  })
})
