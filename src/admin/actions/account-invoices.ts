/** `POST /api/accountinvoices`: the invoice documents of accounts. */

import { type Static, Type } from '@sinclair/typebox'
import { calendarOf } from '../../billing/credit/credits.ts'
import { keyAfter, keyAt } from '../../billing/cycle/cycle-key.ts'
import { DOCUMENT_FORMATS, type DocumentFormat } from '../../billing/documents/documents.ts'
import { BillingError } from '../../billing/errors.ts'
import { integerFrom, isNothing, textOf } from '../../billing/payments/payment-order.ts'
import { type FoundInvoices, findInvoices } from '../../billing/statements/find-invoices.ts'
import { customFields, either, flag, mapOf, ref } from '../../catalog/entities/json-schema.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { about } from '../../domain/field-errors.ts'
import { isObject } from '../../domain/fields.ts'
import { dates, integer, integers, texts } from '../../entities/definitions/params.ts'
import { castQuery, type Filter } from '../../entities/requests/query-language.ts'
import { readView } from '../../entities/views.ts'
import { type ActionCall, type AnswerOf, action, FILE } from './action.ts'
import { accountsFrom, keysFrom, PAID, paidStatesOf } from './bill-filters.ts'
import { cycleOf } from './billrun/cycle-of.ts'
import { EXPECTED_INVOICE, expectedAnswer } from './generate-expected.ts'
import { JSON_TEXT, ONE_OR_SEVERAL, param, WHOLE_NUMBER, WHOLE_NUMBERS } from './parameters.ts'

const PAGE_SIZE_MAX = 1_000
const PAGE_MAX = 1_000_000
const MONTHS_MAX = 1_200

const PARAMETERS = Type.Object({
  action: param.optional(
    param.text(
      '`search` (default): invoices of `aid`; `query`: by `query`; `download`: the document of ' +
        'one as a file; `expected_invoice`: as `generateexpected`, of `aid` and `billrun_key`, ' +
        'with `format` as a file.',
    ),
  ),
  aid: param.optional(param.json('Accounts.', ...WHOLE_NUMBERS)),
  billrun_key: param.optional(param.json('Only these billing cycles.', ...ONE_OR_SEVERAL)),
  months_back: param.optional(
    param.integer('Only the current cycle and so many before it.', {
      minimum: 0,
      maximum: MONTHS_MAX,
    }),
  ),
  paid: param.optional(param.choice(PAID, 'State of the bill; `unpaid` is `0` or `2`.')),
  query: param.optional(
    param.json('`query`: a filter, as for `/billapi`.', customFields('It.'), JSON_TEXT),
  ),
  page: param.optional(param.integer('Page, from 0.', { minimum: 0, maximum: PAGE_MAX })),
  size: param.optional(
    param.integer(`Invoices per page; ${PAGE_SIZE_MAX} by default.`, {
      minimum: 1,
      maximum: PAGE_SIZE_MAX,
    }),
  ),
  iid: param.optional(
    param.json('Number of the invoice to download; without it that of the cycle.', ...WHOLE_NUMBER),
  ),
  format: param.optional(
    param.text('Of the downloaded document: `pdf` (default), `html`, `json` or `ubl`.'),
  ),
  inline: param.optional(
    param.flag('Whether a browser shows the downloaded PDF, also in a frame of this server.'),
  ),
  confirmed_only: param.optional(param.json('Whether only confirmed invoices are downloaded.')),
})

type InvoiceParameters = Static<typeof PARAMETERS>

const INVOICE = ref<object>('invoices.shown')

const ANSWER = {
  details: either(
    'By `action`.',
    mapOf(INVOICE, '`search`: invoices by id, newest cycle first.'),
    ref<readonly object[]>(
      'invoices.list',
      '`query`: invoices; `search` and `expected_invoice`: none.',
    ),
    EXPECTED_INVOICE,
  ),
  next_page: param.optional(flag('Whether there are further invoices.')),
} as const

type InvoicesAnswer = AnswerOf<typeof ANSWER>

export const accountinvoices = action({
  name: 'accountinvoices',
  level: 'read',
  about: 'Invoices of accounts',
  isReadByGet: true,
  parameters: PARAMETERS,
  files: ['application/pdf', 'text/html', 'application/xml'],
  answer: ANSWER,
  example: {
    parameters: { aid: 1, months_back: 3 },
    answer: {
      details: {
        '5f0c7e1a9b3d4c6e8f7a0b1c': {
          _id: { $id: '5f0c7e1a9b3d4c6e8f7a0b1c' },
          aid: 1,
          billrun_key: '202606',
          invoice_id: 101,
        },
      },
      next_page: false,
    },
  },
  async run(parameters, call) {
    const { action: name = '' } = parameters
    const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined
    if (operation === undefined)
      throw new BillingError(`Unknown action ${textOf(name)}`, { path: 'action' })
    return operation(parameters, call)
  },
})

