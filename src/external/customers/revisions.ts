/** Revisions of accounts and subscribers as the customer system returns them. */
import { FieldError, isObject, wholeAt } from '../../domain/fields.ts'
import { parseInstant } from '../../domain/time.ts'

export interface RevisionContext {
  /** IANA zone of datetimes without an offset. */
  readonly timeZone: string
  /** Names of mandatory custom fields. */
  readonly mandatory: readonly string[]
}

/**
 * A revision with the names and types of stored ones: dates are `Date`, `firstname` is
 * `first_name`. Unknown fields are in `fields` as they were sent.
 */
export interface CustomerRevision {
  readonly aid: number
  readonly from: Date
  readonly to: Date
  /** All fields, these included, without `id` and `_id`. */
  readonly fields: Readonly<Record<string, unknown>>
}

export interface SubscriberRevision extends CustomerRevision {
  readonly sid: number
}

/** Throws `FieldError`; `path` is the place of the revision in the answer. */
export function readSubscriberRevision(
  value: unknown,
  path: string,
  context: RevisionContext,
): SubscriberRevision {
  const revision = readAccountRevision(value, path, context)
  return { ...revision, sid: wholeAt(revision.fields['sid'], `${path}.sid`, 1) }
}

/** Throws `FieldError`; `path` is the place of the revision in the answer. */
export function readAccountRevision(
  value: unknown,
  path: string,
  { timeZone }: RevisionContext,
): CustomerRevision {
  if (!isObject(value)) throw new FieldError(path, 'must be an object')
  const { id: _id, ...fields } = value
  const aid = wholeAt(fields['aid'], `${path}.aid`, 1)
  const from = instantAt(fields['from'], `${path}.from`, timeZone)
  const to = instantAt(fields['to'], `${path}.to`, timeZone)
  return { aid, from, to, fields: { ...fields, aid, from, to } }
}

function instantAt(value: unknown, path: string, timeZone: string): Date {
  const ms = typeof value === 'string' ? parseInstant(value, timeZone) : null
  if (ms === null) throw new FieldError(path, 'must be a datetime as in 2026-01-31 12:00:00')
  return new Date(ms)
}
