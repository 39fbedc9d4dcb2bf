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
import { isSameService } from '../domain/identity.ts'
import { DecodeErrors } from './decode-errors.ts'
import type { FieldProblem, Message, SkippedService } from './file-type.ts'
import type { FilterEffect, ServiceScope } from './filters.ts'
import { mergedService } from './merged-service.ts'
import type { Path, Scope } from './paths.ts'
import type { RecordType } from './record-types.ts'
import { type PartRule, type UsageRule, usagetOf } from './usage.ts'
import { article, readUsed, requiredUsage, usedBeforeOf } from './used-units.ts'
import type { VolumeTerm } from './volume-terms.ts'

export interface ServicesPlan {
  /** Path of the list; null if messages have one service. */
  readonly list: Path | null
  /** Whether an invalid member of the list is refused alone, and not the whole message. */
  readonly refusesMembersAlone: boolean
  /** Whether repeated members are merged, and not refused. */
  readonly mergesMembers: boolean
  /** Whether events report usage and request nothing, as records do; otherwise they request. */
  readonly isUsage: boolean
  /** Null if the catalogue has all prices. */
  readonly price: PriceReader | null
  /** If this field is absent nothing is requested, except by an event. */
  readonly requestedField: Path | null
  readonly usage: readonly UsageRule[]
  /** All terms that report usage. */
  readonly reports: readonly VolumeTerm[]
  readonly filter: (scope: ServiceScope) => FilterEffect
  /** Fields of an entry that rules read. */
  readonly retained: (entry: Message, errors: DecodeErrors) => ServiceRequest['fields']
}

/** The price of a service in micros; undefined if that of the catalogue applies. */
export type PriceReader = (
  scope: ServiceScope,
  shape: Pick<RequestShape, 'members'>,
  errors: DecodeErrors,
) => number | undefined

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
  shape: RequestShape,
  errors: DecodeErrors,
): ReadServices {
  const list = plan.list?.in(message)
  const found: ReadServices = { services: [], skipped: [], entries: [], stamps: [] }
  const isAbsent = plan.refusesMembersAlone && Array.isArray(list) && list.length === 0
  if (list === undefined || plan.list === null || isAbsent) {
    found.entries.push(message)
    readEntry(plan, { entry: message, message }, shape, found, errors)
    return found
  }
  const members: readonly unknown[] = Array.isArray(list) ? list : [list]
  const { name } = plan.list
  if (members.length > shape.servicesMax) {
    errors.failTooMany(name, shape.servicesMax)
    return found
  }
  if (members.length === 0 && opensSession(shape.record.kind)) {
    errors.fail(name, 'must have at least one service')
  }
  shape.members = members.length
  readMembers(plan, members, { message, name }, shape, found, errors)
  return found
}

