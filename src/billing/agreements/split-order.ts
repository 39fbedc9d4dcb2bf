/** Parameters of `split_bill`, checked. Pure. */

import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { missing } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { amountFrom, rounded, sumOf, ZERO } from '../amount.ts'
import { BillingError, withinEach } from '../errors.ts'
import {
  dateIn,
  integerFrom,
  isNothing,
  type PaymentRules,
  textIn,
  userFieldsOf,
  wrongInput,
} from '../payments/payment-order.ts'
import { type CycleTimes, cycleEnds, monthsAfter, shares } from './installments.ts'

const INSTALLMENTS_MAX = 1_000

/** `installments`, or `installments_num` with or without `first_due_date`. */
export interface SplitParameters {
  readonly aid?: unknown
  readonly amount?: unknown
  readonly installments?: readonly unknown[]
  readonly installments_num?: unknown
  readonly first_due_date?: unknown
  readonly first_charge_date?: unknown
  readonly note?: unknown
  readonly uf?: unknown
}

export interface PlannedInstallment {
  readonly amount: Exact
  readonly dueDate: Date
  readonly fields: Fields
}

export interface SplitOrder {
  readonly aid: number
  readonly amount: Exact
  /** By due date. */
  readonly installments: readonly PlannedInstallment[]
  readonly firstDueDate: Date | null
  readonly firstChargeDate: Date | null
}

/** Throws `BillingError`. */
export function splitOrder(
  parameters: SplitParameters,
  rules: PaymentRules,
  nowMs: number,
  times: CycleTimes,
): SplitOrder {
  const { installments } = parameters
  const rows =
    installments === undefined
      ? null
      : withinEach('installments', installments, (row) => rowOf(row, rules))
  const amount = amountFrom(parameters.amount)
  if (rows?.some((row) => row.amount !== null)) {
    const sum = sumOf(rows.map((row) => row.amount ?? ZERO))
    if (amount === null || !sum.equals(amount)) {
      throw new BillingError('Sum of amounts in installments array must be equal to total amount', {
        path: 'installments',
      })
    }
  }
  if (rows?.some(({ dueDate }) => dueDate === null)) {
    throw new BillingError('Due date field is mandatory for all installments', {
      path: 'installments',
      code: 'missing',
    })
  }
  if (isNothing(parameters.aid) || isNothing(parameters.amount)) {
    const text = 'In action split_bill must transfer amount and aid parameters'
    const absent = (['amount', 'aid'] as const).filter((name) => isNothing(parameters[name]))
    throw new BillingError(text, missing(absent, text))
  }
  refuseContradictions(parameters)
  const aid = integerFrom(parameters.aid)
  if (aid === null || amount === null || rounded(amount, rules.digits).lessThanOrEqualTo(0)) {
    throw wrongInput(parameters.aid, parameters.amount)
  }
  const total = rounded(amount, rules.digits)
  const firstDueDate = dateIn({ ...parameters }, 'first_due_date', rules)
  const planned =
    rows === null
      ? byNumber(total, parameters, firstDueDate, nowMs, times)
      : byRows(total, rows as readonly CheckedRow[], parameters.aid)
  const common = fieldsOf(parameters, rules)
  return {
    aid,
    amount: total,
    installments: planned
      .map((each) => ({ ...each, fields: { ...common, ...each.fields } }))
      .sort((a, b) => a.dueDate.getTime() - b.dueDate.getTime()),
    firstDueDate,
    firstChargeDate: dateIn({ ...parameters }, 'first_charge_date', rules),
  }
}

function refuseContradictions(parameters: SplitParameters): void {
  const hasNumber = !isNothing(parameters.installments_num)
  const hasDate = !isNothing(parameters.first_due_date)
  if (parameters.installments !== undefined && (hasNumber || hasDate)) {
    throw new BillingError('Passed parameters in contradiction', { path: 'installments' })
  }
  if (hasDate && !hasNumber) {
    throw new BillingError("Can't pass first_due_date withouh passing installments_num", {
      path: 'installments_num',
      code: 'missing',
    })
  }
  if (parameters.installments === undefined && !hasNumber) {
    throw new BillingError('In action split_bill must transfer installments or installments_num', {
      path: 'installments',
      code: 'missing',
    })
  }
}

interface Row {
  readonly amount: Exact | null
  readonly dueDate: Date | null
  readonly fields: Fields
}
type CheckedRow = Row & { readonly dueDate: Date }

function rowOf(row: unknown, rules: PaymentRules): Row {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    throw new BillingError('Due date field is mandatory for all installments', {
      path: 'due_date',
      code: 'missing',
    })
  }
  const values = row as Fields
  const amount = isNothing(values['amount']) ? null : amountFrom(values['amount'])
  if (!isNothing(values['amount']) && amount === null) {
    throw new BillingError('Sum of amounts in installments array must be equal to total amount', {
      path: 'amount',
    })
  }
  return {
    amount: amount === null ? null : rounded(amount, rules.digits),
    dueDate: dateIn(values, 'due_date', rules),
    fields: fieldsOf(values, rules),
  }
}

function fieldsOf(values: Fields | SplitParameters, rules: PaymentRules): Fields {
  const note = textIn({ ...values }, 'note')
  const uf = userFieldsOf((values as Fields)['uf'], rules.userFields)
  return {
    ...(note === null ? {} : { note }),
    ...(Object.keys(uf).length > 0 ? { uf } : {}),
  }
}

function byRows(total: Exact, rows: readonly CheckedRow[], aid: unknown): PlannedInstallment[] {
  refuseNumber(rows.length, total)
  const sorted = [...rows].sort((a, b) => a.dueDate.getTime() - b.dueDate.getTime())
  const equal = shares(total, rows.length)
  const haveAmounts = rows.some(({ amount }) => amount !== null)
  return sorted.map(({ amount: amountValue, dueDate, fields }, index) => {
    const amount = haveAmounts ? amountValue : (equal[index] ?? null)
    if (amount === null || amount.lessThanOrEqualTo(0)) throw wrongInput(aid, amount ?? 0)
    return { amount, dueDate, fields }
  })
}

function byNumber(
  total: Exact,
  { installments_num: sent }: SplitParameters,
  firstDueDate: Date | null,
  nowMs: number,
  times: CycleTimes,
): PlannedInstallment[] {
  const count = integerFrom(sent)
  if (count === null)
    throw new BillingError('Field installments_num should be of type Integer', {
      path: 'installments_num',
    })
  refuseNumber(count, total)
  const ends = firstDueDate === null ? cycleEnds(nowMs, count, times) : null
  return shares(total, count).map((amount, index) => ({
    amount,
    dueDate: ends?.[index] ?? monthsAfter(firstDueDate ?? new Date(nowMs), index, times.timeZone),
    fields: {},
  }))
}

function refuseNumber(count: number, total: Exact): void {
  if (count < 1)
    throw new BillingError('Number of installments must be a positive number', {
      path: 'installments_num',
    })
  if (total.lessThan(count)) {
    throw new BillingError("Number of installments can't be larger than the passed amount", {
      path: 'installments_num',
    })
  }
  if (count > INSTALLMENTS_MAX) {
    throw new BillingError(`Number of installments can't be larger than ${INSTALLMENTS_MAX}`, {
      path: 'installments_num',
    })
  }
}
