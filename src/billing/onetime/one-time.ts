/** An invoice outside of cycles, from lines that were prepared as credits. */

import { type Actor, plainActor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { Exact, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { OutboxDocument } from '../../catalog/records/outbox-document.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import { BILLRUN } from '../../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import { about } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { sumOf } from '../amount.ts'
import type { LastKeys } from '../credit/credit-data.ts'
import { insertCredits } from '../credit/insert-credits.ts'
import { currencyDigits } from '../currency.ts'
import { immediateKeyAt } from '../cycle/cycle-key.ts'
import { type InvoicedSubscriber, invoiceDocument, withBalance } from '../cycle/invoice.ts'
import { BillingError } from '../errors.ts'
import { type Adjustment, storeInvoiceBill } from '../invoices/invoice-bill.ts'
import { invoicePartsOf } from '../invoices/stored-invoice.ts'
import { type InvoiceSeries, nextInvoiceIds } from '../numbers.ts'
import type { Customers } from '../run/account-source.ts'
import { billFieldsOf } from '../run/confirm.ts'
import { dueDatesOf } from '../run/due-dates.ts'
import { enqueueMail } from '../run/invoice-mail.ts'
import { readSeller } from '../run/run-data.ts'
import { currentBalances } from '../statements/balances.ts'
import { adjustmentsOf, type RequestedAdjustment } from './credit-notes.ts'

export interface OneTimeOrder {
  readonly aid: number
  /** The account at that time, with its subscribers. */
  readonly customers: Customers
  /** Time of the invoice, epoch ms: its key is the second. */
  readonly atMs: number
  /** Their cycle is set here. */
  readonly lines: readonly CreditLineDocument[]
  readonly lastKeys: LastKeys
  /** By the sign of the total if null. */
  readonly type: 'regular' | 'refund' | null
  /** Whether it becomes a bill; otherwise it is a document only. */
  readonly isBilled: boolean
  /** Whether the bill is charged at once: it may be collected from now on. */
  readonly isCharged: boolean
  readonly adjusts: readonly RequestedAdjustment[]
  readonly fields: Fields
  readonly sendsEmail: boolean
  readonly reason: string | null
}

export interface OneTimeDeps {
  readonly catalog: Catalog
  readonly config: Config
  readonly actor: Actor
  readonly nowMs: number
}

export interface StoredOneTime {
  readonly invoice: InvoiceDocument & { readonly invoice_id: number }
  readonly mails: readonly OutboxDocument[]
}

/** The document that would be stored, without a number; nothing is written. */
export async function previewOneTime(
  deps: OneTimeDeps,
  order: OneTimeOrder,
): Promise<InvoiceDocument> {
  const key = immediateKeyAt(order.atMs, deps.config.rating.timeZone)
  return documentOf(deps, { ...order, lines: linesIn(order.lines, key) }, key)
}

/** Rejects with `BillingError`, or the errors of the transaction. */
export async function storeOneTime(
  deps: OneTimeDeps,
  session: ClientSession,
  order: OneTimeOrder,
): Promise<StoredOneTime> {
  const { catalog, nowMs } = deps
  const { aid } = order
  const { key, atMs } = await freeKey(deps, order)
  const lines = linesIn(order.lines, key)
  await insertCredits(deps, session, { lines, lastKeys: order.lastKeys })
  const document = await documentOf(deps, { ...order, atMs, lines }, key)
  const adjusts = await adjustmentsFor(deps, session, order, document)
  const noted = adjusts.length === 0 ? document : withTotal(document, adjusts)
  const { due } = invoicePartsOf(noted)
  const [invoiceId = 0] = await nextInvoiceIds({ catalog, session }, seriesOf(order, due), 1)
  const { value } = await readCategory(catalog, 'billrun')
  const now = new Date(nowMs)
  const zone = deps.config.rating.timeZone
  const usual = dueDatesOf(noted, now, BILLRUN.read(value), zone)
  // In the past when it is charged.
  const dates = order.isCharged ? { ...usual, notBefore: new Date(nowMs - 1) } : usual
  const stored = {
    ...noted,
    ...order.fields,
    invoice_id: invoiceId,
    due_date: dates.dueDate,
    charge: { not_before: dates.notBefore },
    billed: order.isBilled ? 1 : 2,
    confirmation_time: now,
    ...(adjusts.length > 0 && {
      adjusts: adjusts.map(({ invoiceId: id, amount }) => {
        return { invoice_id: id, amount: storedAmount(amount) }
      }),
    }),
  }
  await catalog.billrun.insertOne(stored as never, { session })
  if (!order.isBilled) return { invoice: stored, mails: [] }
  const { actor, reason } = { actor: plainActor(deps.actor), reason: order.reason }
  const { currencyCode } = deps.config.rating
  const cause = { nowMs, actor, ...(reason !== null && { reason }) }
  const writer = { catalog, session, currencyCode, ...cause }
  await storeInvoiceBill(writer, {
    ...invoicePartsOf(noted),
    aid,
    invoiceId,
    billrunKey: key,
    urt: new Date(atMs),
    ...dates,
    adjusts,
    fields: billFieldsOf(noted),
  })
  return {
    invoice: stored,
    mails: order.sendsEmail ? enqueueMail(deps.config, session, stored) : [],
  }
}

/** Two invoices of an account in one second: the later one gets the next second. */
async function freeKey(
  { catalog, config }: OneTimeDeps,
  { aid, atMs }: OneTimeOrder,
): Promise<{ key: string; atMs: number }> {
  for (let second = 0; ; second += 1) {
    const at = atMs + second * 1000
    const key = immediateKeyAt(at, config.rating.timeZone)
    const found = await catalog.billrun.findOne(
      { aid, billrun_key: key },
      { projection: { _id: 1 } },
    )
    if (found === null) return { key, atMs: at }
  }
}

function linesIn(lines: readonly CreditLineDocument[], key: string): CreditLineDocument[] {
  return lines.map((line) => ({ ...line, billrun: key, onetime_invoice: true }))
}

function seriesOf({ type }: OneTimeOrder, due: Exact): InvoiceSeries {
  if (type !== null) return type === 'refund' ? 'refund' : 'immediate'
  return due.isNegative() && !due.isZero() ? 'refund' : 'immediate'
}

async function adjustmentsFor(
  { catalog, config }: OneTimeDeps,
  session: ClientSession,
  { aid, adjusts, lines }: OneTimeOrder,
  document: InvoiceDocument,
): Promise<Adjustment[]> {
  if (adjusts.length === 0) return []
  const { due } = invoicePartsOf(document)
  if (!due.isNegative()) {
    throw new BillingError(...about('adjusts:', 'the total of a credit note must be negative'))
  }
  // Each line may be rounded by less than the smallest unit.
  const { currencyCode } = config.rating
  const tolerance = new Exact(10).pow(-currencyDigits(currencyCode)).times(lines.length)
  return adjustmentsOf(catalog, session, aid, adjusts, due.negated(), tolerance, currencyCode)
}

/** The last note of an invoice takes what is left, whatever its own rounding. */
function withTotal(document: InvoiceDocument, adjusts: readonly Adjustment[]): InvoiceDocument {
  const total = sumOf(adjusts.map(({ amount }) => amount)).negated()
  const { totals } = document
  const change = total.minus(totals.after_vat_rounded)
  const balance = change.plus(totals.current_balance.after_vat).toNumber()
  return {
    ...document,
    totals: {
      ...totals,
      after_vat_rounded: total.toNumber(),
      current_balance: { after_vat: balance },
    },
  }
}

async function documentOf(
  { catalog, config, nowMs }: OneTimeDeps,
  { aid, atMs, lines, customers }: OneTimeOrder,
  key: string,
): Promise<InvoiceDocument> {
  const sids = [...new Set(lines.map(({ sid }) => sid))].filter((sid) => sid !== 0)
  const find = (of: Holder) =>
    customers === null
      ? revisionAt(catalog, of, atMs)
      : Promise.resolve(customerRevision(customers, of, atMs))
  const account = await find({ type: 'account', aid })
  if (account === null) throw new BillingError(...about('aid:', `there is no account ${aid}`))
  const subscribers: InvoicedSubscriber[] = []
  for (const sid of sids) {
    const document = await find({ type: 'subscriber', aid, sid })
    if (document !== null) subscribers.push({ sid, document })
  }
  const digits = currencyDigits(config.rating.currencyCode)
  const seller = await readSeller(catalog)
  const document = invoiceDocument({
    aid,
    billrunKey: key,
    span: { startMs: atMs, endMs: atMs },
    invoiceType: 'immediate',
    account,
    subscribers,
    lines,
    currencyDigits: digits,
    ...(seller !== null && { seller }),
    nowMs,
  })
  const balance = (await currentBalances(catalog, [aid])).get(aid)
  return balance === undefined
    ? document
    : withBalance(document, balance, { currencyDigits: digits })
}

type Holder =
  | { readonly type: 'account'; readonly aid: number }
  | { readonly type: 'subscriber'; readonly aid: number; readonly sid: number }

/** Throws `BillingError` if the customer system has returned data that cannot be used. */
function customerRevision(
  customers: NonNullable<Customers>,
  of: Holder,
  atMs: number,
): Fields | null {
  const customer = customers.find(({ aid }) => aid === of.aid)
  if (customer === undefined) return null
  if (customer.problem !== null) throw new BillingError(customer.problem, { path: 'aid' })
  const { account, subscribers } = customer
  const own = of.type === 'account' ? account : subscribers.filter(({ sid }) => sid === of.sid)
  return latestAt(own, atMs)
}

function latestAt(revisions: readonly (Fields & { from: Date })[], atMs: number): Fields | null {
  return revisions.findLast(({ from }) => from.getTime() <= atMs) ?? revisions[0] ?? null
}

/** The revision at an instant; otherwise the newest one before it, or the first one. */
async function revisionAt(catalog: Catalog, of: Holder, atMs: number): Promise<Fields | null> {
  const { aid, ...subscriber } = of
  const holder = of.type === 'account' ? { type: of.type, aid } : subscriber
  const found = (await catalog.subscribers
    .find({ ...holder, deleted: { $ne: true } } as never)
    .sort({ from: 1 })
    .toArray()) as unknown as (Fields & { from: Date })[]
  return latestAt(found, atMs)
}
