/** Invoices in answers. */
import { readView } from '../../entities/views.ts'
import type { ActionCall } from './action.ts'

export const INVOICE_DATES = [
  'invoice_date',
  'start_date',
  'end_date',
  'due_date',
  'charge.not_before',
  'confirmation_time',
]

export function invoiceView(invoice: object, { config }: Pick<ActionCall, 'config'>) {
  const shape = { timeZone: config.rating.timeZone, dateFields: INVOICE_DATES, hidden: ['input'] }
  return readView(invoice as Readonly<Record<string, unknown>>, shape)
}
