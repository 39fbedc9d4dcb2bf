/** Events of charges through payment gateways. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { handleDueCharges } from '../../../src/billing/charges/due.ts'
import { adjustPayments } from '../../../src/billing/payments/adjustments.ts'
import { ACTOR, RULES } from '../../support/billing/books.ts'
import { NOW_MS } from '../../support/billing/charge-deps.ts'
import { useCharges } from '../../support/billing/charge-fixture.ts'
import { ALL_TYPES, eventsOf, storeEventRules, typesOf } from '../../support/billing/money-rules.ts'

const world = useCharges({ pending_minutes: 2 })
const DAY_MS = 86_400_000
const PAYMENTS = ALL_TYPES.filter(({ event_type: type }) => /^payment/.test(type))
beforeAll(() => storeEventRules(world.catalog(), { money: PAYMENTS }))
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

  it('that an operator has rejected, but whose money arrives, is completed', async () => {
    await charged(104, 'pending')
    const [payment] = await world.catalog().bills.find({ aid: 104, type: 'rec' }).toArray()
    await world.catalog().transaction('reject', (session) => {
      const writer = { catalog: world.catalog(), session, currencyCode: 978 }
      const adjustments = [{ id: payment?.txid, action: 'reject' }]
      return adjustPayments({ ...writer, actor: ACTOR, nowMs: world.now }, adjustments, RULES)
    })
    await later(DAY_MS)
    const made = await eventsOf(world.catalog(), 104)
    expect(made.map(({ event_type: type, before, after }) => [type, before, after])).toEqual([
      ['payment_pending', 23.4, 0],
      ['payment_rejected', 0, 23.4],
      ['payment_completed', 23.4, 0],
    ])
  })

  it('that is decided later is asked for, and completed once', async () => {
    await charged(103, 'pending')
    expect(await typesOf(world.catalog(), 103)).toEqual(['payment_pending'])
    await later(DAY_MS)
    await later(2 * DAY_MS)
    expect(await typesOf(world.catalog(), 103)).toEqual(['payment_pending', 'payment_completed'])
  })
})