type Operation = (parameters: InvoiceParameters, call: ActionCall) => Promise<InvoicesAnswer>

const OPERATIONS: Readonly<Record<string, Operation>> = {
  '': search,
  search,
  query,
  download,
  expected_invoice: expected,
}

function expected({ aid, billrun_key: key, format }: InvoiceParameters, call: ActionCall) {
  const isGiven = key !== undefined && key !== null && key !== ''
  const file = format === undefined ? {} : { format: formatIn(format) }
  return expectedAnswer({ aid, ...(isGiven && { billrun_key: String(key) }), ...file }, call)
}

async function search(parameters: InvoiceParameters, call: ActionCall): Promise<InvoicesAnswer> {
  const { invoices, nextPage } = await find(parameters, call, accountsFrom(parameters.aid), {})
  const entries = invoices.map((each) => [String(each._id), view(each, call)])
  // Clients know an empty object as an empty list.
  const details = entries.length === 0 ? [] : Object.fromEntries(entries)
  return { details, next_page: nextPage }
}

async function query(parameters: InvoiceParameters, call: ActionCall): Promise<InvoicesAnswer> {
  const conditions = parameters.query ?? {}
  if (!isObject(conditions)) throw new BillingError(...about('query', 'must be an object'))
  const { config, nowMs } = call
  const filter = castQuery(FOUND, conditions, { timeZone: config.rating.timeZone, nowMs })
  const aids = parameters.aid === undefined ? null : accountsFrom(parameters.aid)
  if (aids === null && parameters.paid !== undefined) {
    throw new BillingError('Field paid requires aid', { path: 'aid', code: 'missing' })
  }
  // Cycles under way have documents without subscribers.
  const whole = { $and: [{ subs: { $exists: true } }, filter] }
  const { invoices, nextPage } = await find(parameters, call, aids, whole)
  return { details: invoices.map((each) => view(each, call)), next_page: nextPage }
}

async function download(parameters: InvoiceParameters, call: ActionCall): Promise<InvoicesAnswer> {
  const { iid: idValue, confirmed_only: isConfirmed } = parameters
  const format = formatIn(parameters.format ?? 'pdf')
  const isInline = parameters.inline === true
  // Markup in a frame of this server could look like a part of it.
  if (isInline && format !== 'pdf')
    throw new BillingError(...about('inline', 'requires the format pdf'))
  const aid = isNothing(parameters.aid) ? null : integerFrom(parameters.aid)
  if (aid === null) throw new BillingError('Illegal account ids', { path: 'aid' })
  const iid = isNothing(idValue) ? null : integerFrom(idValue)
  const keys = keysFrom(parameters.billrun_key)
  const filter = {
    aid,
    ...(keys !== null && { billrun_key: { $in: [...keys] } }),
    ...(iid !== null && { invoice_id: iid }),
    ...(isTrue(isConfirmed) && { billed: 1 }),
  }
  const isNamed = iid !== null || keys !== null
  const { catalog, documents } = cycleOf(call)
  const found = isNamed ? await catalog.billrun.findOne(filter) : null
  if (found === null) throw new BillingError('Invoice not found', 'target')
  const file = await documents.documentOf(found, format, call.signal)
  return { [FILE]: isInline ? { ...file, disposition: 'inline', isFramed: true } : file }
}

function formatIn(text: string): DocumentFormat {
  const found = DOCUMENT_FORMATS.find((format) => format === text)
  if (found !== undefined) return found
  throw new BillingError(...about('format', `must be one of ${DOCUMENT_FORMATS.join(', ')}`))
}

function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === 'true' || value === '1'
}

/** Fields of `query`. */
const FOUND = {
  aid: integers,
  billrun_key: texts,
  invoice_id: integers,
  invoice_type: texts,
  billed: integer,
  invoice_date: dates,
  due_date: dates,
} as const

async function find(
  parameters: InvoiceParameters,
  { catalog, config, nowMs }: ActionCall,
  aids: readonly number[] | null,
  filter: Filter,
): Promise<FoundInvoices> {
  const { months_back: months, page = 0, size = PAGE_SIZE_MAX } = parameters
  const current = keyAt(nowMs, calendarOf(config))
  return findInvoices(catalog, {
    aids,
    keys: keysFrom(parameters.billrun_key),
    keyFrom: months === undefined ? null : keyAfter(current, -months),
    paid: paidStatesOf(parameters.paid),
    filter,
    page,
    size,
  })
}

const DATES = [
  'creation_time',
  'invoice_date',
  'start_date',
  'end_date',
  'due_date',
  'confirmation_time',
]

function view(document: BillrunDocument, { config }: ActionCall): object {
  return readView(document, { timeZone: config.rating.timeZone, dateFields: DATES })
}
