/**
 * Determines the field of a request by which its subscriber is found, as configured
 * (`customer_identification_fields`).
 */
import type { ChargeRequest } from '../domain/charge-request.ts'
import { arrayAt, FieldError, isUnset, objectAt, textAt } from '../domain/fields.ts'
import { ANY_USAGET } from './match/calculators.ts'
import { requestFields } from './match/usage-fields.ts'
import { checkName, requestField } from './rule-names.ts'
import { compileRegex } from './rule-regex.ts'

/** A lookup to try: the subscriber whose field `key` is `value` at the time of the event. */
export interface Candidate {
  key: string
  value: string
}

/** A lookup at the time of an event, epoch ms. */
export interface SubscriberLookup extends Candidate {
  atMs: number
}

/** A field of the request by its name; undefined if it is absent. */
export type RequestReader = (name: string) => string | undefined

export interface Identification {
  /** Whether there are rules for a usage type; null for a request that has no services. */
  covers(usaget: string | null): boolean
  /** The lookups to try, in order, each once. Without services, those of all usage types. */
  candidates(usaget: string | null, field: RequestReader): readonly Candidate[]
  /** Names of the request's fields that a decoder must keep for the rules. */
  fieldsNeeded(): readonly string[]
  /** The fields of subscribers that lookups search. */
  targetKeys(): readonly string[]
}

type Rule = (usaget: string | null, field: RequestReader) => Candidate | null

/**
 * Compiles `{usaget: [{src_key, target_key, conditions: [{field, regex}], clear_regex}]}`. The
 * usage type `*` is for those without their own rules. `countryPrefix`: digits to prepend to
 * national numbers, empty for none. Throws `RuleError` with the path of an invalid field.
 */
export function compileIdentification(
  document: unknown,
  countryPrefix = '',
  path = 'rating.customerIdentification',
): Identification {
  const reads: string[] = []
  const targets = new Set<string>()
  const usagets = new Map<string, readonly Rule[]>()
  for (const [usaget, list] of Object.entries(objectAt(document, path))) {
    const at = `${path}.${usaget}`
    if (usaget !== ANY_USAGET) checkName(usaget, at)
    const rules = arrayAt(list, at).map((rule, index) =>
      compileRule(rule, `${at}.${index}`, countryPrefix, reads, targets),
    )
    usagets.set(usaget, rules)
  }
  const general = usagets.get(ANY_USAGET)
  const all = general ?? [...usagets.values()].flat()
  const rulesOf = (usaget: string | null) =>
    usaget === null ? all : (usagets.get(usaget) ?? general ?? [])
  const needed = requestFields(reads)
  return {
    covers: (usaget) => rulesOf(usaget).length > 0,
    candidates(usaget, field) {
      const found: Candidate[] = []
      for (const rule of rulesOf(usaget)) {
        const candidate = rule(usaget, field)
        if (candidate !== null && !found.some((other) => isSame(other, candidate))) {
          found.push(candidate)
        }
      }
      return found
    },
    fieldsNeeded: () => needed,
    targetKeys: () => [...targets],
  }
}

function isSame(one: Candidate, other: Candidate): boolean {
  return one.key === other.key && one.value === other.value
}

/** Replaces the services of a start without any, for subscriber lookup. */
const NO_SERVICE = [{ usaget: null, calledNumber: '', fields: null }]

/**
 * The lookups for the subscriber of a start or event, in order: by the rules for its usage types,
 * then by the identifier in the request. The first that finds a subscriber counts.
 */
export function subscriberLookups(
  request: ChargeRequest,
  identification: Identification,
): readonly SubscriberLookup[] {
  const { subscriberKey, subscriberValue, eventTimeMs: atMs, fields } = request
  const lookups: SubscriberLookup[] = []
  const services = request.services.length === 0 ? NO_SERVICE : request.services
  for (const { usaget, calledNumber, fields: own } of services) {
    const field = (name: string) =>
      own?.[name] ??
      fields?.[name] ??
      (name === 'called_number' && calledNumber !== '' ? calledNumber : undefined)
    for (const { key, value } of identification.candidates(usaget, field)) {
      lookups.push({ key, value, atMs })
    }
  }
  // Subscribers have international numbers without the plus sign; older ones may have it.
  if (subscriberKey === 'msisdn' && subscriberValue.startsWith('+')) {
    lookups.push({ key: subscriberKey, value: subscriberValue.slice(1), atMs })
  }
  if (subscriberKey !== 'none') lookups.push({ key: subscriberKey, value: subscriberValue, atMs })
  return lookups
}

