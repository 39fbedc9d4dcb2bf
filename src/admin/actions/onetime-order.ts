/** Parameters of a one-time invoice, and the order that they describe. */

import { type Static, Type } from '@sinclair/typebox'
import { readAdjustedTaxes, type TaxedLines } from '../../billing/credit/adjusted-taxes.ts'
import { CreditProcessError, CreditRefusal } from '../../billing/credit/credit-request.ts'
import { calendarOf, prepareCredits } from '../../billing/credit/credits.ts'
import { immediateKeyAt, keyEndMs } from '../../billing/cycle/cycle-key.ts'
import type { RequestedAdjustment } from '../../billing/onetime/credit-notes.ts'
import type { OneTimeOrder } from '../../billing/onetime/one-time.ts'
import { integerFrom } from '../../billing/payments/payment-order.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { CreditFields } from '../../catalog/settings/money/line-settings.ts'
import { isCycleKey } from '../../domain/cycle.ts'
import { issueUnder } from '../../domain/field-errors.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { dateText } from '../../entities/views.ts'
import { amountOf } from '../../requests/cast-value.ts'
import { ActionError, fieldRule, missingParameters, parameterError } from '../../requests/errors.ts'
import type { ActionCall } from './action.ts'
import {
  CREDIT_PARAMETERS,
  creditRequestOf,
  readCreditFields,
  refusedCredit,
} from './credit-parameters.ts'
import { castParameters, param } from './parameters.ts'

const FLOWS = ['regular', 'charge_before_invoice'] as const
const TYPES = ['regular', 'refund'] as const

export const ONE_TIME_PARAMETERS = Type.Object({
  cdrs: param.optional(
    param.json(
      'Charges: a list of `aid`, `sid`, `rate`, `credit_time`, `usagev`, `aprice`, as in `credit`.',
    ),
  ),
  aid: param.optional(param.json('The account.')),
  invoice_unixtime: param.optional(param.json('Time of the invoice, Unix seconds; now.')),
  step: param.optional(
    param.integer('0: document only; 1: and a bill; 2 (default): and a charge of it.', {
      minimum: 0,
      maximum: 2,
    }),
  ),
  send_email: param.optional(param.flag('Whether it is sent to the customer; true by default.')),
  allow_bill: param.optional(param.flag('Whether it becomes a bill; true by default.')),
  note: param.optional(param.text('A note.')),
  uf: param.optional(param.object('Configured fields (`lines.credit.fields`).')),
  payment_data: param.optional(param.object('Further data, kept with the invoice.')),
  send_back_invoices: param.optional(
    param.flag('Answer the PDF of the invoice as a file, if it was made.'),
  ),
  charge_flow: param.optional(
    param.choice(FLOWS, '`charge_before_invoice`: without a successful charge, no invoice.'),
  ),
  expected: param.optional(param.flag('Preview, with `step` 0 only.')),
  type: param.optional(
    param.choice(TYPES, 'Series of the number; by the sign of the total if not given.'),
  ),
  adjusts: param.optional(
    param.json('Credit note: a list of `invoice_id` and `amount`; not with `step` 0.'),
  ),
})

export type OneTimeParameters = Static<typeof ONE_TIME_PARAMETERS> & { readonly reason?: string }

const CDRS_MAX = 1_000
const ADJUSTS_MAX = 100
const SECONDS_MAX = 4_102_444_800

/** Throws `ActionError`. */
export async function oneTimeOrderOf(
  parameters: OneTimeParameters,
  call: ActionCall,
): Promise<OneTimeOrder> {
  const cdrs = cdrsIn(parameters.cdrs)
  const aid = parameters.aid === undefined ? null : integerFrom(parameters.aid)
  if (parameters.aid === undefined) throw missingParameters(['aid'])
  if (aid === null || aid < 1) throw parameterError('aid', 'should be of type Integer')
  if (cdrs.some((cdr) => Number(cdr['aid']) !== aid)) {
    throw new ActionError("One of the CDRs AID doesn't match the account AID", { path: 'cdrs' })
  }
  const atMs = timeIn(parameters.invoice_unixtime, call)
  const fields = await readCreditFields(call.catalog)
  const { reason = null } = parameters
  const adjusts = adjustsIn(parameters.adjusts)
  const terms = { fields, atMs, reason, adjusted: await adjustedBy(call, aid, adjusts) }
  const { lines, lastKeys } = await linesOf(call, cdrs, terms)
  // A credit note takes back charges of closed cycles, too.
  const dates = adjusts.length > 0 ? [] : lines.map(({ urt }) => urt.getTime())
  await refuseOld(call, aid, [atMs, ...dates])
  const { step = 2, allow_bill: isAllowed = true, send_email: sendsEmail = true } = parameters
  const source = await call.cycle?.openAccounts()
  return {
    aid,
    customers: (await source?.customerAt(aid, atMs)) ?? null,
    atMs,
    lines,
    lastKeys,
    type: parameters.type ?? null,
    isBilled: step > 0 && isAllowed,
    isCharged: step === 2 && isAllowed,
    adjusts,
    fields: fieldsOf(parameters, fields, isAllowed),
    sendsEmail,
    reason,
  }
}

