/** Operations on the books of stored accounts, and a model of them that knows sums only. */
import { agreeInstallments, mergeAgreement } from '../../../src/billing/agreements/operations.ts'
import { splitOrder } from '../../../src/billing/agreements/split-order.ts'
import type { BooksWriter } from '../../../src/billing/books/store-books.ts'
import { BillingError } from '../../../src/billing/errors.ts'
import { storeInvoiceBill } from '../../../src/billing/invoices/invoice-bill.ts'
import { MoneyGroup } from '../../../src/billing/money-group.ts'
import { adjustPayments } from '../../../src/billing/payments/adjustments.ts'
import { paymentMethodOf } from '../../../src/billing/payments/methods.ts'
import {
  cancelPayments,
  recordPayments,
  useDeposits,
} from '../../../src/billing/payments/operations.ts'
import { paymentOrder } from '../../../src/billing/payments/payment-order.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import type { Random } from '../system/random.ts'
import { ACTOR, NOW_MS, RULES } from './books.ts'

/** In cents. */
export interface ModelAccount {
  readonly aid: number
  /** The total debt of the customer; negative if the customer is owed money. */
  owed: number
  /** In deposits that are not used. */
  frozen: number
}

interface ModelPayment {
  readonly txid: string
  readonly account: ModelAccount
  /** By how much it has changed what the customer owes. */
  owed: number
  frozen: number
  isTakenBack: boolean
}

const ZONE = { timeZone: 'UTC', cycleDay: 1 }
const TOGETHER_MAX = 5
const NEW_KINDS = ['pay', 'pay', 'automatic', 'refund', 'write off', 'deposit'] as const
type NewKind = (typeof NEW_KINDS)[number]
const TAKEN_BACK = ['cancel', 'reject', 'deny', 'adjust'] as const

/** Accounts with random operations; refused ones must not change anything. */
export class StoredBooksModel {
  readonly accounts: readonly ModelAccount[]
  readonly #catalog: Catalog
  readonly #group: MoneyGroup
  readonly #random: Random
  readonly #payments: ModelPayment[] = []
  #nowMs = NOW_MS
  #invoice: number

  constructor(catalog: Catalog, random: Random, firstAid: number) {
    this.#catalog = catalog
    this.#group = new MoneyGroup(catalog)
    this.#random = random
    this.#invoice = firstAid * 1_000
    this.accounts = [0, 1, 2].map((index) => ({ aid: firstAid + index, owed: 0, frozen: 0 }))
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** One operation, or several payments at once; returns how many. */
  async step(): Promise<number> {
    this.#nowMs += 1_000
    switch (this.#random.below(10)) {
      case 0:
      case 1:
        await this.#storeInvoice()
        return 1
      case 2:
        await this.#useDeposit()
        return 1
      case 3:
      case 4:
        await this.#takeBack(this.#pick(TAKEN_BACK))
        return 1
      case 5:
        await this.#confirm(this.#pick(['mark_paid', 'unconfirm']))
        return 1
      case 6:
        await this.#split()
        return 1
      case 7:
        await this.#merge()
        return 1
      default: {
        const count = this.#random.between(1, TOGETHER_MAX)
        await Promise.all(Array.from({ length: count }, () => this.#record(this.#pick(NEW_KINDS))))
        return count
      }
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)] as T
  }

  #cents(): number {
    return this.#random.between(1, 5_000)
  }

  /** Null if it is refused. */
  async #write<T>(act: (writer: BooksWriter) => Promise<T>): Promise<T | null> {
    const catalog = this.#catalog
    const cause = { currencyCode: 978, actor: ACTOR, nowMs: this.#nowMs }
    const operation = catalog.transaction('test', (session) => act({ catalog, session, ...cause }))
    return operation.catch(nullIfRefused)
  }

  async #storeInvoice(): Promise<void> {
    const account = this.#pick(this.accounts)
    const cents = this.#cents() * (this.#random.below(4) === 0 ? -1 : 1)
    const due = new Exact(cents).div(100)
    this.#invoice += 1
    const invoice = {
      aid: account.aid,
      invoiceId: this.#invoice,
      billrunKey: '202601',
      due,
      beforeTax: due.times('0.8'),
      taxes: { VAT: due.times('0.2') },
      dueDate: new Date(this.#nowMs),
    }
    await this.#write((writer) => storeInvoiceBill(writer, invoice))
    account.owed += cents
  }

  /** In a group with those that run at the same time. */
  async #record(kind: NewKind): Promise<void> {
    const account = this.#pick(this.accounts)
    const cents = this.#cents()
    const item = { aid: account.aid, amount: cents / 100, dir: kind === 'refund' ? 'tc' : 'fc' }
    const method = kind === 'write off' ? 'write_off' : kind === 'automatic' ? 'automatic' : 'cash'
    const forced = kind === 'deposit' ? ({ isDeposit: true } as const) : {}
    const order = paymentOrder(item, paymentMethodOf(method), RULES, forced)
    const catalog = this.#catalog
    const cause = { currencyCode: 978, actor: ACTOR, nowMs: this.#nowMs }
    const txids = await this.#group
      .run({
        what: 'test',
        aids: [account.aid],
        write: (session) => recordPayments({ catalog, session, ...cause }, [order]),
      })
      .catch(nullIfRefused)
    const [txid] = txids ?? []
    if (txid === undefined) return
    const owed = kind === 'deposit' ? 0 : kind === 'refund' ? cents : -cents
    const frozen = kind === 'deposit' ? cents : 0
    account.owed += owed
    account.frozen += frozen
    this.#payments.push({ txid, account, owed, frozen, isTakenBack: false })
  }

  async #useDeposit(): Promise<void> {
    const deposit = this.#pick(this.#payments.filter(({ frozen }) => frozen > 0))
    if (deposit === undefined) return
    const used = await this.#write((writer) => useDeposits(writer, [deposit.txid], null))
    if (deposit.isTakenBack !== (used === null)) throw new Error(`deposit ${deposit.txid}`)
    if (used === null) return
    deposit.account.owed -= deposit.frozen
    deposit.account.frozen -= deposit.frozen
    deposit.owed = -deposit.frozen
    deposit.frozen = 0
  }

