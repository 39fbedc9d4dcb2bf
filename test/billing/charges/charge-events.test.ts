/** Events of charges through payment gateways. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { handleDueCharges } from '../../../src/billing/charges/due.ts'
import { NOW_MS } from '../../support/billing/charge-deps.ts'
import { useCharges } from '../../support/billing/charge-fixture.ts'
import { ALL_TYPES, eventsOf, storeEventRules, typesOf } from '../../support/billing/money-rules.ts'

const world = useCharges({ pending_minutes: 2 })
const DAY_MS = 86_400_000
const RULES = ALL_TYPES.filter(({ event_type: type }) => /^payment/.test(type))
beforeAll(() => storeEventRules(world.catalog(), { money: RULES }))
beforeEach(() => {
  world.now = NOW_MS
})

async function charged(aid: number, behaviour: Parameters<typeof world.account>[1]) {
  await world.account(aid, behaviour)
  await world.invoice(aid, aid * 10, '23.40')
  await world.charge(aid)
}

const later = async (ms: number) => {
  world.now = NOW_MS + ms
  await handleDueCharges(world.deps(), new AbortController().signal)
}

describe('a charge', () => {
  it('is pending until its answer, which completes it', async () => {
    await charged(101, 'completed')
    const [pending, completed] = await eventsOf(world.catalog(), 101)
    const row = { payment_gateway: 'sandbox', method: 'automatic', amount: 23.4, currency: 'EUR' }
    expect(pending).toMatchObject({ event_type: 'payment_pending', extra_params: { row } })
    expect(completed).toMatchObject({ event_type: 'payment_completed', extra_params: { row } })
  })

  it('that is declined is rejected', async () => {
    await charged(102, 'declined')
    expect(await typesOf(world.catalog(), 102)).toEqual(['payment_pending', 'payment_rejected'])
  })

  it('that is decided later is asked for, and completed once', async () => {
    await charged(103, 'pending')
    expect(await typesOf(world.catalog(), 103)).toEqual(['payment_pending'])
    await later(DAY_MS)
    await later(2 * DAY_MS)
    expect(await typesOf(world.catalog(), 103)).toEqual(['payment_pending', 'payment_completed'])
  })
})
