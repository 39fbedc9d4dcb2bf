/** Refunds through payment gateways, and charges of given amounts, on a real store. */
import { Decimal } from 'decimal.js'
import { beforeEach, describe, expect, it } from 'vitest'
import { askNow, handleDueCharges } from '../../../src/billing/charges/due.ts'
import { auditBooks } from '../../../src/cli/audit/books.ts'
import { NOW_MS } from '../../support/billing/charge-deps.ts'
import { useCharges } from '../../support/billing/charge-fixture.ts'
import { storeInvoice } from '../../support/billing/store-invoice.ts'
import { startFakeStripe } from '../../support/external/fake-stripe.ts'
import { useOpened } from '../../support/opened.ts'

const world = useCharges()
const stripe = useOpened(startFakeStripe)
beforeEach(() => {
  world.now = NOW_MS
  stripe().mode = 'succeeded'
  stripe().refundStatus = 'succeeded'
})

let aid = 100
const newAid = () => {
  aid += 1
  return aid
}

/** An invoice in favour of the customer. */
const creditNote = (
  aid: number,
  invoiceId: number,
  amount: string,
  dueDate = new Date(NOW_MS - 1000),
) => storeInvoice(world.catalog(), { aid, invoiceId, due: `-${amount}`, nowMs: world.now, dueDate })

/** An account that has paid invoices of these amounts by card. */
async function payer(...amounts: string[]): Promise<number> {
  const account = newAid()
  await world.account(account, 'completed')
  for (const [index, amount] of amounts.entries()) {
    await world.invoice(account, account * 10 + index, amount)
    await world.charge(account)
    world.now += 1000
  }
  return account
}

const creditLeft = async (invoiceId: number) => {
  const bill = await world.catalog().bills.findOne({ invoice_id: invoiceId })
  return [String(bill?.left), bill?.paid]
}
const refundsOf = (account: number) =>
  world
    .catalog()
    .gatewaycharges.find({ aid: account, refunds: { $exists: true } })
    .toArray()
const amounts = (charges: readonly { amount: unknown }[]) =>
  charges.map(({ amount }) => String(amount))

async function expectBooks() {
  expect((await auditBooks(world.catalog(), null)).differences).toEqual([])
}

describe('a refund', () => {
  it('pays credit back by the charge that brought the money', async () => {
    const account = await payer('30')
    await creditNote(account, account * 10 + 5, '12')
    const { charges, skipped } = await world.charge(account, { mode: 'refund', uf: { clerk: 'x' } })
    expect(skipped).toBeNull()
    expect(charges).toMatchObject([{ state: 'completed', refunds: { charge: expect.any(String) } }])
    expect(amounts(charges)).toEqual(['12'])
    expect(await creditLeft(account * 10 + 5)).toEqual(['0', '1'])
    const payment = await world.catalog().bills.findOne({ txid: charges[0]?.txid as string })
    expect(payment).toMatchObject({ dir: 'tc', pending: false, paid: '1', uf: { clerk: 'x' } })
    const [sold] = await world.catalog().gatewaycharges.find({ aid: account }).toArray()
    expect(charges[0]?.refunds).toEqual({ charge: sold?._id, reference: sold?.reference })
    expect((await world.charge(account, { mode: 'refund' })).skipped).toBe('no bills')
    await expectBooks()
  })

  it('does not wait for the due date of a credit note', async () => {
    const account = await payer('30')
    await creditNote(account, account * 10 + 5, '30', new Date(world.now + 14 * 86_400_000))
    const expected = { mode: 'refund', amount: new Decimal(30), isNamed: true } as const
    expect(amounts((await world.charge(account, expected)).charges)).toEqual(['30'])
    expect(await creditLeft(account * 10 + 5)).toEqual(['0', '1'])
    await expectBooks()
  })

  it('is never more than a charge has brought; the newest ones are refunded first', async () => {
    const account = await payer('10', '20')
    await creditNote(account, account * 10 + 5, '25')
    const { charges } = await world.charge(account, { mode: 'refund' })
    expect(amounts(charges).sort()).toEqual(['20', '5'])
    await creditNote(account, account * 10 + 6, '50')
    expect(amounts((await world.charge(account, { mode: 'refund' })).charges)).toEqual(['5'])
    expect(await creditLeft(account * 10 + 6)).toEqual(['45', '0'])
    expect((await world.charge(account, { mode: 'refund' })).skipped).toBe('no charge')
    await expectBooks()
  })

  it('of an amount, of selected bills, and one for each of several bills', async () => {
    const account = await payer('100')
    for (const [index, amount] of ['7', '8', '9'].entries()) {
      await creditNote(account, account * 10 + 5 + index, amount)
      world.now += 1000
    }
    const part = await world.charge(account, { mode: 'refund', amount: new Decimal(3) })
    expect(amounts(part.charges)).toEqual(['3'])
    expect(await creditLeft(account * 10 + 5)).toEqual(['4', '0'])
    const tooMuch = world.charge(account, { mode: 'refund', amount: new Decimal(22) })
    await expect(tooMuch).rejects.toThrow(
      `amount 22 EUR is bigger than the credit of account ${account}`,
    )
    const selection = { excludeInvoices: [account * 10 + 5] }
    const many = { mode: 'refund', payMode: 'multiple_payments', selection } as const
    expect(amounts((await world.charge(account, many)).charges).sort()).toEqual(['8', '9'])
    await expectBooks()
  })

  it('is not made while the account owes something, nor without a charge', async () => {
    const account = newAid()
    await world.account(account, 'completed')
    await creditNote(account, account * 10, '5')
    expect((await world.charge(account, { mode: 'refund' })).skipped).toBe('no charge')
    await world.invoice(account, account * 10 + 1, '9')
    expect((await world.charge(account, { mode: 'refund' })).skipped).toBe('no bills')
  })
})