  async #takeBack(kind: (typeof TAKEN_BACK)[number]): Promise<void> {
    const payment = this.#pick(this.#payments)
    if (payment === undefined) return
    const { txid, account } = payment
    const cents = this.#random.below(3) * 100
    const done = await this.#write(async (writer) => {
      if (kind === 'cancel') {
        const options = { ignoreErrors: false, userFields: [], digits: 2 }
        const { succeeded } = await cancelPayments(writer, [{ txid }], options)
        return succeeded.length === 1 ? [] : null
      }
      const change =
        kind === 'adjust' ? { method: 'credit', amount: cents / 100 } : { action: kind }
      const { unsaved } = await adjustPayments(writer, [{ id: txid, ...change }], RULES)
      return unsaved.length === 0 ? [] : null
    })
    if (done === null) return
    if (payment.isTakenBack) throw new Error(`${txid} was taken back twice`)
    payment.isTakenBack = true
    account.owed -= payment.owed
    account.frozen -= payment.frozen
    if (kind !== 'adjust' || cents === 0) return
    const owed = payment.owed > 0 ? cents : -cents
    account.owed += owed
    const next = await this.#catalog.bills.findOne(
      { aid: account.aid, correction: true },
      { sort: { txid: -1 } },
    )
    const { txid: corrected = '' } = next ?? {}
    this.#payments.push({ txid: corrected, account, owed, frozen: 0, isTakenBack: false })
  }

  async #confirm(action: 'mark_paid' | 'unconfirm'): Promise<void> {
    const payment = this.#pick(this.#payments)
    if (payment === undefined) return
    await this.#write((writer) => adjustPayments(writer, [{ id: payment.txid, action }], RULES))
  }

  async #split(): Promise<void> {
    const { aid } = this.#pick(this.accounts)
    const request = {
      aid,
      amount: this.#cents() / 100,
      installments_num: this.#random.between(1, 4),
    }
    await this.#write(async (writer) => {
      const order = splitOrder(request, RULES, this.#nowMs, ZONE)
      await agreeInstallments(writer, order, 'UTC')
      return []
    })
  }

  async #merge(): Promise<void> {
    const { aid } = this.#pick(this.accounts)
    const filter = { aid, split_bill: true, paid: '0' } as const
    const installment = await this.#catalog.bills.findOne(filter)
    if (installment === null) return
    const { id } = installment['payment_agreement'] as { id: number }
    const order = { agreement: id, dueDate: null, firstChargeDate: null }
    await this.#write((writer) => mergeAgreement(writer, aid, order))
  }
}

function nullIfRefused(error: unknown): null {
  if (error instanceof BillingError) return null
  throw error
}
