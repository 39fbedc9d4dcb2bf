/** Shape of a definition for its editor: the API describes its parts only in docs/REPORTS.md. */
import type { Schema } from '../../parts/document/schemas.ts'

const TEXT: Schema = { type: 'string' }
const ENTITY: Schema = {
  enum: ['usage', 'usage_archive', 'subscription', 'customer', 'bills', 'event'],
}

function listOf(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { type: 'array', items: { type: 'object', properties, required } }
}

const GROUP_OPS = [
  'group',
  'count',
  'sum',
  'avg',
  'min',
  'max',
  'first',
  'last',
  'push',
  'addToSet',
]
const COMPARISONS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte']
const CONDITION_OPS = [
  ...[...COMPARISONS, 'in', 'nin', 'between', 'like', 'starts_with', 'ends_with', 'exists'],
  ...['in_range', 'nin_range', 'is_true', 'is_false', 'last_hours', 'last_days'],
  ...['last_days_include_today', ...COMPARISONS.map((op) => `${op}_constant`)],
]
const FORMAT_OPS = [
  ...['date_format', 'time_format', 'datetime_format', 'date_override', 'billing_cycle'],
  ...['vat_format', 'currency_format', 'multiplication', 'json', 'rename_true', 'rename_false'],
  'default_empty',
]

export const REPORT: Schema = {
  type: 'object',
  required: ['key', 'entity', 'type', 'columns'],
  properties: {
    key: TEXT,
    entity: ENTITY,
    type: { enum: [0, 1] },
    columns: listOf(
      { field_name: TEXT, label: TEXT, op: { enum: GROUP_OPS }, key: TEXT, entity: ENTITY },
      ['field_name', 'label'],
    ),
    conditions: listOf(
      {
        ...{ field: TEXT, op: { enum: CONDITION_OPS }, value: {}, entity: ENTITY },
        type: { enum: ['string', 'number', 'boolean', 'date'] },
      },
      ['field', 'op', 'value'],
    ),
    sorts: listOf({ field: TEXT, op: { enum: [1, -1] } }, ['field', 'op']),
    formats: listOf({ field: TEXT, op: { enum: FORMAT_OPS }, value: {} }, ['field', 'op']),
  },
}

export const NEW_REPORT = {
  ...{ key: '', entity: 'usage', type: '1' },
  columns: [{ field_name: 'plan', label: 'Plan', op: 'group' }],
}
