/**
 * Validates the document of a file type as a whole and compiles it to a `FileType`
 * (docs/FILE-TYPES.md describes every key).
 */
import {
  arrayAt,
  FieldError,
  type Fields,
  isObject,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
} from '../domain/fields.ts'
import { compileEventTime, DATE_KEYS } from './dates.ts'
import type { FileType, FileTypeDefaults, ParserSettings } from './file-type.ts'
import { compileFilters } from './filters.ts'
import { fieldFlag, flagAt } from './flags.ts'
import { compileHidden } from './hidden.ts'
import { compileKeyValueSyntax, KEY_VALUE_KEYS } from './key-value-syntax.ts'
import { builtInPath, type MapPlan, mapMessage } from './map.ts'
import { optionalPathAt, type Path, pathAt } from './paths.ts'
import {
  booleanAt,
  type LocatedValue,
  type RealtimeSection,
  readRealtimeSection,
} from './realtime-section.ts'
import { compileOneTime, compileRecordTypes } from './record-types.ts'
import { type CompiledResponse, compileResponse } from './response.ts'
import { compileFileTypeRules, type FileTypeRules } from './rules.ts'
import { samplesIn } from './samples.ts'
import type { ServicesPlan } from './services.ts'
import { compileSessionId } from './session.ts'
import { compileSubscriberFields, retainedOfEntries } from './subscriber.ts'
import { usedTermAt } from './tariff-change.ts'
import { compileMappings, type Mappings, USAGE_KEYS } from './usage.ts'
import type { VolumeTerm } from './volume-terms.ts'
import { wordsOf } from './words.ts'

export const FILE_TYPE_KEYS = [
  'file_type',
  'type',
  'enabled',
  'parser',
  'processor',
  'customer_identification_fields',
  'rate_calculators',
  'pricing',
  'realtime',
  'response',
  'unify',
  'filters',
  'drop_lines',
  '_id',
  'rev',
  'description',
  'samples',
]
const NAME = /^[A-Za-z0-9_]{1,64}$/
const RESERVED = ['service', 'flat', 'credit', 'conditional_discount', 'discount', 'all']

/**
 * A file type of messages. Throws `FieldError` with the path of an invalid value; `path` is that of
 * the document.
 */
export function compileFileType(
  given: unknown,
  defaults: FileTypeDefaults,
  path = pathOf(given),
): FileType {
  checkExtent(given, path)
  samplesIn(given, `${path}.samples`)
  const document = withoutSamples(given)
  const fields = objectAt(document, path, FILE_TYPE_KEYS)
  const { name, isEnabled } = headOf(fields, path)
  checkPricing(fields['pricing'], `${path}.pricing`)
  const parser = compileParser(fields['parser'], `${path}.parser`)
  const processor = processorAt(fields['processor'], `${path}.processor`)
  const mappings = compileMappings(processor, `${path}.processor`)
  const realtime = readRealtimeSection(fields['realtime'], `${path}.realtime`, mappings.usagets)
  const rules = compileFileTypeRules(fields, path, mappings, defaults)
  const list = optionalPath(realtime.general('services_field'))
  const response = compileResponse(fields['response'], {
    path: `${path}.response`,
    parser,
    hasServices: list !== null,
    defaults: defaults.answers,
    realtime: realtime.fields,
  })
  const filters = { value: fields['filters'], path: `${path}.filters` }
  const isDiameter = parser.type === 'diameter'
  const lists = { list, refusesMembersAlone: isDiameter, mergesMembers: isDiameter }
  const services = compileServices(realtime, mappings, rules, lists, filters)
  const parts = { name, path, fields, parser, processor, realtime, rules, response, services }
  const plan = compilePlan(parts, defaults)
  return {
    type: 'realtime',
    name,
    isEnabled,
    parser,
    encoder: response.encoder,
    allowsGet: booleanAt(realtime.general('allow_get')),
    rulesKey: rules.key,
    rules: rules.documents,
    words: wordsOf([document, defaults.rules]),
    map: (message, context) => mapMessage(plan, message, context),
    response: response.nodes,
    settings: response.settings,
  }
}