export const RULE_KEYS = ['src_key', 'target_key', 'conditions', 'clear_regex']

function compileRule(
  document: unknown,
  path: string,
  countryPrefix: string,
  reads: string[],
  targets: Set<string>,
): Rule {
  const rule = objectAt(document, path, RULE_KEYS)
  const source = requestField(textAt(rule['src_key'], `${path}.src_key`))
  const key = textAt(rule['target_key'], `${path}.target_key`)
  if (!/^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/.test(key)) {
    throw new FieldError(`${path}.target_key`, 'must be the name of a field of subscribers')
  }
  reads.push(`uf.${source}`)
  targets.add(key)
  const conditions = isUnset(rule['conditions'])
    ? []
    : arrayAt(rule['conditions'], `${path}.conditions`).map((condition, index) =>
        compileCondition(condition, `${path}.conditions.${index}`, reads),
      )
  const clean = compileCleaning(rule['clear_regex'], key, `${path}.clear_regex`, countryPrefix)
  return (usaget, field) => {
    const given = field(source)
    if (given === undefined || !conditions.every((isMet) => isMet(usaget, field))) return null
    const cleaned = clean(given)
    const value = key === 'sid' ? integerText(cleaned) : cleaned
    return value === '' ? null : { key, value }
  }
}

function compileCondition(
  document: unknown,
  path: string,
  reads: string[],
): (usaget: string | null, field: RequestReader) => boolean {
  const condition = objectAt(document, path, ['field', 'regex'])
  const name = textAt(condition['field'], `${path}.field`)
  const regex = compileRegex(condition['regex'], `${path}.regex`)
  if (name === 'usaget') return (usaget) => usaget === null || regex.test(usaget)
  const source = requestField(name)
  reads.push(`uf.${source}`)
  return (_, field) => regex.test(field(source) ?? '')
}

function compileCleaning(
  clear: unknown,
  key: string,
  path: string,
  countryPrefix: string,
): (value: string) => string {
  if (!isUnset(clear)) {
    const regex = compileRegex(clear, path)
    return (value) => regex.clear(value)
  }
  if (key === 'msisdn') return (value) => normalizeNumber(value, countryPrefix)
  return (value) => value
}

/** Maximum number of digits of a national number. */
const NATIONAL_DIGITS_MAX = 12

/**
 * A phone number in the form of subscriber documents: without leading zeros and `+`, and with the
 * country prefix unless it has that prefix, is international (`+`, `00`) or is longer than 12
 * digits.
 */
export function normalizeNumber(number: string, countryPrefix: string): string {
  const bare = number.replace(/^[+0]+/, '')
  if (bare === '' || bare.startsWith(countryPrefix)) return bare
  const isInternational = /^(?:\+|00)/.test(number) || bare.length > NATIONAL_DIGITS_MAX
  return isInternational ? bare : countryPrefix + bare
}

const BYTES_LENGTH_MIN = 8

/** The number of a subscriber, and the national forms that `normalizeNumber` turns into it. */
export function formsOfNumber(number: string, countryPrefix: string): string[] {
  const full = normalizeNumber(number, countryPrefix)
  if (countryPrefix === '' || !full.startsWith(countryPrefix)) return [number, full]
  const national = full.slice(countryPrefix.length)
  const isNational = national.length <= NATIONAL_DIGITS_MAX && !/^0/.test(national)
  return isNational ? [number, full, national, `0${national}`] : [number, full]
}

/**
 * An identifier in the hexadecimal text of a charging data record: as text, and as TBCD if it is a
 * number (TS 29.002 clause 17.7.8). Shorter ones occur in other numbers by chance.
 */
export function formsInBytes(identifier: string): string[] {
  const text = identifier.length < BYTES_LENGTH_MIN ? [] : [Buffer.from(identifier).toString('hex')]
  if (!/^\d+$/.test(identifier)) return text
  const digits = identifier.length % 2 === 0 ? identifier : `${identifier}f`
  return [...text, digits.replace(/(.)(.)/g, '$2$1')]
}

/** An integer in canonical form, or empty if the text is not an integer. */
function integerText(text: string): string {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) return ''
  return String(Number(text))
}
