/** `POST /api/bill`: balances, debts and bills of accounts. */

import { type Static, Type } from '@sinclair/typebox'
import { BillingError } from '../../billing/errors.ts'
import { integerFrom, isNothing, isTrue } from '../../billing/payments/payment-order.ts'
import {
  type AccountBalance,
  accountBalance,
  overdueDebts,
} from '../../billing/statements/balances.ts'
import {
  type BillQuery,
  findBills,
  findInvoice,
  queryInvoices,
  unpaidInvoices,
} from '../../billing/statements/find-bills.ts'
import {
  closed,
  customFields,
  either,
  emptyList,
  flag,
  integer,
  mapOf,
  number,
  ref,
  text,
} from '../../catalog/entities/json-schema.ts'
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import { filterOf, PAYMENTS } from '../../catalog/settings/money/payment-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { about } from '../../domain/field-errors.ts'
import { isObject } from '../../domain/fields.ts'
import { bills as definition } from '../../entities/definitions/bills.ts'
import { castQuery } from '../../entities/requests/query-language.ts'
import { readView } from '../../entities/views.ts'
import { type ActionCall, type AnswerOf, action } from './action.ts'
import { accountFrom, accountsFrom, keysFrom, PAID, paidStatesOf } from './bill-filters.ts'
import { digitsOf } from './books.ts'
import { JSON_TEXT, ONE_OR_SEVERAL, param, WHOLE_NUMBER, WHOLE_NUMBERS } from './parameters.ts'

const PARAMETERS = Type.Object({
  action: param.optional(
    param.text(
      '`search_invoice` (default): balance, and a bill by `id`; `search`: bills; ' +
        '`query_bills_invoices`; `get_balances`; `get_balance`; `collection_debt`; ' +
        '`all_collection_debts`; `get_over_due`.',
    ),
  ),
  aid: param.optional(param.json('An account; for `search` also several.', ...WHOLE_NUMBERS)),
  aids: param.optional(param.json('Accounts.', ...WHOLE_NUMBERS)),
  id: param.optional(param.json('Number of an invoice.', ...WHOLE_NUMBER)),
  date: param.optional(param.date('Only bills that may be collected by this time.')),
  include_future_chargeable: param.optional(
    param.flag('With `date`: also bills that came by then and may be collected later.'),
  ),
  unpaid_invoices: param.optional(param.flag('Lists the unpaid invoices of the account.')),
  past_only: param.optional(param.flag('As `date` with the present time.')),
  query: param.optional(
    param.json('Filter of invoices, as for `/billapi/bills/get`.', customFields('It.'), JSON_TEXT),
  ),
  threshold: param.optional(param.amount('Smaller debts are left out.')),
  type: param.optional(
    param.choice(['inv', 'rec', 'ref'], '`search`: invoices, payments or payments to customers.'),
  ),
  billrun_key: param.optional(param.json('`search`: billing cycles.', ...ONE_OR_SEVERAL)),
  due_date_from: param.optional(param.date('`search`: due at this time or later.')),
  due_date_to: param.optional(param.date('`search`: due at this time or before.')),
  paid: param.optional(param.choice(PAID, '`search`: state; `unpaid` is `0` or `2`.')),
  page: param.optional(
    param.integer('`search`: page, from 0.', { minimum: 0, maximum: 1_000_000 }),
  ),
  size: param.optional(
    param.integer('`search`: bills per page; 100 by default.', { minimum: 1, maximum: 1_000 }),
  ),
})

type BillParameters = Static<typeof PARAMETERS>

const INVOICES_MAX = 10_000
const PAGE_SIZE = 100

const BALANCE = closed('The balance of an account; positive: the customer owes it.', {
  total: text('All bills, with the decimals of the currency.'),
  without_waiting: text('Without unconfirmed payments.'),
  total_pending_amount: number('Sum of the unconfirmed payments.'),
})
const BILLS = ref<readonly object[]>('bills.list', 'Bills.')

const ANSWER = {
  details: either(
    'By `action`.',
    closed(
      '`search_invoice`.',
      {
        balance: BALANCE,
        bill: either(
          'The bill with the `id`, if there is one.',
          ref<object>('bills.shown'),
          emptyList(),
        ),
        unpaid_invoices: BILLS,
      },
      ['unpaid_invoices'],
    ),
    BILLS,
    mapOf(BALANCE, '`get_balances`: by account.'),
    mapOf(
      closed('A debt.', { aid: integer('The account.'), total: number('Money.') }),
      'Debts by account.',
    ),
  ),
  next_page: param.optional(flag('`search`: whether there are further bills.')),
} as const

type BillAnswer = AnswerOf<typeof ANSWER>

export const bill = action({
  name: 'bill',
  level: 'read',
  about: 'Balances, debts and bills of accounts',
  isReadByGet: true,
  parameters: PARAMETERS,
  answer: ANSWER,
  example: {
    parameters: { aid: 1 },
    answer: {
      details: {
        balance: { total: '35.10', without_waiting: '35.10', total_pending_amount: 0 },
        bill: [],
      },
    },
  },
  run(parameters, call) {
    const { action: name = '' } = parameters
    const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined
    if (operation === undefined)
      throw new BillingError(`Unknown action ${name}`, { path: 'action' })
    return operation(parameters, call)
  },
})

type Operation = (parameters: BillParameters, call: ActionCall) => Promise<BillAnswer>

