/** Charges of accounts on real stores: states, bills, concurrency and dead processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { handleDueCharges } from '../../../src/billing/charges/due.ts'
import { STORED_CUSTOMERS } from '../../../src/billing/customer-lookup.ts'
import type { GatewayChargeDocument } from '../../../src/catalog/records/money/payment-documents.ts'
import type { SandboxBehaviour } from '../../../src/external/payment/sandbox/cards.ts'
import { DAY_MS, NOW_MS } from '../../support/billing/charge-deps.ts'
import { useCharges } from '../../support/billing/charge-fixture.ts'
import { bundled } from '../../support/bundle.ts'
import { type FakeStripe, startFakeStripe } from '../../support/external/fake-stripe.ts'

const MINUTE_MS = 60_000
const world = useCharges({ slow_seconds: 60, pending_minutes: 2 })
beforeEach(() => {
  world.now = NOW_MS
})

let aid = 100
const newAid = () => {
  aid += 1
  return aid
}

/** An account with a card of the sandbox, and invoices of these amounts. */
async function payer(behaviour: SandboxBehaviour, ...amounts: string[]): Promise<number> {
  const account = newAid()
  await world.account(account, behaviour)
  for (const [index, amount] of amounts.entries()) {
    await world.invoice(account, account * 10 + index, amount)
  }
  return account
}

const later = async (ms: number, deps = world.deps()) => {
  world.now = NOW_MS + ms
  return handleDueCharges(deps, new AbortController().signal)
}

const chargesOf = (account: number): Promise<GatewayChargeDocument[]> =>
  world.catalog().gatewaycharges.find({ aid: account }).sort({ created: 1 }).toArray()

const states = async (account: number) => (await chargesOf(account)).map(({ state }) => state)

describe('a charge of an account', () => {
  it('pays all its bills with one payment, which is confirmed', async () => {
    const account = await payer('completed', '23.40', '46.80')
    const { charges, skipped } = await world.charge(account)
    expect(skipped).toBeNull()
    expect(charges.map(({ state, amount }) => [state, String(amount)])).toEqual([
      ['completed', '70.2'],
    ])
    expect(await world.left(account * 10)).toEqual(['0', '1'])
    const payment = await world.catalog().bills.findOne({ txid: charges[0]?.txid as string })
    expect(payment).toMatchObject({
      method: 'automatic',
      pending: false,
      waiting_for_confirmation: false,
      payment_gateway: 'sandbox',
      vendor_response: { name: 'sandbox', status: '000' },
    })
  })

  it('takes the card that the customer system has for it, as it was sent', async () => {
    const account = await payer('completed')
    await world.catalog().subscribers.deleteMany({ aid: account } as never)
    await world.invoice(account, account * 10, '5')
    const active = { name: 'sandbox', card_token: `sbx_SECRET_${account}` }
    const found = (fields: object) => async () => new Map([[account, fields as never]])
    const deps = (fields: object) =>
      world.deps({ lookup: { ...STORED_CUSTOMERS, accounts: found(fields) } })
    expect((await world.charge(account, {}, deps({}))).skipped).toBe('no card')
    const { charges } = await world.charge(account, {}, deps({ payment_gateway: { active } }))
    expect(charges.map(({ state }) => state)).toEqual(['completed'])
  })

  it('makes one payment per bill if told so', async () => {
    const account = await payer('completed', '1', '2')
    const { charges } = await world.charge(account, { payMode: 'multiple_payments' })
    expect(charges.map(({ amount }) => String(amount)).sort()).toEqual(['1', '2'])
    expect(await world.charged(account)).toBe(2)
  })

  it('restricts the bills by the selection', async () => {
    const account = await payer('completed', '1', '2')
    const selection = { invoices: [account * 10 + 1] }
    const { charges } = await world.charge(account, { selection })
    expect(charges.map(({ amount }) => String(amount))).toEqual(['2'])
    const none = await world.charge(account, { selection: { billrunKey: '202501' } })
    expect(none.skipped).toBe('no bills')
  })

  it('skips accounts without a card and without bills', async () => {
    const account = newAid()
    await world.invoice(account, account * 10, '5')
    expect((await world.charge(account)).skipped).toBe('no card')
    const other = await payer('completed')
    expect((await world.charge(other)).skipped).toBe('no bills')
  })

  it('reserves the bills while it is pending, and completes later', async () => {
    const account = await payer('pending', '23.40')
    expect((await world.charge(account)).charges[0]?.state).toBe('pending')
    expect(await world.left(account * 10)).toEqual(['0', '2'])
    expect((await world.charge(account, { isNamed: true })).skipped).toBe('no bills')
    await later(MINUTE_MS)
    expect(await states(account)).toEqual(['pending'])
    await later(5 * MINUTE_MS)
    expect(await states(account)).toEqual(['completed'])
    expect(await world.left(account * 10)).toEqual(['0', '1'])
    expect(await world.charged(account)).toBe(1)
  })

  it('opens the bills again when it is rejected, and repeats after 3, 5 and 7 days', async () => {
    const account = await payer('declined', '23.40')
    await world.charge(account)
    expect(await world.left(account * 10)).toEqual(['23.4', '0'])
    expect((await world.charge(account)).skipped).toBe('no bills')
    for (const [index, day] of [3, 5, 7].entries()) {
      await later(day * DAY_MS - 1)
      expect((await chargesOf(account)).length).toBe(index + 1)
      await later(day * DAY_MS)
      expect((await chargesOf(account)).length).toBe(index + 2)
    }
    await later(30 * DAY_MS)
    const all = await chargesOf(account)
    expect(all.map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, 'rejected'],
      [2, 'rejected'],
      [3, 'rejected'],
      [4, 'rejected'],
    ])
    expect(new Set(all.map(({ first }) => first)).size).toBe(1)
  })

  it('is not repeated after a final rejection, but on request of the operator', async () => {
    const account = await payer('expired', '5')
    await world.charge(account)
    await later(30 * DAY_MS)
    expect(await states(account)).toEqual(['rejected'])
    expect((await world.charge(account)).skipped).toBe('no bills')
    expect((await world.charge(account, { isNamed: true })).charges.length).toBe(1)
  })

  it('is not repeated when the bill was paid otherwise', async () => {
    const account = await payer('declined', '5')
    await world.charge(account)
    await world.catalog().bills.updateMany({ aid: account }, { $set: { paid: '1' } })
    await later(3 * DAY_MS)
    const all = await chargesOf(account)
    expect(all.map(({ state, due }) => [state, due])).toEqual([['rejected', null]])
  })
})

