/** The services of a message: the members of its list, or the message itself as the only one. */

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
  /** Path of the list; null where messages have one service. */
  readonly list: Path | null
  /**
   * Whether a member of the list that cannot be read is refused alone, and one that repeats another
   * is taken together with it. Else the whole message is refused.
   */
  readonly handlesMembersSeparately: boolean
  /** A field whose absence means that nothing is asked for, except by an event. */
  readonly requestedField: Path | null
  readonly usage: readonly UsageRule[]
  /** All fields that report usage. */
  readonly reports: readonly VolumeTerm[]
  readonly filter: (scope: ServiceScope) => FilterEffect
  readonly retained: readonly RetainedField[]
}

/** What of a request decides which fields its services need. */
export interface RequestShape {
  record: RecordType
  refund: boolean
  servicesMax: number
  /** How many services the message lists; 1 until they are counted. */
  members: number
}

export interface ReadServices {
  services: ServiceRequest[]
  skipped: SkippedService[]
  /** As `Echo.entries`. */
  entries: Message[]
  /** What `stamp_fields` are of each of the services; empty of those that have none. */
  stamps: string[]
}

const RATING_GROUP_MAX = 2 ** 32 - 1
const SERVICE_IDENTIFIER_MAX = 2 ** 32 - 1
/** Of one service. */
const SERVICE_IDENTIFIERS_MAX = 16

/** After a problem, what was read until then. */
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
  // With nothing left the message has only this to be answered with.
  const isAllRefused = found.services.length === 0 && found.skipped.every(({ problem }) => problem)
  if (refused !== null && isAllRefused) findings.problem ??= refused
}

/** The last entry is no service: what is wrong with it is its answer. */
function refuse(found: ReadServices, problem: FieldProblem): void {
  const index = found.entries.length - 1
  const service = { ratingGroup: -1, serviceIdentifier: '', usaget: '', granted: 0 }
  found.skipped = found.skipped.filter((skipped) => skipped.index !== index)
  found.skipped.push({ index, ...service, problem })
}

/** Adds the service that the last of `found.entries` is; false if it is none. */
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
    // Without a report nothing is said of the total: it is not 0.
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
 * Where messages may have a list of services, a start without one opens the session for the
 * services of its updates, unless it asks for units itself. Default volumes are of services that
 * are named: in the list, by their usage type, or by a field that asks.
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

/** Where messages may have a list, one without it that asks and reports nothing has no service. */
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

/** Anything but zero: usage that nobody would charge must not pass. */
function reportsUsage({ reports }: ServicesPlan, scope: Scope): boolean {
  return reports.some((report) => report.values(scope).some(isNotZero))
}

/** What is no number at all is reported, too; a record cannot be made one. */
function isNotZero(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false
  return typeof value === 'object' || Number(value) !== 0
}

/** Units asked for; -1 if none are. */
function readRequested(
  plan: ServicesPlan,
  rule: UsageRule,
  scope: Scope,
  { record: { kind, name }, refund }: RequestShape,
  isSkipped: boolean,
  findings: DecodeErrors,
): number {
  // A release asks for nothing more, whatever some network elements put there.
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
 * Whoever asks for more than can be counted gets what can be granted. An event is debited as a
 * whole, so that its units have to be exact.
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

/** Units reported; -1 if none are. */
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
  // Else it would count for each of them.
  const { entry } = scope
  if (units > 0 && members > 1 && used.read({ entry, message: entry }, findings) !== units) {
    findings.fail(used.name, 'must be in the service itself: it is one of several')
  }
  return units
}

/** Of what is reported the units from before a tariff change; -1 if the message does not say. */
function usedBeforeOf({ used, isTotal }: UsageRule, scope: Scope, findings: DecodeErrors): number {
  return isTotal || used.before === null ? -1 : used.before(scope, findings)
}

/** Null where the message has nothing of any. `requested`: of the service's own units. */
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
    // What the message has for all of its services is not of each of them.
    const { entry } = scope
    const own = form.members > 1 ? { entry, message: entry } : scope
    const units = opensSession(form.record.kind) ? 0 : Math.max(0, used.read(own, findings))
    // Whether the session has been granted what it may hold, the message does not know.
    if (role !== 'held' && asked < 0 && units === 0) continue
    const isSplit = units > 0 && !isTotal && used.before !== null
    const usedBefore = isSplit && used.before !== null ? used.before(own, findings) : -1
    const part: ServicePart = { usaget, role, requested: asked, used: units, usedBefore }
    if (parts === null) parts = [part]
    else parts.push(part)
  }
  return parts
}

/** Units of a part that are asked for; -1 for none. */
function partRequested(
  rule: PartRule,
  scope: Scope,
  { record: { kind } }: RequestShape,
  requested: number,
  findings: DecodeErrors,
): number {
  if (requested < 0) return -1
  // Who asks for nothing of a service asks for no other units of it.
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
  // A service identifier stands in for it, of which there may be several.
  const first = serviceIdentifier !== null && Array.isArray(value) ? value[0] : value
  return findings.whole(first, ratingGroup.name, RATING_GROUP_MAX)
}

/** A number, or a list of numbers; empty if there is none. */
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
