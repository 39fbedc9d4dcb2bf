/** `generateexpected`: the invoice that an account would get in a cycle; nothing is stored. */
import { Type } from '@sinclair/typebox'
import { calendarOf } from '../../billing/credit/credits.ts'
import { CycleError, type StoredRevision } from '../../billing/cycle/compute.ts'
import { keyAt } from '../../billing/cycle/cycle-key.ts'
import { runCycleOf } from '../../billing/cycle/run-cycle.ts'
import type { DocumentFormat } from '../../billing/documents/documents.ts'
import { NothingToInvoiceError } from '../../billing/documents/errors.ts'
import type { Expectation } from '../../billing/documents/expectation.ts'
import { integerFrom } from '../../billing/payments/payment-order.ts'
import { expectedInvoice } from '../../billing/run/expected.ts'
import { AccountInputError } from '../../billing/run/read-accounts.ts'
import { closed, either, emptyList, ref, text } from '../../catalog/entities/json-schema.ts'
import { isCycleKey } from '../../domain/cycle.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { ActionError, fieldRule, missingParameters, parameterError } from '../../requests/errors.ts'
import { dateOf } from '../../requests/instant.ts'
import { type ActionCall, type AnswerOf, action, FILE } from './action.ts'
import { cycleOf } from './billrun/cycle-of.ts'
import { invoiceView } from './invoice-view.ts'
import { param } from './parameters.ts'

const OUTPUTS = ['invoice_meta_data', 'pdf_path', 'download_pdf'] as const
const REVISIONS_MAX = 1_000

export const EXPECTED_INVOICE = either(
  'The invoice; an empty list without anything to invoice.',
  ref<object>('invoices.shown'),
  closed('`pdf_path`.', { pdf_path: text('Path of the PDF.') }),
  emptyList(),
)

const ANSWER = { details: EXPECTED_INVOICE } as const

type ExpectedAnswer = AnswerOf<typeof ANSWER>

export const generateexpected = action({
  name: 'generateexpected',
  level: 'read',
  about: 'Compute the invoice that an account would get, without storing it',
  parameters: Type.Object({
    aid: param.optional(param.json('The account.')),
    billrun_key: param.optional(param.text('Key of the cycle; the current one by default.')),
    fake_cycle: param.optional(param.flag('Always true.')),
    generate_pdf: param.optional(
      param.flag('Write the PDF into `invoices.folder` too; its path is `invoice_file`.'),
    ),
    download_pdf: param.optional(param.flag('As `output` `download_pdf`.')),
    ignore_cdrs: param.optional(param.flag('Without usage and credits.')),
    output: param.optional(
      param.choice(
        OUTPUTS,
        '`invoice_meta_data` (default): the document; `download_pdf`: the PDF as a file; ' +
          '`pdf_path`: the path of the PDF, written into `invoices.folder`.',
      ),
    ),
    data: param.optional(
      param.json('Revisions in place of the stored ones: `account` and `subscribers`, as lists.'),
    ),
  }),
  files: ['application/pdf'],
  answer: ANSWER,
  example: { parameters: { aid: 1, billrun_key: '202610' }, answer: { details: [] } },
  run: expectedAnswer,
})

/** Parameters of the request; `aid` and `data` as sent. */
export interface ExpectedParameters {
  readonly aid?: unknown
  readonly billrun_key?: string
  readonly ignore_cdrs?: boolean
  readonly output?: (typeof OUTPUTS)[number]
  readonly generate_pdf?: boolean
  readonly download_pdf?: boolean
  readonly data?: unknown
  /** The document as a file. */
  readonly format?: DocumentFormat
}

