/**
 * Reads the services of a message: the members of its list, or the message itself as the only one.
 */

import {
  opensSession,
  type RequestKind,
  type ServicePart,
  type ServiceRequest,
  serviceIdentifierOf,
} from '../domain/charge-request.ts'
import { isObject } from '../domain/fields.ts'
import { isSameService } from '../domain/session-services.ts'
import { DecodeErrors } from './decode-errors.ts'
import type { FieldProblem, Message, SkippedService } from './file-type.ts'
import type { FilterEffect, ServiceScope } from './filters.ts'
import { mergedService } from './merged-service.ts'
import type { Path, Scope } from './paths.ts'
import type { RecordType } from './record-types.ts'
import type { RetainedField } from './rules.ts'
import { retainedFieldsOf } from './subscriber.ts'
import { type PartRule, type UsageRule, usagetOf } from './usage.ts'
import type { VolumeTerm } from './volume-terms.ts'

export interface ServicesPlan {
  /** Path of the list; null if messages have one service. */
  readonly list: Path | null
  /**
   * Whether an invalid member of the list is refused alone and repeated members are merged.
   * Otherwise the whole message is refused.
   */
  readonly handlesMembersSeparately: boolean
  /** If this field is absent nothing is requested, except by an event. */
  readonly requestedField: Path | null
  readonly usage: readonly UsageRule[]
  /** All terms that report usage. */
  readonly reports: readonly VolumeTerm[]
  readonly filter: (scope: ServiceScope) => FilterEffect
  readonly retained: readonly RetainedField[]
}

/** Properties of a request that determine the required fields of its services. */
export interface RequestShape {
  record: RecordType
  refund: boolean
  servicesMax: number
  /** Number of listed services; 1 until they are counted. */
  members: number
}

export interface ReadServices {
  services: ServiceRequest[]
  skipped: SkippedService[]
  /** See `Echo.entries`. */
  entries: Message[]
  /** Value of `stamp_fields` of each service; empty for services without one. */
  stamps: string[]
}

const RATING_GROUP_MAX = 2 ** 32 - 1
const SERVICE_IDENTIFIER_MAX = 2 ** 32 - 1
/** Maximum per service. */
const SERVICE_IDENTIFIERS_MAX = 16

/** After an error, returns what was read before it. */
export function readServices(
  plan: ServicesPlan,
  message: Message,
  form: RequestShape,
  findings: DecodeErrors,
): ReadServices {
  const list = plan.list?.in(message)
  const found: ReadServices = { services: [], skipped: [], entries: [], stamps: [] }
  const isAbsent = plan.handlesMembersSeparately && Array.isArray(list) && list.length === 0
  if (list === undefined || plan.list === null || isAbsent) {
    found.entries.push(message)
    readEntry(plan, { entry: message, message }, form, found, findings)
    return found
  }
  const members: readonly unknown[] = Array.isArray(list) ? list : [list]
  const { name } = plan.list
  if (members.length > form.servicesMax) {
    findings.failTooMany(name, form.servicesMax)
    return found
  }
  if (members.length === 0 && opensSession(form.record.kind)) {
    findings.fail(name, 'must have at least one service')
  }
  form.members = members.length
  readMembers(plan, members, { message, name }, form, found, findings)
  return found
}

function readMembers(
  plan: ServicesPlan,
  members: readonly unknown[],
  { message, name }: { message: Message; name: string },
  form: RequestShape,
  found: ReadServices,
  findings: DecodeErrors,
): void {
  let refused: FieldProblem | null = null
  for (let index = 0; index < members.length && findings.problem === null; index += 1) {
    const member = members[index]
    if (!isObject(member)) {
      findings.fail(`${name}.${index}`, 'must be a record')
      return
    }
    findings.prefix = `${name}.${index}.`
    found.entries.push(member)
    const isService = readEntry(plan, { entry: member, message }, form, found, findings)
    if (plan.handlesMembersSeparately && findings.problem !== null) {
      refused ??= findings.problem
      refuse(found, findings.problem)
      findings.problem = null
    } else if (!isService) found.entries.pop()
    findings.prefix = ''
  }
  // If all services are refused, the error of the first one is the answer to the message.
  const isAllRefused = found.services.length === 0 && found.skipped.every(({ problem }) => problem)
  if (refused !== null && isAllRefused) findings.problem ??= refused
}

/** Replaces the last entry by its error, which its answer reports. */
function refuse(found: ReadServices, problem: FieldProblem): void {
  const index = found.entries.length - 1
  const service = { ratingGroup: -1, serviceIdentifier: '', usaget: '', granted: 0 }
  found.skipped = found.skipped.filter((skipped) => skipped.index !== index)
  found.skipped.push({ index, ...service, problem })
}

