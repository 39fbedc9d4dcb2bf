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
import { entityKey, revisionFields } from './entity.ts'

const oneOf = <T extends string>(...texts: T[]) =>
  Type.Union(
    texts.map((each) => Type.Literal(each)),
    { expected: texts.map((each) => `'${each}'`).join(' or ') },
  )

/** `params`, `subject`, `excludes`, `cycles`, `limit` and `priority`: see `checkChargeTerms`. */
export const chargeFields = {
  key: entityKey(),
  ...revisionFields,
  type: Type.Optional(oneOf('monetary', 'percentage')),
  proration: Type.Optional(oneOf('inherited', 'no')),
  params: Type.Optional(Type.Unknown()),
  subject: Type.Optional(Type.Unknown()),
  excludes: Type.Optional(Type.Unknown()),
  limit: Type.Optional(Type.Unknown()),
  cycles: Type.Optional(Type.Unknown()),
  priority: Type.Optional(Type.Unknown()),
  /** Maximum number that may be active at the same time. */
  simultaneous_limit: Type.Optional(
    Type.Integer({ minimum: 1, expected: 'an integer from 1 to 2^53' }),
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
