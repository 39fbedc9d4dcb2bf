/** The services of a message: the members of its list, or the message itself as the only one. */
import { opens, type RequestKind, type ServiceRequest } from '../../domain/charge-request.ts'
import { isObject } from '../../rating/rule-fields.ts'
import type { Message, SkippedService } from './file-type.ts'
import type { FilterEffect, ServiceScope } from './filters.ts'
import type { Findings } from './findings.ts'
import type { Path, Scope } from './paths.ts'
import type { RecordType } from './record-types.ts'
import type { KeptField } from './rules.ts'
import { keptOf } from './subscriber.ts'
import { type UsageRule, usagetOf } from './usage.ts'
import type { VolumeTerm } from './volume-terms.ts'

export interface ServicesPlan {
  /** Path of the list; null where messages have one service. */
  readonly list: Path | null
  /** A field whose absence from an update means that nothing is asked for. */
  readonly asking: Path | null
  readonly usage: readonly UsageRule[]
  /** All fields that report usage. */
  readonly reports: readonly VolumeTerm[]
  readonly filter: (scope: ServiceScope) => FilterEffect
  readonly kept: readonly KeptField[]
}

/** What of a request decides which fields its services need. */
export interface RequestForm {
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

/** After a problem, what was read until then. */
export function readServices(
  plan: ServicesPlan,
  message: Message,
  form: RequestForm,
  findings: Findings,
): ReadServices {
  const list = plan.list?.in(message)
  const found: ReadServices = { services: [], skipped: [], entries: [], stamps: [] }
  if (list === undefined || plan.list === null) {
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
  if (members.length === 0 && opens(form.record.kind)) {
    findings.fail(name, 'must have at least one service')
  }
  form.members = members.length
  for (let index = 0; index < members.length && findings.problem === null; index += 1) {
    const member = members[index]
    if (!isObject(member)) {
      findings.fail(`${name}.${index}`, 'must be a record')
      break
    }
    findings.prefix = `${name}.${index}.`
    found.entries.push(member)
    const isService = readEntry(plan, { entry: member, message }, form, found, findings)
    if (!isService) found.entries.pop()
    findings.prefix = ''
  }
  return found
}

/** Adds the service that the last of `found.entries` is; false if it is none. */
function readEntry(
  plan: ServicesPlan,
  { entry, message }: Scope,
  form: RequestForm,
  found: ReadServices,
  findings: Findings,
): boolean {
  const { record } = form
  const scope: ServiceScope = { entry, message, usaget: '', recordType: record.name }
  const rule = ruleOf(plan.usage, scope)
  if (rule === null) {
    const isRequired = (opens(record.kind) && !form.refund) || reportsUsage(plan, scope)
    if (isRequired) findings.failEntry('is of no usage type of the file type')
    return false
  }
  scope.usaget = usagetOf(rule, scope, findings)
  const effect = plan.filter(scope)
  const isSkipped = effect === 'skip'
  const requested = readRequested(plan, rule, scope, form, isSkipped, findings)
  const ratingGroup = readRatingGroup(rule, scope, findings)
  const { usaget } = scope
  if (isSkipped) {
    const index = found.entries.length - 1
    found.skipped.push({ index, ratingGroup, usaget, granted: Math.max(requested, 0) })
    return true
  }
  const used = readUsed(rule, scope, form, findings)
  const service: ServiceRequest = {
    ratingGroup,
    usaget,
    requested,
    used: Math.max(0, used),
    usedBefore: used > 0 ? usedBeforeOf(rule, scope, findings) : -1,
    // Without a report nothing is said of the total: it is not 0.
    isTotal: rule.isTotal && used >= 0,
    calledNumber: rule.calledNumber === null ? '' : rule.calledNumber(scope, findings),
    rateKey: '',
    untaxed: effect === 'untaxed',
    fields: entry === message ? null : keptOf(plan.kept, entry, findings),
  }
  if (entry === message && isNothing(plan, record, service)) return false
  if (repeats(found.services, service)) {
    findings.failEntry('repeats a service: its rating group and usage type are those of another')
  }
  found.services.push(service)
  found.stamps.push(rule.stamp === null ? '' : rule.stamp(scope, findings))
  return true
}

/** Where messages may have a list, one without it that asks and reports nothing has no service. */
function isNothing(
  { list }: ServicesPlan,
  { kind }: RecordType,
  { requested, used }: ServiceRequest,
): boolean {
  return list !== null && !opens(kind) && requested < 0 && used === 0
}

function ruleOf(usage: readonly UsageRule[], scope: Scope): UsageRule | null {
  for (let at = 0; at < usage.length; at += 1) {
    const rule = usage[at] as UsageRule
    if (rule.matches(scope)) return rule
  }
  return null
}

/** Whether one of them has the same name in its session; a called number may change meanwhile. */
function repeats(services: readonly ServiceRequest[], { ratingGroup, usaget }: ServiceRequest) {
  for (let at = 0; at < services.length; at += 1) {
    const other = services[at] as ServiceRequest
    if (other.ratingGroup === ratingGroup && other.usaget === usaget) return true
  }
  return false
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
  { record: { kind, name }, refund }: RequestForm,
  isSkipped: boolean,
  findings: Findings,
): number {
  // A release asks for nothing more, whatever some network elements put there.
  if (kind === 'release') return -1
  if (kind === 'update' && plan.asking?.read(scope) === undefined && plan.asking !== null) return -1
  const requested = askedUnits(rule, scope, kind, findings)
  if (requested >= 0 || refund) return requested
  const absent = rule.defaults[kind]
  if (absent < 0 && opens(kind) && !isSkipped) {
    const why = `is required in ${article(kind)} ${name}, and there is no default volume`
    findings.fail(rule.requested.name, why)
  }
  return absent
}

/**
 * Whoever asks for more than can be counted gets what can be granted. An event is debited as a
 * whole, so that its units have to be exact.
 */
function askedUnits(rule: UsageRule, scope: Scope, kind: RequestKind, findings: Findings): number {
  findings.isClamping = kind !== 'event'
  const units = rule.requested.read(scope, findings)
  findings.isClamping = false
  return units
}

/** Units reported; -1 if none are. */
function readUsed(
  { used }: UsageRule,
  scope: Scope,
  { record: { kind, name }, members }: RequestForm,
  findings: Findings,
): number {
  const units = used.read(scope, findings)
  if (units > 0 && opens(kind)) {
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
function usedBeforeOf({ used, isTotal }: UsageRule, scope: Scope, findings: Findings): number {
  return isTotal || used.before === null ? -1 : used.before(scope, findings)
}

function article(kind: RequestKind): string {
  return kind === 'event' ? 'an' : 'a'
}

function readRatingGroup({ ratingGroup }: UsageRule, scope: Scope, findings: Findings): number {
  if (ratingGroup === null) return -1
  return findings.whole(ratingGroup.read(scope), ratingGroup.name, RATING_GROUP_MAX)
}
