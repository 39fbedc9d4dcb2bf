/** Usage types: selects the mapping of a service and reads the service by it. */
import type { ServicePart } from '../domain/charge-request.ts'
import {
  arrayAt,
  FieldError,
  type Fields,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
} from '../domain/fields.ts'
import { checkName } from '../rating/rule-names.ts'
import { compileCondition, compileConditions } from './conditions.ts'
import { type DecodeErrors, NUMBER_CHARS_MAX, TEXT_CHARS_MAX } from './decode-errors.ts'
import { firstPathAt, optionalPathAt, type Path, pathAt, type Scope } from './paths.ts'
import { booleanAt, type LocatedValue, type RealtimeSection } from './realtime-section.ts'
import { compileStamp, type Stamp } from './session.ts'
import { unitAt } from './units.ts'
import {
  compileDefaults,
  compileRequested,
  compileUsed,
  type DefaultVolumes,
  NEVER_REQUESTED,
  NO_DEFAULTS,
  type UsedVolume,
  type Volume,
} from './volumes.ts'

/** Empty if the message has no called number. */
type CalledNumber = (scope: Scope, errors: DecodeErrors) => string

/** How the volumes of a service's additional units are read. */
export interface PartRule {
  readonly usaget: string
  readonly role: ServicePart['role']
  readonly requested: Volume
  readonly used: UsedVolume
  readonly defaults: DefaultVolumes
}

/** A complete mapping, applied to the services that match. */
export interface UsageRule {
  readonly matches: (scope: Scope) => boolean
  /** Empty if the usage type is the text of `usagetField`. */
  readonly usaget: string
  readonly usagetField: Path | null
  readonly requested: Volume
  readonly used: UsedVolume
  /** Whether `used` is the session's total so far. */
  readonly isTotal: boolean
  readonly defaults: DefaultVolumes
  readonly calledNumber: CalledNumber | null
  readonly ratingGroup: Path | null
  readonly serviceIdentifier: Path | null
  readonly stamp: Stamp | null
  readonly parts: readonly PartRule[]
}

/**
 * The part of a mapping that is in its document; used and default volumes are in the section
 * `realtime`.
 */
interface Mapping {
  readonly usaget: string
  readonly usagetField: Path | null
  readonly matches: (scope: Scope) => boolean
  readonly unit: string
  readonly requested: Volume
  readonly fields: Pick<UsageRule, 'calledNumber' | 'ratingGroup' | 'serviceIdentifier' | 'stamp'>
  readonly parts: readonly Part[]
}

/** The part of a `PartRule` that is in the document. */
interface Part extends Pick<PartRule, 'usaget' | 'role' | 'requested'> {
  readonly unit: string
}

const FIELD_KEYS = [
  'called_number_field',
  'called_number_format',
  'rating_group_field',
  'stamp_fields',
  'service_identifier_field',
]
export const MAPPING_KEYS = [
  'src_field',
  'pattern',
  'conditions',
  'usaget',
  'unit',
  'volume_type',
  'volume_src',
  'parts',
  ...FIELD_KEYS,
]
const DEFAULT_TERMS = ['default_unit', 'default_volume_type', 'default_volume_src', 'default_parts']
export const USAGE_KEYS = [
  'usaget_mapping',
  'usaget_field',
  'default_usaget',
  ...DEFAULT_TERMS,
  ...FIELD_KEYS,
]

export interface Mappings {
  /** All usage types named for services and for their parts. */
  readonly usagets: readonly string[]
  /** Usage types of services; those of parts need no rate. */
  readonly mainUsagets: readonly string[]
  /** Whether messages name usage types. */
  readonly isOpen: boolean
  /** Completes the mappings with the section `realtime`. Throws `FieldError`. */
  rules(realtime: RealtimeSection): readonly UsageRule[]
  /** Those of records: their volumes have been used. Throws `FieldError`. */
  recordRules(): readonly UsageRule[]
}

/** Compiles the mappings of the section `processor`. Throws `FieldError`. */
export function compileMappings(processor: Fields, path: string): Mappings {
  const general = fieldsOf(processor, path, null)
  const at = `${path}.usaget_mapping`
  const list = isUnset(processor['usaget_mapping']) ? [] : arrayAt(processor['usaget_mapping'], at)
  const mappings = [
    ...list.map((each, index) => compileMapping(each, `${at}.${index}`, general)),
    ...defaultMappings(processor, path, general),
  ]
  if (mappings.length === 0) {
    throw new FieldError(at, 'is missing, and so are default_usaget and usaget_field')
  }
  const namesOf = (usagets: readonly string[]) => [...new Set(usagets.filter(Boolean))]
  const parts = mappings.flatMap((mapping) => mapping.parts.map(({ usaget }) => usaget))
  const mainUsagets = namesOf(mappings.map(({ usaget }) => usaget))
  return {
    usagets: namesOf([...mainUsagets, ...parts]),
    mainUsagets,
    isOpen: mappings.some(({ usagetField }) => usagetField !== null),
    rules: (realtime) => mappings.map((mapping) => complete(mapping, realtime)),
    recordRules: () => mappings.map((mapping) => recordRule(mapping, path)),
  }
}

