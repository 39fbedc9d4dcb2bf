/** Any sequence of operations keeps the books, compared with a model that knows sums only. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergeInstallments, splitBill } from '../../src/billing/agreements/agreements.ts'
import { splitOrder } from '../../src/billing/agreements/split-order.ts'
import { checkBooks, checkBooksAt } from '../../src/billing/audit/check-books.ts'
import { type Bill, isActive, isDebt, openAmount } from '../../src/billing/books/bill.ts'
import type { Posting } from '../../src/billing/books/journal.ts'
import { BillingError } from '../../src/billing/errors.ts'
import {
  canBeConfirmed,
  canBeUnconfirmed,
  confirmPayment,
  unconfirmPayment,
} from '../../src/billing/payments/confirm.ts'
import { isDeposit, useDeposit } from '../../src/billing/payments/operations.ts'
import { amountOfPayment, canBeTakenBack, takeBack } from '../../src/billing/payments/take-back.ts'
import { NOW_MS, RULES, TestBooks } from '../support/billing/books.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'

const OPERATIONS = 200
const ZONE = { timeZone: 'UTC', cycleDay: 1 }

type Kind =
  | 'invoice'
  | 'credit invoice'
  | 'pay'
  | 'automatic'
  | 'refund'
  | 'write off'
  | 'deposit'
  | 'use'
  | 'cancel'
  | 'reject'
  | 'deny'
  | 'confirm'
  | 'unconfirm'
  | 'split'
  | 'merge'

const KINDS: readonly Kind[] = [
  'invoice',
  'credit invoice',
  'pay',
  'automatic',
  'refund',
  'write off',
  'deposit',
  'use',
  'cancel',
  'reject',
  'deny',
  'confirm',
  'unconfirm',
  'split',
  'merge',
]

interface Step {
  readonly kind: Kind
  readonly cents: number
  readonly pick: number
}

/** In cents: what the customer owes in all, and what lies in unused deposits. */
interface Model {
  owed: number
  frozen: number
}

/** Records a new bill; returns by how many cents the customer owes more, null for other steps. */
function recordNew(account: TestBooks, { kind, cents }: Step): number | null {
  const amount = cents / 100
  switch (kind) {
    case 'invoice':
      account.invoice(amount, amount / 10)
      return cents
    case 'credit invoice':
      account.invoice(-amount)
      return -cents
    case 'pay':
    case 'automatic':
      account.pay(amount, { method: kind === 'pay' ? 'cash' : 'automatic' })
      return -cents
    case 'refund':
      account.pay(amount, { dir: 'tc' })
      return cents
    case 'write off':
      account.pay(amount, { method: 'write_off' })
      return -cents
    default:
      return null
  }
}

/** Applies a step to the books and to the model. */
function apply(account: TestBooks, model: Model, step: Step): void {
  const owed = recordNew(account, step)
  if (owed === null) changeOld(account, model, step)
  else model.owed += owed
}

function split(account: TestBooks, amount: number, pick: number): void {
  const request = { aid: account.aid, amount, installments_num: (pick % 4) + 1 }
  account.begin()
  const order = splitOrder(request, RULES, account.nowMs, ZONE)
  splitBill(account.books, order, { agreement: account.nowMs, txids: account.txids(5) }, 'UTC')
}

function merge(account: TestBooks, payments: readonly Bill[], pick: number): void {
  const agreements = payments.flatMap(({ fields }) =>
    fields.split_bill === true ? [(fields['payment_agreement'] as { id: number }).id] : [],
  )
  const agreement = agreements[pick % Math.max(1, agreements.length)]
  if (agreement === undefined) return
  const order = { agreement, dueDate: null, firstChargeDate: null }
  mergeInstallments(account.begin(), order, account.txids(2))
}

function changeOld(account: TestBooks, model: Model, { kind, cents, pick }: Step): void {
  const amount = cents / 100
  const payments = [...account.books.bills()].filter(({ fields }) => fields.type === 'rec')
  const chosen = payments[pick % Math.max(1, payments.length)]
  const again = (): Bill | null => {
    const { txid = '' } = chosen?.fields ?? {}
    return account.begin().bill({ type: 'rec', id: txid }) ?? null
  }
  switch (kind) {
    case 'deposit':
      account.pay(amount, { deposit: true })
      model.frozen += cents
      return
    case 'use': {
      const bill = again()
      if (bill === null || !isDeposit(bill)) return
      const used = Math.round(amountOfPayment(bill).toNumber() * 100)
      if (!useDeposit(account.books, bill, account.books.now)) return
      model.frozen -= used
      model.owed -= used
      return
    }
    case 'confirm': {
      const bill = again()
      if (bill !== null && canBeConfirmed(bill)) confirmPayment(account.books, bill)
      return
    }
    case 'unconfirm': {
      const bill = again()
      if (bill !== null && canBeUnconfirmed(bill)) unconfirmPayment(account.books, bill)
      return
    }
    case 'split':
      split(account, amount, pick)
      return
    case 'merge':
      merge(account, payments, pick)
      return
    case 'cancel':
    case 'reject':
    case 'deny': {
      const bill = again()
      if (bill === null || !canBeTakenBack(account.books, bill)) return
      const cents = Math.round(amountOfPayment(bill).toNumber() * 100)
      if (bill.fields.deposit === true && bill.due.isZero()) model.frozen -= cents
      else model.owed -= isDebt(bill) ? cents : -cents
      takeBack(account.books, bill, kind, { txid: account.txid() })
    }
  }
}

function check(account: TestBooks, model: Model, postings: readonly Posting[]): void {
  const bills = [...account.books.bills()]
  const { totals, number, aid } = account.books
  expect(checkBooks({ aid, bills, postings, totals, number })).toEqual([])
  expect(Math.round(totals.receivable.plus(totals.credit).toNumber() * 100)).toBe(model.owed)
  expect(Math.round(totals.deposit.toNumber() * -100)).toBe(model.frozen)
  for (const bill of bills) {
    expect(openAmount(bill).isNegative()).toBe(false)
    const { method } = bill.fields
    if (method === 'write_off' && isActive(bill)) expect(openAmount(bill).isZero()).toBe(true)
  }
  const [debts, credits] = [account.books.openDebts(), account.books.openCredits()]
  expect(debts.length === 0 || credits.length === 0).toBe(true)
}

describe('books of an account', () => {
  it(`agree after any ${OPERATIONS} operations, and at any time before`, () => {
    const step = fc.record({
      kind: fc.constantFrom(...KINDS),
      cents: fc.integer({ min: 1, max: 5_000 }),
      pick: fc.nat({ max: 1_000 }),
    })
    const steps = fc.array(step, { minLength: OPERATIONS, maxLength: OPERATIONS })
    fc.assert(
      fc.property(steps, (all) => {
        const account = new TestBooks()
        const postings: Posting[] = []
        let model: Model = { owed: 0, frozen: 0 }
        for (const each of all) {
          const before = account.books
          const tried = { ...model }
          try {
            apply(account, tried, each)
          } catch (error) {
            if (!(error instanceof BillingError)) throw error
            // Refused: nothing is written.
            account.books = before
            continue
          }
          model = tried
          if (account.books !== before) postings.push(...account.books.postings)
        }
        check(account, model, postings)
        const bills = [...account.books.bills()]
        for (const minutes of [0, 1, 2, 3]) {
          expect(checkBooksAt({ bills, postings }, new Date(NOW_MS + minutes * 60_000))).toEqual([])
        }
      }),
      { ...propertyRuns(10), endOnFailure: true },
    )
  })
})
