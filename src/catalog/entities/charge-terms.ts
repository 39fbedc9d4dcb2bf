/** Terms of discounts and charges: what is deducted or added. */
import { Type } from '@sinclair/typebox'
import {
  amountAt,
  entriesAt,
  FieldError,
  type Fields,
  isUnset,
  objectAt,
  textsAt,
  wholeAt,
} from '../../domain/fields.ts'
import { field, KEY_API, READS } from './api.ts'
import { choice, date, entityKey, revisionFields, unchecked } from './entity.ts'
import { listOf, ref, text as textSchema } from './json-schema.ts'

const FOUND = [...READS, 'export'] as const

/** Both have these actions. */
export const CHARGE_ACTIONS = [
  ...FOUND,
  'create',
  'update',
  'close',
  'closeandnew',
  'delete',
  'move',
] as const

/** `params`, `subject`, `excludes`, `cycles`, `limit` and `priority`: see `checkChargeTerms`. */
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
    Type.Optional(choice('inherited', 'no')),
    'Whether it is prorated like its subject.',
  ),
  excludes: field(
    unchecked(),
    listOf(textSchema('Key of another one.'), 'Others that do not apply at the same time.'),
  ),
  priority: field(unchecked(), 'Priority, as text of an integer.', { type: 'string' }),
  /** Maximum number that may be active at the same time. */
  simultaneous_limit: field(
    Type.Optional(Type.Integer({ minimum: 1, expected: 'an integer from 1 to 2^53' })),
    'How many may apply at the same time.',
  ),
}

/** Subjects with a single `value`; all other subjects have one per name. */
const WHOLE_SUBJECTS = new Set(['general', 'monthly_fees', 'matched_plans', 'matched_services'])

/** Throws `FieldError` with the path of an invalid amount or number. */
export function checkChargeTerms(document: Fields): void {
  for (const [kind, subject] of entriesAt(document['subject'], 'subject')) {
    const at = `subject.${kind}`
    if (WHOLE_SUBJECTS.has(kind)) checkValue(subject, at)
    else for (const [name, one] of entriesAt(subject, at)) checkValue(one, `${at}.${name}`)
  }
  for (const [name, value] of entriesAt(document['params'], 'params')) {
    if (!COUNTS.has(name) || isUnset(value)) continue
    wholeAt(value, `params.${name}`, 1)
  }
  if (!isUnset(document['cycles'])) wholeAt(document['cycles'], 'cycles', 1)
  if (!isUnset(document['limit'])) amountAt(document['limit'], 'limit')
  if (!isUnset(document['priority'])) priorityAt(document['priority'])
  textsAt(document['excludes'], 'excludes')
}

const COUNTS: ReadonlySet<string> = new Set(['min_subscribers', 'max_subscribers', 'cycles'])

/** Money, or a fraction if `percentage`. */
function checkValue(subject: unknown, path: string): void {
  amountAt(objectAt(subject, path)['value'], `${path}.value`)
}

function priorityAt(value: unknown): void {
  const isWhole = typeof value === 'number' ? Number.isSafeInteger(value) : isWholeText(value)
  if (!isWhole) throw new FieldError('priority', 'must be an integer')
}

function isWholeText(value: unknown): boolean {
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value)
}