function compileMapping(document: unknown, path: string, general: Mapping['fields']): Mapping {
  const mapping = objectAt(document, path, MAPPING_KEYS)
  const unit = unitAt(mapping['unit'], `${path}.unit`)
  return {
    usaget: usagetAt(mapping['usaget'], `${path}.usaget`),
    usagetField: null,
    matches: compileMatch(mapping, path),
    unit,
    requested: compileRequested(
      { value: mapping['volume_type'], path: `${path}.volume_type` },
      { value: mapping['volume_src'], path: `${path}.volume_src` },
      unit,
    ),
    fields: fieldsOf(mapping, path, general),
    parts: partsAt(mapping['parts'], `${path}.parts`),
  }
}

const PART_KEYS = ['usaget', 'role', 'unit', 'volume_src']
const ROLES = ['beside', 'preferred', 'held'] as const

/** Units in addition to or instead of those of the mapping; empty if absent. */
function partsAt(value: unknown, path: string): readonly Part[] {
  if (isUnset(value)) return []
  return arrayAt(value, path).map((document, index) => {
    const at = `${path}.${index}`
    const part = objectAt(document, at, PART_KEYS)
    const unit = unitAt(part['unit'], `${at}.unit`)
    const source = { value: part['volume_src'], path: `${at}.volume_src` }
    return {
      usaget: usagetAt(part['usaget'], `${at}.usaget`),
      role: oneOfAt(part['role'], `${at}.role`, ROLES),
      unit,
      requested: compileRequested({ value: undefined, path: at }, source, unit),
    }
  })
}

/**
 * `conditions`, or `src_field` and `pattern` of the older form; matches everything without either.
 */
function compileMatch(mapping: Fields, path: string): (scope: Scope) => boolean {
  const { src_field, pattern, conditions } = mapping
  const readerOf = (name: string, at: string) => pathAt(name, at).read
  if (!isUnset(conditions)) {
    const at = `${path}.conditions`
    if (arrayAt(conditions, at).length > 0) return compileConditions(conditions, at, readerOf)
  }
  if (isUnset(src_field) && isUnset(pattern)) return () => true
  for (const key of ['src_field', 'pattern']) {
    if (isUnset(mapping[key])) throw new FieldError(`${path}.${key}`, 'is missing')
  }
  return compileCondition({ src_field, pattern }, path, readerOf)
}

/**
 * Mappings for services that no mapping matches: usage type from the message, or the default one.
 */
function defaultMappings(
  processor: Fields,
  path: string,
  fields: Mapping['fields'],
): readonly Mapping[] {
  const usagetField = optionalPathAt(processor['usaget_field'], `${path}.usaget_field`)
  const usaget = processor['default_usaget']
  if (usagetField === null && isUnset(usaget)) {
    const other = DEFAULT_TERMS.find((key) => !isUnset(processor[key]))
    if (other === undefined) return []
    throw new FieldError(`${path}.${other}`, 'needs default_usaget')
  }
  const unit = unitAt(processor['default_unit'], `${path}.default_unit`)
  const source = processor['default_volume_src']
  const type = processor['default_volume_type']
  const requested = isUnset(source)
    ? NEVER_REQUESTED
    : compileRequested(
        { value: type, path: `${path}.default_volume_type` },
        { value: source, path: `${path}.default_volume_src` },
        unit,
      )
  const parts = partsAt(processor['default_parts'], `${path}.default_parts`)
  const terms = { unit, requested, fields, parts }
  const mappings: Mapping[] = []
  if (usagetField !== null) {
    const matches = (scope: Scope) => usagetField.read(scope) !== undefined
    mappings.push({ usaget: '', usagetField, matches, ...terms })
  }
  if (isUnset(usaget)) return mappings
  const name = usagetAt(usaget, `${path}.default_usaget`)
  return [...mappings, { usaget: name, usagetField: null, matches: () => true, ...terms }]
}

function usagetAt(value: unknown, path: string): string {
  const usaget = textAt(value, path)
  checkName(usaget, path)
  if (usaget.length > NUMBER_CHARS_MAX) {
    throw new FieldError(path, `must have at most ${NUMBER_CHARS_MAX} characters`)
  }
  return usaget
}

