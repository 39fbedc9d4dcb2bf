/** `/billrun/confirmcycle`: invoices become bills, and are not changed any more. */
import { Type } from '@sinclair/typebox'
import { confirmInvoices, hasUnconfirmed } from '../../../billing/run/confirm.ts'
import { closed, either, integer, listOf, text } from '../../../catalog/entities/json-schema.ts'
import { beginJob } from '../../../jobs/jobs.ts'
import { ActionError, parameterError } from '../../../requests/errors.ts'
import { action } from '../action.ts'
import { param, WHOLE_NUMBERS } from '../parameters.ts'
import { cycleOf } from './cycle-of.ts'
import { INVOICING_DAY, namedCycle, STAMP, stateOf } from './parameters.ts'

const REFUSED = {
  // With the blank of the text that existing clients know.
  stamp: 'stamp is in incorrect format or missing ',
  day: 'Need to pass numeric invoicing day when on multi day cycle mode.',
}
const NOTHING = 'Cycle was confirmed already, or no invoices were found to confirm'
/** Further ones need a job, which confirms all. */
const INVOICES_MAX = 1_000

export const confirmcycle = action({
  family: 'billrun',
  name: 'confirmcycle',
  level: 'admin',
  about: 'Confirm invoices: they become bills and are sent; all of a cycle in the background',
  parameters: Type.Object({
    stamp: STAMP,
    invoices: param.optional(param.json('Numbers of the only invoices.', ...WHOLE_NUMBERS)),
    generate_pdf: param.optional(
      param.text(
        '`true` or `false`: whether their PDF is written into `invoices.folder`; as the run, ' +
          'or the setting `billrun.generate_pdf`, if not given.',
      ),
    ),
    invoicing_day: INVOICING_DAY,
  }),
  answer: {
    details: either(
      'All invoices, or given ones.',
      closed('All: in the background.', { job: text('Id of the job (collection `jobs`).') }),
      closed('Given ones.', {
        confirmed: integer('Number of confirmed invoices.'),
        not_for_bill: integer('Number of those that become no bill.'),
        refused: listOf(
          closed('An invoice.', { invoice_id: integer('Its number.'), reason: text('Why.') }),
          'Invoices that are not confirmed.',
        ),
      }),
    ),
  },
  example: {
    parameters: { stamp: '202610', invoices: '101,102' },
    answer: { details: { confirmed: 2, not_for_bill: 0, refused: [] } },
  },
  async run(parameters, call) {
    const name = await namedCycle(call, parameters, REFUSED)
    const invoices = numbersOf(parameters.invoices)
    const generatePdf = flagOf(parameters.generate_pdf)
    const { cycle, status } = await stateOf(call, name)
    if (status === 'running') {
      throw new ActionError(
        "Can't confirm invoices while the billing cycle run is ongoing",
        'refused',
      )
    }
    if (!(await hasUnconfirmed(call.catalog, cycle, invoices)))
      throw new ActionError(NOTHING, 'refused')
    const { actor, catalog, clock } = call
    if (invoices === null) {
      const options = { ...name, ...(generatePdf !== undefined && { generatePdf }) }
      const request = { kind: 'confirm', subject: cycle.id, options, actor } as const
      const job = await beginJob({ catalog, clock }, request)
      return { details: { job: job._id.toHexString() } }
    }
    const parts = cycleOf(call)
    const order = { cycle, invoices, actor, generatePdf }
    const { refused, ...counts } = await confirmInvoices({ ...parts, catalog: parts.batch }, order)
    return { details: { ...counts, refused } }
  },
})

function flagOf(value: string | undefined): boolean | undefined {
  if (value === undefined || value === '') return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  throw parameterError('generate_pdf', 'must be true or false')
}

function numbersOf(value: unknown): number[] | null {
  if (value === undefined || value === '') return null
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  const numbers = list.map((each) => (/^\s*\d{1,15}\s*$/.test(String(each)) ? Number(each) : 0))
  if (numbers.includes(0) || numbers.length === 0) {
    throw parameterError('invoices', 'must be numbers of invoices')
  }
  if (numbers.length > INVOICES_MAX) {
    throw parameterError('invoices', `has more than ${INVOICES_MAX} members`)
  }
  return [...new Set(numbers)]
}
