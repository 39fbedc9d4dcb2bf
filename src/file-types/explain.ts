/**
 * Explains what each part of a document reads from a message (`tollgate filetype check`): the steps
 * of map.ts with the same compiled parts, showing fields and values.
 */
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import { type Fields, isObject, isUnset } from '../domain/fields.ts'
import { compileIdentification, type RequestReader } from '../rating/identify.ts'
import { compileCalculators } from '../rating/match/calculators.ts'
import type { CheckStep } from './check-report.ts'
import { DecodeErrors } from './decode-errors.ts'
import type { FileTypeDefaults, Message } from './file-type.ts'
import { compileFilters } from './filters.ts'
import { compileHidden } from './hidden.ts'
import { compilePath, type Scope } from './paths.ts'
import { booleanAt, type RealtimeSection, readRealtimeSection } from './realtime-section.ts'
import { compileOneTime, compileRecordTypes, type RecordType } from './record-types.ts'
import { compileSessionId } from './session.ts'
import { compileMappings, type UsageRule, usagetOf } from './usage.ts'

/** The parts of a valid document. */
interface Parts {
  document: Fields
  processor: Fields
  realtime: RealtimeSection
  rules: readonly UsageRule[]
}

/**
 * The steps up to the charge request, of at most `servicesMax` services. `document` must have been
 * compiled successfully.
 */
export function explainMessage(
  document: unknown,
  message: Message,
  servicesMax: number,
): CheckStep[] {
  const parts = partsOf(document)
  const { parser } = parts.document
  const structure = isObject(parser) ? parser['structure'] : undefined
  const visible = compileHidden(structure, 'parser.structure')(message)
  const errors = new DecodeErrors()
  const record = recordTypeOf(parts.realtime)(message, errors)
  const { document: whole, processor, realtime } = parts
  const entries = entriesOf(realtime, visible).slice(0, servicesMax)
  const dateFields = ['date_field', 'time_field', 'timezone_field'].map((key) => processor[key])
  const numberField = realtime.general('request_num_field').value ?? 'request_num'
  return [
    stepOf('request type', errors, {
      fields: valuesOf(typeFields(realtime), message),
      ...(errors.problem === null ? { kind: record.kind, record_type: record.name } : {}),
    }),
    sessionStep(realtime, message),
    stepOf('request number', null, { fields: valuesOf(numberField, visible) }),
    stepOf('event time', null, { fields: valuesOf(dateFields.filter(isGiven), visible) }),
    ...entries.map((entry, index) =>
      serviceStep(parts, { entry, message: visible }, record, whole['filters'], index),
    ),
  ]
}

/** The subscriber lookup and the fields of rate matching. */
export function explainRequest(
  document: unknown,
  request: ChargeRequest,
  defaults: FileTypeDefaults,
): CheckStep[] {
  const fields = document as Fields
  const { customerIdentification, rateCalculators } = defaults.rules
  const sectionOr = (key: string, absent: unknown) => (isUnset(fields[key]) ? absent : fields[key])
  const identification = compileIdentification(
    sectionOr('customer_identification_fields', customerIdentification),
    defaults.countryPrefix,
  )
  const calculators = compileCalculators(sectionOr('rate_calculators', rateCalculators))
  const { subscriberKey, subscriberValue, services } = request
  const named = subscriberKey === 'none' ? null : { [subscriberKey]: subscriberValue }
  const fieldOf = (service: ServiceRequest) => (name: string) =>
    service.fields?.[name] ?? request.fields?.[name]
  const lookedFor = (usaget: string | null, field: RequestReader) =>
    identification.candidates(usaget, field).map(({ key, value }) => `${key} ${value}`)
  return [
    stepOf('subscriber', null, {
      named,
      services: services.map((service) => ({
        usaget: service.usaget,
        looked_for: lookedFor(service.usaget, fieldOf(service)),
      })),
      ...(services.length > 0
        ? {}
        : { looked_for: lookedFor(null, (name) => request.fields?.[name]) }),
    }),
    stepOf('rating', null, {
      services: services.map((service) => ({
        usaget: service.usaget,
        called_number: service.calledNumber,
        fields: Object.fromEntries(
          calculators.fieldsNeeded().map((name) => [name, fieldOf(service)(name) ?? null]),
        ),
      })),
    }),
  ]
}

function partsOf(value: unknown): Parts {
  const document = value as Fields
  const processor = document['processor'] as Fields
  const mappings = compileMappings(processor, 'processor')
  const realtime = readRealtimeSection(document['realtime'], 'realtime', mappings.usagets)
  return { document, processor, realtime, rules: mappings.rules(realtime) }
}