/** Rejects with `ActionError`. */
export async function expectedAnswer(
  parameters: ExpectedParameters,
  call: ActionCall,
): Promise<ExpectedAnswer> {
  const { billrun_key: cycleKey, ignore_cdrs: ignoresLines = false, data } = parameters
  const aid =
    parameters.aid === undefined || parameters.aid === '' ? null : integerFrom(parameters.aid)
  if (parameters.aid === undefined) throw missingParameters(['aid'])
  if (aid === null || aid < 1) throw parameterError('aid', 'should be of type Integer')
  const calendar = calendarOf(call.config)
  const key = cycleKey ?? keyAt(call.nowMs, calendar)
  if (!isCycleKey(key)) throw new ActionError('Illegal billrun key', { path: 'billrun_key' })
  if (parameters.output === 'pdf_path' && call.config.invoices.folder === '') {
    throw new ActionError('output pdf_path requires invoices.folder in the configuration', {
      path: 'output',
    })
  }
  const cycle = runCycleOf({ key, invoicingDay: null }, calendar)
  const revisions = revisionsIn(data, call)
  const expectation = { aid, cycle, ignoresLines, ...revisions, nowMs: call.nowMs }
  try {
    return await outputOf(parameters, expectation, call)
  } catch (error) {
    const isOfAccount = error instanceof CycleError || error instanceof AccountInputError
    throw isOfAccount ? new ActionError(error.message, { path: 'aid' }) : error
  }
}

async function outputOf(
  parameters: ExpectedParameters,
  expectation: Expectation,
  call: ActionCall,
): Promise<ExpectedAnswer> {
  const { output = parameters.download_pdf === true ? 'download_pdf' : 'invoice_meta_data' } =
    parameters
  const { documents, config, openAccounts, compute } = cycleOf(call)
  const format = output === 'download_pdf' ? 'pdf' : parameters.format
  if (format !== undefined)
    return { [FILE]: await documents.expectedOf(expectation, format, call.signal) }
  if (output === 'pdf_path') {
    return { details: { pdf_path: (await documents.writeExpected(expectation)).path } }
  }
  if (parameters.generate_pdf === true && config.invoices.folder !== '') {
    const written = await orNothing(documents.writeExpected(expectation))
    if (written === null) return { details: [] }
    return { details: { ...invoiceView(written.invoice, call), invoice_file: written.path } }
  }
  const expected = await expectedInvoice({ ...call, openAccounts }, compute, expectation)
  return { details: expected === null ? [] : invoiceView(expected.invoice, call) }
}

/** Null without anything to invoice. */
async function orNothing<T>(written: Promise<T>): Promise<T | null> {
  try {
    return await written
  } catch (error) {
    if (error instanceof NothingToInvoiceError) return null
    throw error
  }
}

function revisionsIn(data: unknown, call: ActionCall) {
  if (data === undefined || data === '') return { account: null, subscribers: null }
  if (!isObject(data)) throw parameterError('data', 'should be of type Object')
  const { account, subscribers } = data
  return {
    account: listOf(account, 'data.account', call),
    subscribers: listOf(subscribers, 'data.subscribers', call),
  }
}

function listOf(value: unknown, path: string, call: ActionCall): StoredRevision[] | null {
  if (value === undefined) return null
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > REVISIONS_MAX || !list.every(isObject)) {
    throw fieldRule(path, 'must be a list of revisions')
  }
  return (list as readonly Fields[])
    .map((each, index) => ({
      ...each,
      ...datesOf(each, `${path}.${index}`, call),
    }))
    .sort((a, b) => a.from.getTime() - b.from.getTime())
}

const DATES = ['plan_activation', 'plan_deactivation', 'activation_date', 'deactivation_date']

function datesOf(revision: Fields, path: string, { config, nowMs }: ActionCall) {
  const time = { timeZone: config.rating.timeZone, nowMs }
  const dateAt = (name: string): Date => {
    const date = dateOf(revision[name], time)
    if (date === null) throw fieldRule(`${path}.${name}`, 'must be a date')
    return date
  }
  const present = DATES.filter((name) => revision[name] !== undefined && revision[name] !== null)
  const more = Object.fromEntries(present.map((name) => [name, dateAt(name)]))
  const services = Array.isArray(revision['services']) ? revision['services'] : null
  return {
    from: dateAt('from'),
    to: dateAt('to'),
    ...more,
    ...(services !== null && {
      services: services.map((service: unknown, index) =>
        isObject(service) && service['from'] !== undefined
          ? { ...service, ...serviceDates(service, `${path}.services.${index}`, time) }
          : service,
      ),
    }),
  }
}

function serviceDates(service: Fields, path: string, time: Parameters<typeof dateOf>[1]) {
  const dates = (['from', 'to'] as const).filter((name) => service[name] !== undefined)
  return Object.fromEntries(
    dates.map((name) => {
      const date = dateOf(service[name], time)
      if (date === null) throw fieldRule(`${path}.${name}`, 'must be a date')
      return [name, date]
    }),
  )
}