describe('a gateway that does not answer in time', () => {
  it('leaves the charge unknown; it is asked for and not repeated', async () => {
    const account = await payer('slow', '23.40')
    const { charges } = await world.charge(account)
    expect(charges[0]).toMatchObject({ state: 'unknown', asked: 0 })
    expect(await world.left(account * 10)).toEqual(['0', '2'])
    expect((await world.charge(account, { isNamed: true })).skipped).toBe('no bills')
    await later(MINUTE_MS - 1)
    expect(await states(account)).toEqual(['unknown'])
    await later(MINUTE_MS)
    expect(await states(account)).toEqual(['completed'])
    expect(await world.charged(account)).toBe(1)
  })

  it('and never received the charge: it is rejected after an hour and repeated', async () => {
    const account = await payer('lost', '5')
    await world.charge(account)
    await later(MINUTE_MS)
    await later(5 * MINUTE_MS)
    expect(await states(account)).toEqual(['unknown'])
    await later(60 * MINUTE_MS)
    expect((await chargesOf(account))[0]).toMatchObject({ state: 'rejected', code: 'not_received' })
    expect(await world.left(account * 10)).toEqual(['5', '0'])
  })

  it('for 7 days: the charge becomes a task, and the bill stays reserved', async () => {
    const account = await payer('slow', '5')
    await world.charge(account)
    const deps = world.deps()
    const silent = { ...deps, gateways: { ...deps.gateways, get: async () => null } }
    for (const ms of [1, 5, 60].map((minutes) => minutes * MINUTE_MS)) await later(ms, silent)
    for (const day of [1, 2, 3, 4, 5, 6, 7]) await later(day * DAY_MS, silent)
    const [charge] = await chargesOf(account)
    expect(charge).toMatchObject({ state: 'unknown', asked: 10, due: null })
    expect(charge?.task).toEqual(new Date(NOW_MS + 7 * DAY_MS))
    expect(await world.left(account * 10)).toEqual(['0', '2'])
  })
})

describe('several processes', () => {
  it('that charge the same account at once charge each bill once', async () => {
    const account = await payer('completed')
    for (let index = 0; index < 3; index += 1) {
      await world.invoice(account, account * 10 + index, '10')
    }
    const runs = Array.from({ length: 8 }, () => world.charge(account))
    const results = await Promise.all(runs)
    expect(results.flatMap(({ charges }) => charges).length).toBe(1)
    expect(await world.charged(account)).toBe(1)
  })

  it('that handle what is due at once repeat a charge once', async () => {
    const account = await payer('declined', '10')
    await world.charge(account)
    await Promise.all(Array.from({ length: 4 }, () => later(3 * DAY_MS)))
    expect((await chargesOf(account)).map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(await world.charged(account)).toBe(2)
  })
})

describe('a process killed between the request and the answer', () => {
  let stripe: FakeStripe
  let program: string
  beforeAll(async () => {
    stripe = await startFakeStripe()
    program = fileURLToPath(await bundled('test/support/billing/charge-child.ts'))
  })
  afterAll(() => stripe.close())

  const start = (account: number): ChildProcess => {
    const { url, database } = world.mongo()
    const args = [program, url, database, stripe.address, String(account)]
    return spawn(process.execPath, args, { stdio: 'inherit' })
  }
  const exit = (child: ChildProcess) => new Promise((resolve) => child.once('exit', resolve))

  it('leaves a charge that is asked for, and never made twice', async () => {
    const account = newAid()
    await world.card(account, { name: 'stripe', card_token: 'pm_SECRET', customer_id: 'cus_9' })
    await world.invoice(account, account * 10, '23.40')
    stripe.mode = 'hang'
    const child = start(account)
    await expect.poll(() => stripe.intents.size).toBe(1)
    child.kill('SIGKILL')
    await exit(child)
    expect(await states(account)).toEqual(['sent'])
    // Another run, as after a restart, finds the bill reserved.
    const deps = world.deps()
    expect((await world.charge(account, { isNamed: true })).skipped).toBe('no bills')
    stripe.mode = 'succeeded'
    await later(MINUTE_MS, deps)
    expect(await states(account)).toEqual(['completed'])
    expect(stripe.intents.size).toBe(1)
    expect(stripe.requests.filter(({ method }) => method === 'POST').length).toBe(1)
    expect(await world.left(account * 10)).toEqual(['0', '1'])
  })
})
