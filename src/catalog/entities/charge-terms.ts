/** Terms of discounts and charges: what is deducted or added. */
import { Type } from '@sinclair/typebox'
import { field, KEY_API, READS } from './api.ts'
import { choice, date, entityKey, revisionFields, unchecked } from './entity.ts'
import { listOf, ref, text as textSchema } from './json-schema.ts'

const FOUND = [...READS, 'export'] as const

/** Actions of discounts and of charges. */
export const CHARGE_ACTIONS = [
  ...FOUND,
  'create',
  'update',
  'close',
  'closeandnew',
  'delete',
  'move',
] as const

/** The unchecked fields are checked by compile/discount.ts. */
export const chargeFields = {
  ...revisionFields,
  from: field(date(), 'Start of the revision; on create, now by default.', {
    update: [],
    configured: { type: 'datetime', title: 'From' },
  }),
  to: field(date(), 'End of the revision; on create, no end by default.', {
    update: [],
    configured: { type: 'datetime', title: 'To' },
  }),
  key: field(entityKey(), 'Key: capital letters, digits and `_`; never changes.', {
    ...KEY_API,
    query: FOUND,
    configured: { type: 'text', title: 'Key' },
  }),
  description: field(unchecked(), 'Description.', {
    type: 'string',
    query: FOUND,
    configured: { type: 'text', title: 'Description' },
  }),
  limit: field(unchecked(), 'Maximum amount, as decimal text.', { type: 'string' }),
  cycles: field(unchecked(), 'Number of cycles in which it applies.', { type: 'string' }),
  params: field(
    unchecked(),
    ref('chargeParams', 'Conditions for the charge or discount to apply.'),
  ),
  type: field(
    Type.Optional(choice('monetary', 'percentage')),
    'Whether the values are money or fractions.',
  ),
  subject: field(unchecked(), ref('chargeSubject', 'What it applies to, with the amounts.')),
  proration: field(
    Type.Optional(choice('inherited', 'yes', 'no')),
    'Whether a part of a cycle counts as a part: like its subject (default), always, or never.',
  ),
  excludes: field(
    unchecked(),
    listOf(textSchema('Key of another one.'), 'Others that do not apply at the same time.'),
  ),
  priority: field(unchecked(), 'Priority, as text of an integer.', { type: 'string' }),
  percentage_on_field: field(
    Type.Optional(choice('full_price', 'aprice')),
    'Of what a percentage is taken: of the price of a whole cycle (default), or of the charge.',
  ),
  /** 0: none; -1: no limit. */
  simultaneous_limit: field(
    Type.Optional(Type.Integer({ minimum: -1, expected: 'an integer from -1 to 2^53' })),
    'Maximum number of lines per invoice: 0 for none, -1 for no limit.',
  ),
  rounding_rules: field(
    unchecked(),
    ref('roundingRules', 'How its lines are rounded; like the line that it applies to by default.'),
  ),
}