describe('a refund at Stripe', () => {
  async function stripePayer(): Promise<number> {
    const account = newAid()
    const card = { name: 'stripe', card_token: 'pm_SECRET', customer_id: `cus_${account}` }
    await world.card(account, card)
    await world.invoice(account, account * 10, '30')
    await world.charge(account)
    await creditNote(account, account * 10 + 5, '12')
    return account
  }

  it('reserves the credit while it is pending, and is asked for by mode pending', async () => {
    const account = await stripePayer()
    stripe().refundStatus = 'pending'
    const { charges } = await world.charge(account, { mode: 'refund' })
    expect(charges[0]?.state).toBe('pending')
    expect(await creditLeft(account * 10 + 5)).toEqual(['0', '2'])
    expect((await world.charge(account, { mode: 'refund' })).skipped).toBe('no bills')
    for (const refund of stripe().refunds.values()) refund.status = 'succeeded'
    expect(await askNow(world.deps(), [account])).toBe(1)
    await handleDueCharges(world.deps(), new AbortController().signal)
    expect((await refundsOf(account)).map(({ state }) => state)).toEqual(['completed'])
    expect(await creditLeft(account * 10 + 5)).toEqual(['0', '1'])
    await expectBooks()
  })

  it('that fails is credit again; a run leaves it out until the account is named', async () => {
    const account = await stripePayer()
    stripe().refundStatus = 'failed'
    const { charges } = await world.charge(account, { mode: 'refund' })
    expect(charges).toMatchObject([{ state: 'rejected', due: null, code: 'refund_failed' }])
    expect(await creditLeft(account * 10 + 5)).toEqual(['12', '0'])
    stripe().refundStatus = 'succeeded'
    const run = await world.charge(account, { mode: 'refund' })
    expect(run.skipped).toBe('no bills')
    const named = await world.charge(account, { mode: 'refund', isNamed: true })
    expect(named.charges).toMatchObject([{ state: 'completed' }])
    await expectBooks()
  })

  it('without an answer is found by its key, and not made twice', async () => {
    const account = await stripePayer()
    stripe().mode = 'cut'
    const { charges } = await world.charge(account, { mode: 'refund' })
    expect(charges[0]?.state).toBe('unknown')
    stripe().mode = 'succeeded'
    const made = stripe().refunds.size
    world.now += 61_000
    await handleDueCharges(world.deps(), new AbortController().signal)
    expect((await refundsOf(account)).map(({ state }) => state)).toEqual(['completed'])
    expect(stripe().refunds.size).toBe(made)
    await expectBooks()
  })
})

describe('a charge of a given amount', () => {
  it('pays the oldest bills up to it; the rest becomes credit', async () => {
    const account = newAid()
    await world.account(account, 'completed')
    await world.invoice(account, account * 10, '10')
    await world.invoice(account, account * 10 + 1, '20')
    await world.charge(account, { amount: new Decimal(15) })
    expect(await world.left(account * 10)).toEqual(['0', '1'])
    expect(await world.left(account * 10 + 1)).toEqual(['15', '0'])
    const { charges } = await world.charge(account, { amount: new Decimal(25) })
    expect(await world.left(account * 10 + 1)).toEqual(['0', '1'])
    const payment = await world.catalog().bills.findOne({ txid: charges[0]?.txid as string })
    expect(String(payment?.left)).toBe('10')
    await expectBooks()
  })

  it('that is rejected is not repeated, as the amount was of that time', async () => {
    const account = newAid()
    await world.account(account, 'declined')
    await world.invoice(account, account * 10, '10')
    const { charges } = await world.charge(account, { amount: new Decimal(4) })
    expect(charges).toMatchObject([{ state: 'rejected', due: null }])
    expect(await world.left(account * 10)).toEqual(['10', '0'])
  })

  it('may be of another card', async () => {
    const account = newAid()
    await world.account(account, 'declined')
    const other = newAid()
    await world.account(other, 'completed')
    await world.invoice(account, account * 10, '10')
    const card = {
      gateway: 'sandbox',
      cardToken: `sbx_SECRET_${other}`,
      customerId: '',
      madeMs: NOW_MS,
    }
    const { charges } = await world.charge(account, { card })
    expect(charges).toMatchObject([{ state: 'completed', card: '' }])
  })
})