function cdrsIn(value: unknown): readonly Fields[] {
  const isList = Array.isArray(value) && value.length > 0 && value.every(isObject)
  // The text of existing clients, with its line break.
  if (!isList) {
    const code = value === undefined ? 'missing' : 'invalid'
    const text = "Required input 'cdrs' is missing or of incorrect type.\n"
    throw new ActionError(text, { path: 'cdrs', code })
  }
  if (value.length > CDRS_MAX) throw fieldRule('cdrs', `has more than ${CDRS_MAX} members`)
  return value as readonly Fields[]
}

function timeIn(value: unknown, { nowMs }: ActionCall): number {
  if (value === undefined || value === '') return Math.floor(nowMs / 1000) * 1000
  const seconds = integerFrom(value)
  if (seconds === null || seconds < 1 || seconds > SECONDS_MAX) {
    throw parameterError('invoice_unixtime', 'should be of type Integer')
  }
  return seconds * 1000
}

interface LineTerms {
  readonly fields: CreditFields
  readonly atMs: number
  readonly reason: string | null
  readonly adjusted: readonly TaxedLines[]
}

async function adjustedBy(
  { catalog }: ActionCall,
  aid: number,
  adjusts: readonly RequestedAdjustment[],
) {
  const ids = adjusts.map(({ invoiceId }) => invoiceId)
  return ids.length === 0 ? [] : readAdjustedTaxes(catalog, aid, ids)
}

async function linesOf(call: ActionCall, cdrs: readonly Fields[], terms: LineTerms) {
  const { timeZone } = call.config.rating
  const key = immediateKeyAt(terms.atMs, timeZone)
  const requests = cdrs.map((cdr, index) => {
    try {
      // Without a price the rate is applied to the usage: a charge, unlike in `credit`.
      const raw = new Map(Object.entries({ credit_type: 'charge', ...cdr }))
      for (const name of ['installments', 'billrun_key']) raw.delete(name)
      const cast = castParameters(CREDIT_PARAMETERS, raw, { timeZone, nowMs: call.nowMs })
      return { ...creditRequestOf(cast, terms.fields, terms.reason), billrunKey: key }
    } catch (error) {
      throw ofCdr(error, index)
    }
  })
  const { credits, lastKeys } = await prepareCredits(call, requests, terms.adjusted)
  const lines = credits.flatMap((credit, index): readonly CreditLineDocument[] => {
    if (credit instanceof Error) throw ofCdr(credit, index)
    return credit
  })
  return { lines, lastKeys }
}

function ofCdr(error: unknown, index: number): unknown {
  const path = `cdrs.${index}`
  const isRefusal = error instanceof CreditRefusal || error instanceof CreditProcessError
  if (!isRefusal && !(error instanceof ActionError)) return error
  const { message, issues } = isRefusal ? refusedCredit(error) : error
  return new ActionError(
    `${path}: ${message}`,
    issues.map((issue) => issueUnder(path, issue)),
  )
}

/** A date of a closed cycle. */
class TooOldError extends ActionError {
  protected override known(): object {
    return { ...super.known(), code: 17_579 }
  }
}

/** Invoices do not reach back into a cycle of which the account has a confirmed invoice. */
async function refuseOld(call: ActionCall, aid: number, dates: readonly number[]): Promise<void> {
  const { catalog, config } = call
  const [newest] = await catalog.billrun
    .find({ aid, billed: 1, billrun_key: /^\d{6}$/ }, { projection: { billrun_key: 1 } })
    .sort({ billrun_key: -1 })
    .limit(1)
    .toArray()
  const key = newest?.billrun_key
  if (key === undefined || !isCycleKey(key)) return
  const closedMs = keyEndMs(key, calendarOf(config))
  const old = [...new Set(dates)].filter((date) => date < closedMs)
  if (old.length === 0) return
  const text = (ms: number) => dateText(ms, config.rating.timeZone)
  throw new TooOldError(
    `One of the given dates, ${old.map(text).join(', ')}, is older than allowed. ` +
      `Dates have to be after ${text(closedMs)}`,
    'refused',
  )
}

function adjustsIn(value: unknown): RequestedAdjustment[] {
  if (value === undefined || value === '') return []
  const isList = Array.isArray(value) && value.length <= ADJUSTS_MAX && value.every(isObject)
  if (!isList) throw parameterError('adjusts', 'must be a list of invoice_id and amount')
  const requested = (value as readonly Fields[]).map(({ invoice_id: id, amount: amountValue }) => {
    const invoiceId = integerFrom(id)
    const amount = amountValue === undefined ? null : amountOf(amountValue)
    if (invoiceId === null) throw fieldRule('adjusts:', 'invoice_id must be a number')
    if (amountValue !== undefined && amount === null) {
      throw fieldRule('adjusts:', `the amount for invoice ${invoiceId} must be a number`)
    }
    return { invoiceId, amount: amount === null ? null : new Exact(amount) }
  })
  if (new Set(requested.map(({ invoiceId }) => invoiceId)).size < requested.length) {
    throw fieldRule('adjusts:', 'an invoice occurs twice')
  }
  return requested
}

function fieldsOf(parameters: OneTimeParameters, fields: CreditFields, isAllowed: boolean): Fields {
  const { note, uf, payment_data: data, reason } = parameters
  const known = new Set(fields.map(({ field_name: name }) => name))
  const kept = Object.entries(uf ?? {}).filter(([name]) => known.has(name))
  return {
    allow_bill: isAllowed ? 1 : 0,
    ...(note !== undefined && { note }),
    ...(kept.length > 0 && { uf: Object.fromEntries(kept) }),
    ...(data !== undefined && { payment_data: data }),
    ...(reason !== undefined && { reason }),
  }
}
