/** The built-in report of taxes. */
import type { Fields } from '../domain/fields.ts'

const sum = (key: string, field_name: string, label: string) => ({
  key,
  field_name,
  label,
  op: 'sum',
})
const group = (key: string, field_name: string, label: string) => ({
  key,
  field_name,
  label,
  op: 'group',
})

/** Amounts of the last confirmed cycle by rate of tax. */
export const TAXATION_REPORT: Fields = {
  key: 'taxation',
  entity: 'usage',
  type: 1,
  columns: [
    group('billrun', 'billrun', 'Billing cycle'),
    group('tax_rate', 'tax_data.total_tax', 'Tax rate'),
    sum('before_tax', 'aprice', 'Before tax'),
    sum('tax', 'tax_data.total_amount', 'Tax'),
    sum('after_tax', 'final_charge', 'After tax'),
  ],
  conditions: [
    { field: 'billrun', op: 'eq', value: 'last_confirmed' },
    { field: 'type', op: 'ne', value: 'balance' },
  ],
  sorts: [{ field: 'tax_rate', op: 1 }],
}