/** Checks what all documents have, in files too. Throws `FieldError`. */
export function headOf(fields: Fields, path: string): Pick<FileType, 'name' | 'isEnabled'> {
  const name = nameAt(fields['file_type'], `${path}.file_type`)
  const { type, enabled } = fields
  if (!isUnset(type)) oneOfAt(type, `${path}.type`, ['realtime', 'usage'])
  const isEnabled = isUnset(enabled) || booleanAt({ value: enabled, path: `${path}.enabled` })
  return { name, isEnabled }
}

function pathOf(document: unknown): string {
  const name = isObject(document) ? document['file_type'] : undefined
  return typeof name === 'string' && NAME.test(name) ? `file_types.${name}` : 'file_types'
}

/** The words of samples do not belong to those of the document. */
function withoutSamples(document: unknown): unknown {
  if (!isObject(document)) return document
  const { samples: _, ...rest } = document
  return rest
}

function nameAt(value: unknown, path: string): string {
  const name = textAt(value, path)
  if (!NAME.test(name)) throw new FieldError(path, 'must have 1 to 64 letters, digits or _')
  if (RESERVED.includes(name.toLowerCase())) throw new FieldError(path, `is reserved: ${name}`)
  return name
}

/** Maximal nesting of records and lists. */
const DEPTH_MAX = 32
/**
 * Total number of record fields and list elements. The largest real documents have some hundreds.
 */
const MEMBERS_MAX = 20_000

/** Throws `FieldError` if the document exceeds a limit. */
export function checkExtent(document: unknown, path: string): void {
  let members = 0
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null) return
    if (depth > DEPTH_MAX) throw new FieldError(path, `is nested deeper than ${DEPTH_MAX}`)
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    members += inner.length
    if (members > MEMBERS_MAX) throw new FieldError(path, `has more than ${MEMBERS_MAX} values`)
    for (const each of inner) visit(each, depth + 1)
  }
  visit(document, 1)
}

export const PARSER_KEYS = [
  'type',
  'structure',
  'custom_keys',
  'line_types',
  'csv_has_header',
  'csv_has_footer',
]
const ALIASES: ReadonlyMap<unknown, string> = new Map([
  ['keyvalue', 'key_value'],
  ['key-value', 'key_value'],
])
const TYPES = ['json', 'xml', 'key_value', 'diameter'] as const

/** Keys for reading files are accepted and ignored. Throws `FieldError`. */
function compileParser(document: unknown, path: string): ParserSettings {
  const section = objectAt(document, path)
  const given = section['type']
  const type = oneOfAt(ALIASES.get(given) ?? given, `${path}.type`, TYPES)
  objectAt(section, path, [
    ...PARSER_KEYS,
    ...(type === 'key_value' ? KEY_VALUE_KEYS : ['separator']),
  ])
  if (!isUnset(section['custom_keys'])) arrayAt(section['custom_keys'], `${path}.custom_keys`)
  return type === 'key_value' ? { type, ...compileKeyValueSyntax(section, path) } : { type }
}

/** Accepts the empty sections that an input form creates. */
function checkPricing(value: unknown, path: string): void {
  if (isUnset(value) || (Array.isArray(value) && value.length === 0)) return
  for (const [usaget, pricing] of Object.entries(objectAt(value, path))) {
    const at = `${path}.${usaget}`
    const [key] = Object.keys(isObject(pricing) ? pricing : arrayAt(pricing, at))
    if (key === undefined) continue
    throw new FieldError(`${at}.${key}`, 'is not supported: prices come from the catalogue')
  }
}

export const PROCESSOR_KEYS = ['type', 'orphan_files_time', ...DATE_KEYS, ...USAGE_KEYS]

