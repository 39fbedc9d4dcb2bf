/** `POST /api/accountinvoices`: the invoice documents of an account. */
import { Type } from '@sinclair/typebox'
import { BillingError } from '../../billing/errors.ts'
import { integerFrom, isNothing } from '../../billing/payments/payment-order.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import { readView } from '../entities/views.ts'
import { action } from './action.ts'
import { param } from './parameters.ts'

const INVOICES_MAX = 1_000

export const accountinvoices = action({
  name: 'accountinvoices',
  level: 'read',
  about: 'Invoices of an account',
  isReadByGet: true,
  parameters: Type.Object({
    action: param.optional(
      param.text('`search` (default): invoices; `download`: a document, which is not kept yet.'),
    ),
    aid: param.optional(param.json('The account.')),
    billrun_key: param.optional(param.text('Only this billing cycle.')),
    iid: param.optional(param.json('Number of the invoice to download.')),
  }),
  answer: { details: schema.anyValue('Invoices by id.') },
  example: { parameters: { aid: 1 }, answer: { details: [] } },
  async run({ action: name = 'search', aid: sent, billrun_key: key }, { catalog, config }) {
    if (name === 'download') throw new BillingError('Invoice not found')
    if (name !== 'search') throw new BillingError(`Unknown action ${name}`)
    const aid = isNothing(sent) ? null : integerFrom(sent)
    if (aid === null) throw new BillingError('Illegal account ids')
    const filter = { aid, ...(key === undefined ? {} : { billrun_key: key }) }
    const found = await catalog.run('find invoices', () =>
      catalog.billrun.find(filter).sort({ billrun_key: -1 }).limit(INVOICES_MAX).toArray(),
    )
    const shape = { timeZone: config.rating.timeZone, dateFields: DATES }
    const entries = found.map((each) => [String(each._id), readView(each, shape)])
    return { details: entries.length === 0 ? [] : Object.fromEntries(entries) }
  },
})

const DATES = ['invoice_date', 'start_date', 'end_date', 'due_date', 'confirmation_time']
