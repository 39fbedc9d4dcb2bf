/** The invoice of one account in one cycle. Pure: a function of the documents that it is given. */
import type {
  CycleLineDocument,
  CycleUsageDocument,
} from '../../catalog/records/money/cycle-line.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import { FieldError } from '../../domain/fields.ts'
import { Exact } from '../../rating/line-tax.ts'
import { currencyDigits, moneyFormat } from '../currency.ts'
import { BillingError } from '../errors.ts'
import { type AccountCharges, accountCharges } from './account-charges.ts'
import { checkCharges, checkNegative } from './checks.ts'
import {
  type AccountCycle,
  CycleError,
  type HolderRevisions,
  type StoredRevision,
} from './input.ts'
import { invoiceDocument } from './invoice.ts'
import { lateUsageDocuments } from './late-usage.ts'
import { lineDocuments } from './line-documents.ts'
import { revisionBefore } from './overrides.ts'
import { type Holder, holdersOf } from './timeline.ts'
import type { InvoiceLine } from './totals.ts'
import type { TaxChange } from './written-taxes.ts'

export {
  type AccountCycle,
  type CycleCatalogue,
  CycleError,
  type CycleSettings,
  type RevisionsByKey,
  type StoredRevision,
} from './input.ts'

/** The invoice to be stored; the run adds its number and due date. */
export interface AccountInvoice {
  readonly aid: number
  readonly billrunKey: string
  /** Lines to be stored instead of those of an earlier run of this key. */
  readonly lines: readonly CycleLineDocument[]
  /** The other lines of the invoice: usage, and credits. */
  readonly others: readonly InvoiceLine[]
  /** Stamps of installments that move to this key (`preponed`). */
  readonly prepone: readonly string[]
  /** For a preview: paid ahead with other taxes than those at the end of the supply. */
  readonly taxChanges: readonly TaxChange[]
  readonly invoice: InvoiceDocument
}

/**
 * The invoice of the account; null if it has neither a plan nor a line in the cycle. Throws
 * `CycleError`.
 */
export function computeAccount(input: AccountCycle): AccountInvoice | null {
  try {
    return invoiceOf(input)
  } catch (error) {
    if (error instanceof FieldError || error instanceof BillingError) {
      throw new CycleError(input.aid, 'invoice', error.message)
    }
    throw error
  }
}

function invoiceOf(input: AccountCycle): AccountInvoice | null {
  const { aid, calendar, cycle, settings } = input
  const account = knownRevisions(input, input.account)
  const subscribers = knownRevisions(input, input.subscribers)
  const holders = holdersOf({ account, subscribers, ...elsewhereOf(input) }, calendar.zone)
  const charged = accountCharges(input, holders)
  const money = moneyFormat(settings.currencyCode)
  checkCharges(aid, charged.charges, settings.calendarMonthFractions, money)
  const lines = [...lineDocuments(input, charged), ...lateLines(input)]
  const preponed = input.laterInstallments.filter((line) => isPreponed(input, holders, line))
  const others = [...input.lines.filter((line) => isInvoiced(input, line)), ...preponed]
  const active = holders.filter((holder) => isActive(holder, input))
  const hasPlan = active.some(({ sid, holdings }) => sid !== 0 && holdings.length > 0)
  if (!hasPlan && lines.length === 0 && others.length === 0) return null
  const invoice = invoiceDocument({
    aid,
    billrunKey: cycle.key,
    span: cycle,
    invoiceType: 'regular',
    account: lastRevision(account, cycle.endMs),
    subscribers: active.flatMap(({ sid, pieces }) => {
      const last = pieces.findLast(({ fromMs }) => fromMs < cycle.endMs)
      return sid === 0 || last === undefined ? [] : [{ sid, document: last.subscriber ?? {} }]
    }),
    lines: [...lines, ...others],
    currencyDigits: currencyDigits(settings.currencyCode),
    nowMs: input.nowMs,
    ...(input.seller !== undefined && { seller: input.seller }),
  })
  const total = new Exact(invoice.totals.exact.after_vat)
  checkNegative(aid, total, hasCredit(charged, [...lines, ...others]), money)
  return {
    aid,
    billrunKey: cycle.key,
    lines,
    others,
    prepone: preponed.map(({ stamp }) => stamp),
    taxChanges: charged.taxChanges,
    invoice,
  }
}

/** Revisions of the billable window; an end that is known already counts, even outside it. */
function knownRevisions(
  { cycle, next, settings }: AccountCycle,
  revisions: readonly StoredRevision[],
): readonly StoredRevision[] {
  const { endMs } = settings.billableNextCycle === true ? next : cycle
  return revisions.filter(({ from }) => from.getTime() < endMs)
}

function elsewhereOf({ elsewhere }: AccountCycle): Pick<HolderRevisions, 'elsewhere'> {
  return elsewhere === undefined ? {} : { elsewhere }
}

function lastRevision(account: readonly StoredRevision[], endMs: number) {
  return account.findLast(({ from }) => from.getTime() < endMs) ?? account[0] ?? {}
}

/** Has a revision in the cycle. */
function isActive({ pieces }: Holder, { cycle }: AccountCycle): boolean {
  return pieces.some(({ fromMs, toMs }) => fromMs < cycle.endMs && toMs > cycle.startMs)
}

type OtherLine = RealtimeLineDocument | CreditLineDocument

/** Prepaid usage was paid when it was used. */
function isInvoiced({ catalogue }: AccountCycle, line: OtherLine): boolean {
  if (line.type !== 'realtime') return true
  const plan = revisionBefore(catalogue.plans, line.plan, line.urt.getTime())
  return plan?.['connection_type'] !== 'prepaid'
}

function lateLines(input: AccountCycle): CycleUsageDocument[] {
  const { aid, cycle, settings, nowMs } = input
  const context = { aid, cycleKey: cycle.key, money: moneyFormat(settings.currencyCode), nowMs }
  return input.late
    .filter((line) => isInvoiced(input, line))
    .flatMap((line) => lateUsageDocuments(context, line))
}

/** A subscriber that has ended pays its remaining installments now. */
function isPreponed(
  { cycle, settings, mergedInstallments }: AccountCycle,
  holders: readonly Holder[],
  { sid, usaget }: CreditLineDocument,
): boolean {
  if (usaget !== 'charge') return false
  if (mergedInstallments.includes(sid)) return true
  if (sid === 0 || !settings.preponeOnTermination) return false
  const holder = holders.find((one) => one.sid === sid)
  return holder === undefined || holder.endMs <= cycle.endMs
}

/** Whether something reduces the total: a correction, a discount or a refund. */
function hasCredit(
  { charges, adjustments }: AccountCharges,
  others: readonly { readonly aprice: number }[],
): boolean {
  return (
    charges.some(({ amount }) => amount.isNegative()) ||
    adjustments.some(({ amount }) => amount.isNegative()) ||
    others.some(({ aprice }) => aprice < 0)
  )
}