/** Adds the service of the last of `found.entries`; returns false if the entry is not a service. */
function readEntry(
  plan: ServicesPlan,
  { entry, message }: Scope,
  form: RequestShape,
  found: ReadServices,
  findings: DecodeErrors,
): boolean {
  const { record } = form
  const scope: ServiceScope = { entry, message, usaget: '', recordType: record.name }
  const rule = ruleOf(plan.usage, scope)
  const isBare = entry === message && isBareStart(plan, rule, record, scope)
  if (rule === null) {
    const isRequired =
      (opensSession(record.kind) && !form.refund && !isBare) || reportsUsage(plan, scope)
    if (isRequired) findings.failEntry('is of no usage type of the file type')
    return false
  }
  scope.usaget = usagetOf(rule, scope, findings)
  const effect = plan.filter(scope)
  const isSkipped = effect === 'skip'
  if (isBare && !isSkipped) return false
  const requested = readRequested(plan, rule, scope, form, isSkipped, findings)
  const ratingGroup = readRatingGroup(rule, scope, findings)
  const serviceIdentifier = readServiceIdentifier(rule, scope, findings)
  const { usaget } = scope
  if (isSkipped) {
    const index = found.entries.length - 1
    const granted = Math.max(requested, 0)
    const problem = null
    found.skipped.push({ index, ratingGroup, serviceIdentifier, usaget, granted, problem })
    return true
  }
  const used = readUsed(rule, scope, form, findings)
  const service: ServiceRequest = {
    ratingGroup,
    serviceIdentifier,
    usaget,
    requested,
    used: Math.max(0, used),
    usedBefore: used > 0 ? usedBeforeOf(rule, scope, findings) : -1,
    // Without a report the total is unknown, not 0.
    isTotal: rule.isTotal && used >= 0,
    calledNumber: rule.calledNumber === null ? '' : rule.calledNumber(scope, findings),
    rateKey: '',
    untaxed: effect === 'untaxed',
    checksCredit: requested === 0 && plan.requestedField !== null && record.kind !== 'event',
    parts: readParts(rule, scope, form, requested, findings),
    fields: entry === message ? null : retainedFieldsOf(plan.retained, entry, findings),
  }
  if (entry === message && isEmptyService(plan, record, service)) return false
  const same = found.services.findIndex((other) => isSameService(other, service))
  if (same >= 0 && plan.handlesMembersSeparately) {
    if (findings.problem !== null) return true
    found.services[same] = mergedService(found.services[same] as ServiceRequest, service)
    return false
  }
  if (same >= 0) {
    findings.failEntry('repeats a service: its rating group and usage type are those of another')
  }
  const stamp = rule.stamp === null ? '' : rule.stamp(scope, findings)
  if (plan.handlesMembersSeparately && findings.problem !== null) return true
  found.services.push(service)
  found.stamps.push(stamp)
  return true
}

/**
 * If messages may have a list of services, a start without one opens the session for the services
 * of later updates, unless it requests units itself. Default volumes apply only to named services:
 * in the list, by usage type, or by a requesting field.
 */
function isBareStart(
  plan: ServicesPlan,
  rule: UsageRule | null,
  { kind }: RecordType,
  scope: Scope,
): boolean {
  if (plan.list === null || kind !== 'start' || reportsUsage(plan, scope)) return false
  if (plan.requestedField !== null) return plan.requestedField.read(scope) === undefined
  if (rule === null || rule.usagetField !== null || rule.defaults.start < 0) return false
  return rule.requested.read(scope, new DecodeErrors()) === -1
}

/**
 * If messages may have a list, a message without it that neither requests nor reports has no
 * service.
 */
function isEmptyService(
  { list }: ServicesPlan,
  { kind }: RecordType,
  { requested, used }: ServiceRequest,
): boolean {
  return list !== null && !opensSession(kind) && requested < 0 && used === 0
}

function ruleOf(usage: readonly UsageRule[], scope: Scope): UsageRule | null {
  for (let at = 0; at < usage.length; at += 1) {
    const rule = usage[at] as UsageRule
    if (rule.matches(scope)) return rule
  }
  return null
}

/**
 * Whether any usage other than zero is reported: usage that no rule matches must not be ignored.
 */
function reportsUsage({ reports }: ServicesPlan, scope: Scope): boolean {
  return reports.some((report) => report.values(scope).some(isNotZero))
}

/** A value that is not a number counts as usage; records cannot be converted. */
function isNotZero(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false
  return typeof value === 'object' || Number(value) !== 0
}