const OPERATIONS: Readonly<Record<string, Operation>> = {
  '': searchInvoice,
  search_invoice: searchInvoice,
  search,
  query_bills_invoices: query,
  get_balances: balances,
  get_balance: (parameters, call) => debts(parameters, call, { withCredits: true }),
  collection_debt: (parameters, call) => debts(parameters, call, {}),
  all_collection_debts: (parameters, call) => debts(parameters, call, { isForAll: true }),
  get_over_due: (parameters, call) => {
    const isForAll = isNothing(parameters.aids)
    return debts(parameters, call, { debtMin: 0, isOverdueOnly: true, isForAll })
  },
}

async function searchInvoice(parameters: BillParameters, call: ActionCall): Promise<BillAnswer> {
  const { catalog, nowMs } = call
  const aidValue = isNothing(parameters.aid) ? null : accountFrom(parameters.aid)
  const found = isNothing(parameters.id) ? null : await invoiceOf(parameters.id, aidValue, call)
  const aid = found?.aid ?? aidValue
  if (aid === null)
    throw new BillingError('Must supply at least one aid', { path: 'aid', code: 'missing' })
  const date = parameters.date ?? (parameters.past_only === true ? new Date(nowMs) : null)
  const balance = await accountBalance(catalog, aid, { date, digits: digitsOf(call.config) })
  const unpaid =
    parameters.unpaid_invoices === true
      ? { unpaid_invoices: (await unpaidInvoices(catalog, aid)).map((each) => view(each, call)) }
      : {}
  return { details: { balance, bill: found === null ? [] : view(found, call), ...unpaid } }
}

async function invoiceOf(
  value: unknown,
  aid: number | null,
  { catalog }: ActionCall,
): Promise<BillDocument> {
  const id = integerFrom(value)
  if (id === null) throw new BillingError('Illegal invoice id', { path: 'id' })
  const found = await findInvoice(catalog, id, aid)
  if (found === null) throw new BillingError('Bill not found', 'target')
  return found
}

async function search(parameters: BillParameters, call: ActionCall): Promise<BillAnswer> {
  const { type, billrun_key: keys, due_date_from: from, due_date_to: to, paid } = parameters
  const billQuery: BillQuery = {
    aids: isNothing(parameters.aids)
      ? accountsFrom(parameters.aid)
      : accountsFrom(parameters.aids, 'aids'),
    kind: (type as BillQuery['kind'] | undefined) ?? null,
    billrunKeys: keysFrom(keys),
    dueFrom: from ?? null,
    dueTo: to ?? null,
    paid: paidStatesOf(paid),
    page: parameters.page ?? 0,
    size: parameters.size ?? PAGE_SIZE,
  }
  const { bills, nextPage } = await findBills(call.catalog, billQuery)
  return { details: bills.map((each) => view(each, call)), next_page: nextPage }
}

async function query(parameters: BillParameters, call: ActionCall): Promise<BillAnswer> {
  const raw = parameters.query ?? {}
  if (!isObject(raw)) throw new BillingError(...about('query', 'must be an object'))
  const { config, nowMs, catalog } = call
  const time = { timeZone: config.rating.timeZone, nowMs }
  const filter = castQuery(definition.actions['get']?.query ?? {}, raw, time)
  const found = await queryInvoices(catalog, filter, INVOICES_MAX)
  return { details: found.map((each) => view(each, call)) }
}

async function balances(
  parameters: BillParameters,
  { catalog, config }: ActionCall,
): Promise<BillAnswer> {
  const options = {
    date: parameters.date ?? null,
    withFuture: isTrue(parameters.include_future_chargeable),
    digits: digitsOf(config),
  }
  const entries: [string, AccountBalance][] = []
  for (const aid of accountsFrom(parameters.aids)) {
    entries.push([String(aid), await accountBalance(catalog, aid, options)])
  }
  return { details: Object.fromEntries(entries) }
}

interface DebtsOfAction {
  readonly withCredits?: boolean
  readonly isForAll?: boolean
  readonly debtMin?: number
  /** All that is overdue, whether it may be collected or not. */
  readonly isOverdueOnly?: boolean
}

async function debts(
  parameters: BillParameters,
  { catalog, lookup, nowMs }: ActionCall,
  { withCredits = false, isForAll = false, debtMin, isOverdueOnly = false }: DebtsOfAction,
): Promise<BillAnswer> {
  const aids = isForAll ? null : accountsFrom(parameters.aids)
  const { value } = await readCategory(catalog, 'payments')
  const { collection } = PAYMENTS.read(value)
  const found = await overdueDebts(catalog, {
    aids,
    nowMs,
    withCredits,
    debtMin: parameters.threshold?.toNumber() ?? debtMin ?? collection.min_debt,
    rejectionRequired: isOverdueOnly ? null : filterOf(collection.rejection_required),
    lookup,
  })
  const byAccount = found.map((debt) => [String(debt.aid), debt] as const)
  // Clients know an empty object as an empty list.
  return { details: byAccount.length === 0 ? [] : Object.fromEntries(byAccount) }
}

/** Dates that are texts, as `from`, `to` and `creation_time` are. */
export const BILL_DATES = [
  'urt',
  'due_date',
  'invoice_date',
  'process_time',
  'charge.not_before',
  'confirmation_time',
  'freeze_date',
  'unfreeze_date',
  'paid_by.date',
  'pays.date',
  'past_rejections.date',
  'payment_agreement.first_due_date',
]

function view(document: BillDocument, { config }: ActionCall): object {
  return readView(document, { timeZone: config.rating.timeZone, dateFields: BILL_DATES })
}
