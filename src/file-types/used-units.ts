/** Reads the units that a service has used. */
import { opensSession, type RequestKind } from '../domain/charge-request.ts'
import type { DecodeErrors } from './decode-errors.ts'
import type { Scope } from './paths.ts'
import type { RecordType } from './record-types.ts'
import type { UsageRule } from './usage.ts'

/** `members`: listed services. */
interface Shape {
  record: RecordType
  members: number
}

/** Those of a record, which must have some. */
export function requiredUsage(
  { used }: UsageRule,
  scope: Scope,
  { members }: Shape,
  errors: DecodeErrors,
): number {
  const units = used.read(scope, errors)
  if (units < 0) errors.fail(used.name, 'is required')
  checkOwn(used, scope, members, units, errors)
  return units
}

/** A report outside of the entries would count for each service. */
function checkOwn(
  used: UsageRule['used'],
  { entry }: Scope,
  members: number,
  units: number,
  errors: DecodeErrors,
): void {
  if (units <= 0 || members < 2 || used.read({ entry, message: entry }, errors) === units) return
  errors.fail(used.name, 'must be in the service itself: it is one of several')
}

/** Reported units; -1 if none. */
export function readUsed(
  { used }: UsageRule,
  scope: Scope,
  { record: { kind, name }, members }: Shape,
  errors: DecodeErrors,
): number {
  const units = used.read(scope, errors)
  if (units > 0 && opensSession(kind)) {
    errors.fail(used.name, `must be 0 or absent in ${article(kind)} ${name}`)
  }
  checkOwn(used, scope, members, units, errors)
  return units
}

/** Units used before the tariff change; -1 if the message does not say. */
export function usedBeforeOf(
  { used, isTotal }: UsageRule,
  scope: Scope,
  errors: DecodeErrors,
): number {
  return isTotal || used.before === null ? -1 : used.before(scope, errors)
}

export function article(kind: RequestKind): string {
  return kind === 'event' ? 'an' : 'a'
}