function readMembers(
  plan: ServicesPlan,
  members: readonly unknown[],
  { message, name }: { message: Message; name: string },
  shape: RequestShape,
  found: ReadServices,
  errors: DecodeErrors,
): void {
  let refused: FieldProblem | null = null
  for (let index = 0; index < members.length && errors.problem === null; index += 1) {
    const member = members[index]
    if (!isObject(member)) {
      errors.fail(`${name}.${index}`, 'must be a record')
      return
    }
    errors.prefix = `${name}.${index}.`
    found.entries.push(member)
    const isService = readEntry(plan, { entry: member, message }, shape, found, errors)
    if (plan.refusesMembersAlone && errors.problem !== null) {
      refused ??= errors.problem
      refuse(found, errors.problem)
      errors.problem = null
    } else if (!isService) found.entries.pop()
    errors.prefix = ''
  }
  // If all services are refused, the error of the first one is the answer to the message.
  const isAllRefused = found.services.length === 0 && found.skipped.every(({ problem }) => problem)
  if (refused !== null && isAllRefused) errors.problem ??= refused
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
  shape: RequestShape,
  found: ReadServices,
  errors: DecodeErrors,
): boolean {
  const { record } = shape
  const scope: ServiceScope = { entry, message, usaget: '', recordType: record.name }
  const rule = ruleOf(plan.usage, scope)
  const isBare = entry === message && isBareStart(plan, rule, record, scope)
  if (rule === null) {
    const isRequired =
      (opensSession(record.kind) && !shape.refund && !isBare) || reportsUsage(plan, scope)
    if (isRequired) errors.failEntry('is of no usage type of the file type')
    return false
  }
  scope.usaget = usagetOf(rule, scope, errors)
  const effect = plan.filter(scope)
  const isSkipped = effect === 'skip'
  if (isBare && !isSkipped) return false
  const requested = readRequested(plan, rule, scope, shape, isSkipped, errors)
  const ratingGroup = readRatingGroup(rule, scope, errors)
  const serviceIdentifier = readServiceIdentifier(rule, scope, errors)
  const { usaget } = scope
  if (isSkipped) {
    const [index, granted] = [found.entries.length - 1, Math.max(requested, 0)]
    const problem = null
    found.skipped.push({ index, ratingGroup, serviceIdentifier, usaget, granted, problem })
    return true
  }
  const used = plan.isUsage
    ? requiredUsage(rule, scope, shape, errors)
    : readUsed(rule, scope, shape, errors)
  const service: ServiceRequest = {
    ratingGroup,
    serviceIdentifier,
    usaget,
    requested,
    used: Math.max(0, used),
    usedBefore: used > 0 ? usedBeforeOf(rule, scope, errors) : -1,
    // Without a report the total is unknown, not 0.
    isTotal: rule.isTotal && used >= 0,
    calledNumber: rule.calledNumber === null ? '' : rule.calledNumber(scope, errors),
    rateKey: '',
    untaxed: effect === 'untaxed',
    checksCredit: requested === 0 && plan.requestedField !== null && record.kind !== 'event',
    parts: readParts(rule, scope, shape, requested, errors),
    fields: entry === message ? null : plan.retained(entry, errors),
  }
  const priceMicros = plan.price?.(scope, shape, errors)
  if (priceMicros !== undefined) service.priceMicros = priceMicros
  if (entry === message && isEmptyService(plan, record, service)) return false
  const same = found.services.findIndex((other) => isSameService(other, service))
  if (same >= 0 && plan.mergesMembers) {
    if (errors.problem !== null) return true
    found.services[same] = mergedService(found.services[same] as ServiceRequest, service)
    return false
  }
  if (same >= 0) {
    errors.failEntry('repeats a service: its rating group and usage type are those of another')
  }
  // That of a record must not depend on which of its services are charged.
  const stampScope = plan.isUsage ? { entry: message, message } : scope
  const stamp = rule.stamp === null ? '' : rule.stamp(stampScope, errors)
  if (plan.refusesMembersAlone && errors.problem !== null) return true
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
  errors: DecodeErrors,
): number {
  // A release requests nothing, even if some network elements send a volume.
  if (kind === 'release' || plan.isUsage) return -1
  if (
    kind === 'update' &&
    plan.requestedField?.read(scope) === undefined &&
    plan.requestedField !== null
  )
    return -1
  const requested = requestedUnits(rule, scope, kind, errors)
  if (requested >= 0 || refund) return requested
  const absent = rule.defaults[kind]
  if (absent < 0 && opensSession(kind) && !isSkipped) {
    const why = `is required in ${article(kind)} ${name}, and there is no default volume`
    errors.fail(rule.requested.name, why)
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
  errors: DecodeErrors,
): number {
  errors.isClamping = kind !== 'event'
  const units = rule.requested.read(scope, errors)
  errors.isClamping = false
  return units
}

/** Null if the message has no parts. `requested`: units requested of the service itself. */
function readParts(
  { parts: rules, isTotal }: UsageRule,
  scope: Scope,
  shape: RequestShape,
  requested: number,
  errors: DecodeErrors,
): ServiceRequest['parts'] {
  let parts: ServicePart[] | null = null
  for (let at = 0; at < rules.length; at += 1) {
    const rule = rules[at] as PartRule
    const { usaget, role, used } = rule
    const unitsRequested = partRequested(rule, scope, shape, requested, errors)
    // A value outside of the entries does not belong to each service.
    const { entry } = scope
    const own = shape.members > 1 ? { entry, message: entry } : scope
    const units = opensSession(shape.record.kind) ? 0 : Math.max(0, used.read(own, errors))
    // A `held` part is kept: the message does not say whether the session holds a grant of it.
    if (role !== 'held' && unitsRequested < 0 && units === 0) continue
    const isSplit = units > 0 && !isTotal && used.before !== null
    const usedBefore = isSplit && used.before !== null ? used.before(own, errors) : -1
    const part: ServicePart = { usaget, role, requested: unitsRequested, used: units, usedBefore }
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
  errors: DecodeErrors,
): number {
  if (requested < 0) return -1
  // If no units of the service are requested, none of its parts are.
  if (requested === 0) return rule.role === 'beside' ? -1 : 0
  const own = requestedUnits(rule, scope, kind, errors)
  if (own >= 0 || rule.role === 'beside') return own
  return rule.role === 'preferred' ? requested : rule.defaults[kind]
}

function readRatingGroup(
  { ratingGroup, serviceIdentifier }: UsageRule,
  scope: Scope,
  errors: DecodeErrors,
): number {
  if (ratingGroup === null) return -1
  const value = ratingGroup.read(scope)
  // The service identifier may be used instead, and may have several values.
  const first = serviceIdentifier !== null && Array.isArray(value) ? value[0] : value
  return errors.whole(first, ratingGroup.name, RATING_GROUP_MAX)
}

/** One or more numbers; empty if absent. */
function readServiceIdentifier(
  { serviceIdentifier }: UsageRule,
  scope: Scope,
  errors: DecodeErrors,
): string {
  const value = serviceIdentifier?.read(scope)
  if (value === undefined || serviceIdentifier === null) return ''
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  const { name } = serviceIdentifier
  if (list.length > SERVICE_IDENTIFIERS_MAX) {
    errors.fail(name, `must be at most ${SERVICE_IDENTIFIERS_MAX} numbers`)
    return ''
  }
  const numbers = list.map((each) => errors.whole(each, name, SERVICE_IDENTIFIER_MAX))
  return serviceIdentifierOf(numbers.filter((number) => number >= 0))
}