/** Throws `FieldError`. */
export function processorAt(value: unknown, path: string, keys = PROCESSOR_KEYS): Fields {
  const processor = objectAt(value, path, keys)
  if (!isUnset(processor['type'])) {
    oneOfAt(processor['type'], `${path}.type`, ['Usage', 'Realtime'])
  }
  return processor
}

function optionalPath({ value, path }: LocatedValue): Path | null {
  return optionalPathAt(value, path)
}

interface Parts {
  name: string
  path: string
  fields: Fields
  parser: ParserSettings
  processor: Fields
  realtime: RealtimeSection
  rules: FileTypeRules
  response: CompiledResponse
  services: ServicesPlan
}

function compilePlan(parts: Parts, { timeZone }: FileTypeDefaults): MapPlan {
  const { name, path, fields, parser, processor, realtime, rules, response, services } = parts
  const sessions = realtime.general('session_id_fields')
  const refund = flagAt(realtime.general('refund_field'))
  const structure = isObject(fields['parser']) ? fields['parser']['structure'] : undefined
  return {
    name,
    recordType: compileRecordType(realtime),
    session: compileSessionId(sessions.value, sessions.path),
    // A refund refers to its event by the session id, so refunds cannot be combined with one
    // session per message.
    isEventPerMessage: booleanAt(realtime.general('postpay_charge')) && refund === null,
    hide: compileHidden(structure, `${path}.parser.structure`),
    requestNumber: pathOr(realtime.general('request_num_field'), 'request_num'),
    eventTime: compileEventTime(processor, `${path}.processor`, parser.type, timeZone),
    pretend: flagAt(realtime.general('pretend_field')) ?? fieldFlag(builtInPath('pretend')),
    refund,
    balances: flagAt(realtime.general('balances_field')),
    wantsBalances: response.wantsBalances,
    subscriberFields: compileSubscriberFields(realtime.general('subscriber_fields')),
    rules,
    services,
    settings: response.settings,
  }
}

function pathOr({ value, path }: LocatedValue, name: string): Path {
  return isUnset(value) ? builtInPath(name) : pathAt(value, path)
}

function compileRecordType(realtime: RealtimeSection): MapPlan['recordType'] {
  const field = realtime.general('request_type_field')
  if (booleanAt(realtime.general('postpay_charge'))) {
    return compileOneTime(field.value, field.path)
  }
  const types = realtime.general('request_types')
  return compileRecordTypes(field.value, field.path, types.value, types.path)
}

function compileServices(
  realtime: RealtimeSection,
  mappings: Mappings,
  rules: FileTypeRules,
  lists: Pick<ServicesPlan, 'list' | 'refusesMembersAlone' | 'mergesMembers'>,
  filters: LocatedValue,
): ServicesPlan {
  return {
    ...lists,
    isUsage: false,
    price: null,
    requestedField: optionalPath(realtime.general('requested_field')),
    usage: mappings.rules(realtime),
    reports: reportsOf(realtime, mappings),
    filter: compileFilters(filters.value, filters.path),
    retained: retainedOfEntries(rules.retained),
  }
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** All `used_usagev_field` terms. Required: without them no session would ever be charged. */
function reportsOf(
  realtime: RealtimeSection,
  { usagets, isOpen }: Mappings,
): readonly VolumeTerm[] {
  const key = 'used_usagev_field'
  const general = realtime.general(key)
  const own = usagets.map((usaget) => realtime.of(usaget, key))
  const needed = isOpen ? [...own, general] : own
  const missing = needed.find(({ value }) => isUnset(value) || isEmptyList(value))
  if (missing !== undefined && !booleanAt(realtime.general('postpay_charge'))) {
    throw new FieldError(missing.path, 'is missing: nothing else tells what was used', 'missing')
  }
  const present = [...own, general].filter(({ value }) => !isUnset(value))
  const byPath = new Map(
    present.map(({ value, path }) => [path, usedTermAt(value, path, 'counter')]),
  )
  return [...byPath.values()]
}