/** Requested units; -1 if none. */
function readRequested(
  plan: ServicesPlan,
  rule: UsageRule,
  scope: Scope,
  { record: { kind, name }, refund }: RequestShape,
  isSkipped: boolean,
  findings: DecodeErrors,
): number {
  // A release requests nothing, even if some network elements send a volume.
  if (kind === 'release') return -1
  if (
    kind === 'update' &&
    plan.requestedField?.read(scope) === undefined &&
    plan.requestedField !== null
  )
    return -1
  const requested = requestedUnits(rule, scope, kind, findings)
  if (requested >= 0 || refund) return requested
  const absent = rule.defaults[kind]
  if (absent < 0 && opensSession(kind) && !isSkipped) {
    const why = `is required in ${article(kind)} ${name}, and there is no default volume`
    findings.fail(rule.requested.name, why)
  }
  return absent
}

/**
 * Requests beyond the largest number are clamped, as the grant is limited anyway. An event is
 * debited as a whole, so its units must be exact.
 */
function requestedUnits(
  rule: UsageRule | PartRule,
  scope: Scope,
  kind: RequestKind,
  findings: DecodeErrors,
): number {
  findings.isClamping = kind !== 'event'
  const units = rule.requested.read(scope, findings)
  findings.isClamping = false
  return units
}

/** Reported units; -1 if none. */
function readUsed(
  { used }: UsageRule,
  scope: Scope,
  { record: { kind, name }, members }: RequestShape,
  findings: DecodeErrors,
): number {
  const units = used.read(scope, findings)
  if (units > 0 && opensSession(kind)) {
    findings.fail(used.name, `must be 0 or absent in ${article(kind)} ${name}`)
  }
  // A report outside of the entries would count for each service.
  const { entry } = scope
  if (units > 0 && members > 1 && used.read({ entry, message: entry }, findings) !== units) {
    findings.fail(used.name, 'must be in the service itself: it is one of several')
  }
  return units
}

/** Units used before the tariff change; -1 if the message does not say. */
function usedBeforeOf({ used, isTotal }: UsageRule, scope: Scope, findings: DecodeErrors): number {
  return isTotal || used.before === null ? -1 : used.before(scope, findings)
}

/** Null if the message has no parts. `requested`: units requested of the service itself. */
function readParts(
  { parts: rules, isTotal }: UsageRule,
  scope: Scope,
  form: RequestShape,
  requested: number,
  findings: DecodeErrors,
): ServiceRequest['parts'] {
  let parts: ServicePart[] | null = null
  for (let at = 0; at < rules.length; at += 1) {
    const rule = rules[at] as PartRule
    const { usaget, role, used } = rule
    const asked = partRequested(rule, scope, form, requested, findings)
    // A value outside of the entries does not belong to each service.
    const { entry } = scope
    const own = form.members > 1 ? { entry, message: entry } : scope
    const units = opensSession(form.record.kind) ? 0 : Math.max(0, used.read(own, findings))
    // A `held` part is kept: the message does not say whether the session holds a grant of it.
    if (role !== 'held' && asked < 0 && units === 0) continue
    const isSplit = units > 0 && !isTotal && used.before !== null
    const usedBefore = isSplit && used.before !== null ? used.before(own, findings) : -1
    const part: ServicePart = { usaget, role, requested: asked, used: units, usedBefore }
    if (parts === null) parts = [part]
    else parts.push(part)
  }
  return parts
}

/** Requested units of a part; -1 for none. */
function partRequested(
  rule: PartRule,
  scope: Scope,
  { record: { kind } }: RequestShape,
  requested: number,
  findings: DecodeErrors,
): number {
  if (requested < 0) return -1
  // If no units of the service are requested, none of its parts are.
  if (requested === 0) return rule.role === 'beside' ? -1 : 0
  const own = requestedUnits(rule, scope, kind, findings)
  if (own >= 0 || rule.role === 'beside') return own
  return rule.role === 'preferred' ? requested : rule.defaults[kind]
}

function article(kind: RequestKind): string {
  return kind === 'event' ? 'an' : 'a'
}

function readRatingGroup(
  { ratingGroup, serviceIdentifier }: UsageRule,
  scope: Scope,
  findings: DecodeErrors,
): number {
  if (ratingGroup === null) return -1
  const value = ratingGroup.read(scope)
  // The service identifier may be used instead, and may have several values.
  const first = serviceIdentifier !== null && Array.isArray(value) ? value[0] : value
  return findings.whole(first, ratingGroup.name, RATING_GROUP_MAX)
}

/** One or more numbers; empty if absent. */
function readServiceIdentifier(
  { serviceIdentifier }: UsageRule,
  scope: Scope,
  findings: DecodeErrors,
): string {
  const value = serviceIdentifier?.read(scope)
  if (value === undefined || serviceIdentifier === null) return ''
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  const { name } = serviceIdentifier
  if (list.length > SERVICE_IDENTIFIERS_MAX) {
    findings.fail(name, `must be at most ${SERVICE_IDENTIFIERS_MAX} numbers`)
    return ''
  }
  const numbers = list.map((each) => findings.whole(each, name, SERVICE_IDENTIFIER_MAX))
  return serviceIdentifierOf(numbers.filter((number) => number >= 0))
}