/** Fields of a mapping, which default to those of the processor. */
function fieldsOf(
  section: Fields,
  path: string,
  general: Mapping['fields'] | null,
): Mapping['fields'] {
  const placed = (key: string) => ({ value: section[key], path: `${path}.${key}` })
  const called = compileCalledNumber(placed('called_number_field'), placed('called_number_format'))
  const group = placed('rating_group_field')
  const ratingGroup = isUnset(group.value) ? null : firstPathAt(group.value, group.path)
  const identifier = placed('service_identifier_field')
  const serviceIdentifier = optionalPathAt(identifier.value, identifier.path)
  return {
    calledNumber: called ?? general?.calledNumber ?? null,
    ratingGroup: ratingGroup ?? general?.ratingGroup ?? null,
    serviceIdentifier: serviceIdentifier ?? general?.serviceIdentifier ?? null,
    stamp: compileStamp(section['stamp_fields'], `${path}.stamp_fields`) ?? general?.stamp ?? null,
  }
}

function complete(mapping: Mapping, realtime: RealtimeSection): UsageRule {
  const { usaget, usagetField, matches, unit, requested, fields, parts } = mapping
  const placed = (key: string) => (usaget === '' ? realtime.general(key) : realtime.of(usaget, key))
  const rebalance = placed('rebalance_on_final')
  if (booleanAt(rebalance)) {
    throw new FieldError(rebalance.path, 'is not supported: usage is settled with every report')
  }
  return {
    matches,
    usaget,
    usagetField,
    requested,
    used: compileUsed(placed('used_usagev_field'), unit),
    isTotal: booleanAt(placed('used_usagev_accumulative')),
    defaults: compileDefaults(realtime, usaget),
    ...fields,
    parts: parts.map((part) => ({
      usaget: part.usaget,
      role: part.role,
      requested: part.requested,
      used: compileUsed(realtime.of(part.usaget, 'used_usagev_field'), part.unit),
      defaults: compileDefaults(realtime, part.usaget),
    })),
  }
}

function recordRule(mapping: Mapping, path: string): UsageRule {
  const { usaget, usagetField, matches, requested, fields } = mapping
  if (requested === NEVER_REQUESTED) {
    const why = 'is missing: nothing else tells what was used'
    throw new FieldError(`${path}.default_volume_src`, why)
  }
  return {
    matches,
    usaget,
    usagetField,
    requested: NEVER_REQUESTED,
    used: { ...requested, before: null },
    isTotal: false,
    defaults: NO_DEFAULTS,
    ...fields,
    parts: [],
  }
}

const USAGET = /^[A-Za-z0-9_-]{1,64}$/

/** The usage type of a service that matches the rule. */
export function usagetOf(rule: UsageRule, scope: Scope, errors: DecodeErrors): string {
  if (rule.usagetField === null) return rule.usaget
  const value = rule.usagetField.read(scope)
  if (typeof value === 'string' && USAGET.test(value)) return value
  errors.fail(rule.usagetField.name, 'must have 1 to 64 letters, digits, _ or -')
  return ''
}

/**
 * Compiles one or more paths, of which the first present one is used, and `format`: text (default)
 * or uri.
 */
function compileCalledNumber(field: LocatedValue, format: LocatedValue): CalledNumber | null {
  const isUri =
    !isUnset(format.value) && oneOfAt(format.value, format.path, ['text', 'uri']) === 'uri'
  if (isUnset(field.value)) return null
  const path = firstPathAt(field.value, field.path)
  const { name, read } = path
  if (!isUri) return (scope, errors) => errors.text(read(scope), name, NUMBER_CHARS_MAX)
  return (scope, errors) => {
    const number = numberOfUri(errors.text(read(scope), name, TEXT_CHARS_MAX))
    return errors.text(number, name, NUMBER_CHARS_MAX)
  }
}

const SCHEMES = ['tel:', 'sip:', 'sips:']
/** Visual separators (RFC 3966 section 5.1.1). */
const SEPARATORS = '-.()'

/**
 * Accepts `tel:+44-20-1234` and `sip:+44201234@example.org;user=phone`; other texts are returned
 * unchanged.
 */
function numberOfUri(text: string): string {
  const scheme = SCHEMES.find((each) => text.slice(0, each.length).toLowerCase() === each)
  if (scheme === undefined) return text
  let number = ''
  for (const sign of text.slice(scheme.length)) {
    if (sign === '@' || sign === ';') break
    if (scheme !== 'tel:' || !SEPARATORS.includes(sign)) number += sign
  }
  return number
}
