/** `POST /api/accountinvoices`: the invoice documents of an account. */
import { Type } from '@sinclair/typebox'
import {
  createDocuments,
  DOCUMENT_FORMATS,
  type DocumentFormat,
} from '../../billing/documents/documents.ts'
import { loadInvoiceSource } from '../../billing/documents/load-invoice.ts'
import { BillingError } from '../../billing/errors.ts'
import { integerFrom, isNothing } from '../../billing/payments/payment-order.ts'
import type { Filter } from '../../catalog/collections.ts'
import type { BillrunDocument } from '../../catalog/entities/bill.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import { readView } from '../entities/views.ts'
import { type ActionAnswer, type ActionCall, action, FILE } from './action.ts'
import { param } from './parameters.ts'

const INVOICES_MAX = 1_000

export const accountinvoices = action({
  name: 'accountinvoices',
  level: 'read',
  about: 'Invoices of an account',
  isReadByGet: true,
  parameters: Type.Object({
    action: param.optional(
      param.text('`search` (default): invoices; `download`: the document of one as a file.'),
    ),
    aid: param.optional(param.json('The account.')),
    billrun_key: param.optional(param.text('Only this billing cycle.')),
    iid: param.optional(
      param.json('Number of the invoice to download; without it that of the cycle.'),
    ),
    format: param.optional(
      param.text('Of the downloaded document: `pdf` (default), `html`, `json` or `ubl`.'),
    ),
    confirmed_only: param.optional(param.json('Whether only confirmed invoices are downloaded.')),
  }),
  answer: { details: schema.anyValue('Invoices by id.') },
  example: { parameters: { aid: 1 }, answer: { details: [] } },
  async run(sent, call) {
    const { action: name = 'search', billrun_key: key } = sent
    if (name !== 'search' && name !== 'download') throw new BillingError(`Unknown action ${name}`)
    const aid = isNothing(sent.aid) ? null : integerFrom(sent.aid)
    if (aid === null) throw new BillingError('Illegal account ids')
    const filter = { aid, ...(key === undefined ? {} : { billrun_key: key }) }
    if (name === 'search') return search(filter, call)
    const isConfirmed = isTrue(sent.confirmed_only)
    return download({ ...filter, ...(isConfirmed && { billed: 1 }) }, sent, call)
  },
})

type InvoiceFilter = Filter<BillrunDocument>

async function search(
  filter: InvoiceFilter,
  { catalog, config }: ActionCall,
): Promise<ActionAnswer> {
  const found = await catalog.run('find invoices', () =>
    catalog.billrun.find(filter).sort({ billrun_key: -1 }).limit(INVOICES_MAX).toArray(),
  )
  const shape = { timeZone: config.rating.timeZone, dateFields: DATES }
  const entries = found.map((each) => [String(each._id), readView(each, shape)])
  return { details: entries.length === 0 ? [] : Object.fromEntries(entries) }
}

async function download(
  filter: InvoiceFilter,
  sent: { readonly iid?: unknown; readonly format?: string },
  { catalog, config }: ActionCall,
): Promise<ActionAnswer> {
  const { format = 'pdf' } = sent
  if (!isFormat(format)) {
    throw new BillingError(`format must be one of ${DOCUMENT_FORMATS.join(', ')}`)
  }
  const iid = isNothing(sent.iid) ? null : integerFrom(sent.iid)
  const isNamed = iid !== null || filter.billrun_key !== undefined
  const wanted = iid === null ? filter : { ...filter, invoice_id: iid }
  const found = await catalog.run('find an invoice', async () =>
    isNamed ? catalog.billrun.findOne(wanted) : null,
  )
  if (found === null) throw new BillingError('Invoice not found')
  const source = await loadInvoiceSource(catalog, config, found)
  return { [FILE]: await createDocuments(config.invoices).documentOf(source, format) }
}

function isFormat(text: string): text is DocumentFormat {
  return DOCUMENT_FORMATS.some((format) => format === text)
}

function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === 'true' || value === '1'
}

const DATES = ['invoice_date', 'start_date', 'end_date', 'due_date', 'confirmation_time']