function recordTypeOf(realtime: RealtimeSection) {
  const { value, path } = realtime.general('request_type_field')
  if (booleanAt(realtime.general('postpay_charge'))) {
    const compiled = compileOneTime(value, path)
    return (message: Message, _findings: DecodeErrors) => compiled(message)
  }
  const types = realtime.general('request_types')
  return compileRecordTypes(value, path, types.value, types.path)
}

function typeFields(realtime: RealtimeSection): unknown {
  const { value } = realtime.general('request_type_field')
  return isUnset(value) ? ['request_type', 'record_type'] : value
}

function sessionStep(realtime: RealtimeSection, message: Message): CheckStep {
  const { value, path } = realtime.general('session_id_fields')
  const errors = new DecodeErrors()
  const id = compileSessionId(value, path).read(message, errors)
  const fields = valuesOf(isUnset(value) ? 'session_id' : value, message)
  return stepOf('session', errors, { fields, session_id: id })
}

function entriesOf(realtime: RealtimeSection, message: Message): Message[] {
  const { value } = realtime.general('services_field')
  const list = isUnset(value) ? undefined : valueAt(String(value), message)
  if (list === undefined) return [message]
  return (Array.isArray(list) ? list : [list]).filter(isObject)
}

function serviceStep(
  { processor, realtime, rules }: Parts,
  scope: Scope,
  record: RecordType,
  filters: unknown,
  index: number,
): CheckStep {
  const step = `services.${index}`
  const at = rules.findIndex((each) => each.matches(scope))
  const rule = rules[at]
  if (rule === undefined) return stepOf(step, null, { mapping: null })
  const errors = new DecodeErrors()
  const usaget = usagetOf(rule, scope, errors)
  const { name, unit, type, source } = mappingOf(processor, rule, at)
  const used = realtime.of(rule.usaget, 'used_usagev_field').value
  const asking = realtime.general('requested_field').value
  const isAsking = isUnset(asking) || valueAt(String(asking), scope.entry, scope.message)
  const asks = record.kind !== 'release' && (record.kind !== 'update' || Boolean(isAsking))
  const requested = asks ? rule.requested.read(scope, errors) : -1
  const absent = asks ? rule.defaults[record.kind] : -1
  const reported = rule.used.read(scope, errors)
  const before = rule.used.before?.(scope, errors) ?? -1
  const filtered = compileFilters(filters, 'filters')({ ...scope, usaget, recordType: record.name })
  const read = (names: unknown) => valuesOf(names, scope.entry, scope.message)
  return stepOf(step, errors, {
    mapping: name,
    usaget,
    unit,
    requested: {
      ...(type === 'value' ? { constant: source } : { fields: read(source) }),
      base_units: requested < 0 ? null : requested,
      default: requested >= 0 || absent < 0 ? null : absent,
    },
    used: {
      fields: read(used),
      base_units: Math.max(0, reported),
      ...(before < 0 ? {} : { before_tariff_change: before }),
      is_total: rule.isTotal && reported >= 0,
    },
    filter: filtered,
  })
}

/** Location of the rule in the document, and its volume keys. */
export function mappingOf(processor: Fields, rule: UsageRule, at: number) {
  const list = processor['usaget_mapping']
  const own: unknown = Array.isArray(list) ? list[at] : undefined
  const prefix = isObject(own) ? '' : 'default_'
  const section = isObject(own) ? own : processor
  const other = rule.usagetField === null ? 'default_usaget' : 'usaget_field'
  return {
    name: isObject(own) ? `processor.usaget_mapping.${at}` : `processor.${other}`,
    unit: section[`${prefix}unit`] ?? 'counter',
    type: section[`${prefix}volume_type`] ?? 'field',
    source: section[`${prefix}volume_src`],
  }
}

function stepOf(step: string, errors: DecodeErrors | null, result: object): CheckStep {
  const problem = errors?.problem ?? null
  return { step, ok: problem === null, result: problem === null ? result : { ...result, problem } }
}

function isGiven(value: unknown): boolean {
  return !isUnset(value)
}

/** Values of fields by name, null if absent, from the first record that has the field. */
export function valuesOf(names: unknown, ...records: readonly Message[]): Record<string, unknown> {
  const list: readonly unknown[] = Array.isArray(names) ? names : [names]
  return Object.fromEntries(
    list.filter(isGiven).map((name) => [String(name), valueAt(String(name), ...records) ?? null]),
  )
}

function valueAt(name: string, ...records: readonly Message[]): unknown {
  const path = compilePath(name)
  for (const record of records) {
    const value = path?.in(record)
    if (value !== undefined) return value
  }
  return undefined
}
