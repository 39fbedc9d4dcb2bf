/** Compiles a document of `type: usage`: records in files, mapped as messages are. */
import {
  arrayAt,
  FieldError,
  type Fields,
  isObject,
  isUnset,
  objectAt,
  oneOfAt,
} from '../../domain/fields.ts'
import { daysIn } from '../../domain/time.ts'
import { checkExtent, FILE_TYPE_KEYS, headOf, PROCESSOR_KEYS, processorAt } from '../compile.ts'
import { compileEventTime } from '../dates.ts'
import type { FileTypeDefaults } from '../file-type.ts'
import { compileFilters } from '../filters.ts'
import { compileHidden } from '../hidden.ts'
import { type MapPlan, mapMessage } from '../map.ts'
import { optionalPathAt, pathAt } from '../paths.ts'
import { compileOneTime } from '../record-types.ts'
import { compileFileTypeRules, type FileTypeRules } from '../rules.ts'
import { compileSubscriberFields, retainedOfEntries } from '../subscriber.ts'
import { compileMappings, type Mappings } from '../usage.ts'
import { wordsOf } from '../words.ts'
import { compileBerParser } from './ber-parser.ts'
import { compilePrices, type RecordPrices } from './prices.ts'
import type { RecordFileType } from './record-files.ts'
import { compileLineParser, LINE_PARSERS, RECORD_PARSER_KEYS } from './syntax.ts'

const MESSAGE_KEYS = ['realtime', 'response', 'samples']
export const RECORD_FILE_TYPE_KEYS = [
  ...FILE_TYPE_KEYS.filter((key) => !MESSAGE_KEYS.includes(key)),
  'receiver',
]
/** Usage of an unknown time is not charged as of now. */
const MESSAGE_PROCESSOR_KEYS = ['date_beyond', 'default_parts']
const RECORD_PROCESSOR_KEYS = [
  ...PROCESSOR_KEYS.filter((key) => !MESSAGE_PROCESSOR_KEYS.includes(key)),
  'services_field',
]
/** Members of the list of services of a record. */
const SERVICES_MAX = 1_024

/** Whether it describes files; older documents have no `type`, but a receiver of files. */
export function isRecordDocument(document: unknown): boolean {
  if (!isObject(document)) return false
  const { type, receiver, realtime } = document
  return type === 'usage' || (isUnset(type) && !isUnset(receiver) && isUnset(realtime))
}

/** Throws `FieldError` with the path of an invalid value; `path` is that of the document. */
export function compileRecordFileType(
  document: unknown,
  defaults: FileTypeDefaults,
  path: string,
): RecordFileType {
  checkExtent(document, path)
  const fields = objectAt(document, path, RECORD_FILE_TYPE_KEYS)
  const { name, isEnabled } = headOf(fields, path)
  checkReceiver(fields['receiver'], `${path}.receiver`)
  const parser = compileParser(fields['parser'], `${path}.parser`)
  const processor = processorAt(fields['processor'], `${path}.processor`, RECORD_PROCESSOR_KEYS)
  const mappings = compileMappings(processor, `${path}.processor`)
  refuseGiven(processor, `${path}.processor`, 'parts', 'is for messages only')
  if (!isUnset(processor['services_field'])) {
    const why = 'must be that of the processor: it identifies all services of a record'
    refuseGiven(processor, `${path}.processor`, 'stamp_fields', why)
  }
  const date = pathAt(processor['date_field'], `${path}.processor.date_field`)
  const rules = compileFileTypeRules(fields, path, mappings, defaults)
  const prices = compilePrices(fields['pricing'], `${path}.pricing`, mappings)
  const plan = compilePlan({ name, path, fields, processor, mappings, rules, prices }, defaults)
  const { recordAgeMonthsMax } = defaults
  return {
    type: 'usage',
    name,
    isEnabled,
    parser,
    rulesKey: rules.key,
    rules: rules.documents,
    words: wordsOf([document, defaults.rules]),
    map: (message, context) => {
      const eventAgeMsMax = context.nowMs - monthsBefore(context.nowMs, recordAgeMonthsMax)
      const mapped = mapMessage(plan, message, {
        ...context,
        servicesMax: SERVICES_MAX,
        eventAgeMsMax,
      })
      if ('why' in mapped) return mapped.field === 'body' ? { ...mapped, field: 'record' } : mapped
      if (mapped.request?.eventTimeGiven === false) return { field: date.name, why: 'is required' }
      return prices?.problemOf(mapped.request?.services ?? []) ?? mapped
    },
  }
}

const PARSERS = [...LINE_PARSERS, 'ber'] as const
/** Types of existing documents, which describe fields in their own way. */
const OTHER_ASN1 = ['ggsn', 'tap3']

function compileParser(document: unknown, path: string): RecordFileType['parser'] {
  const section = objectAt(document, path, RECORD_PARSER_KEYS)
  if (OTHER_ASN1.includes(section['type'] as string)) {
    const reason = 'is not supported; charging data records are read by ber'
    throw new FieldError(`${path}.type`, `'${section['type']}' ${reason}`)
  }
  const type = oneOfAt(section['type'], `${path}.type`, PARSERS)
  return type === 'ber' ? compileBerParser(section, path) : compileLineParser(section, path)
}

const SECRETS = ['password', 'key']

/**
 * Existing installations fetch files from there; here it is not used. It must not have secrets,
 * which all readers of the settings would see.
 */
function checkReceiver(value: unknown, path: string): void {
  if (isUnset(value)) return
  const { connections } = objectAt(value, path)
  if (isUnset(connections)) return
  for (const [index, connection] of arrayAt(connections, `${path}.connections`).entries()) {
    const at = `${path}.connections.${index}`
    const fields = objectAt(connection, at)
    const secret = SECRETS.find((key) => !isUnset(fields[key]))
    if (secret !== undefined) throw new FieldError(`${at}.${secret}`, 'is a secret, and not used')
  }
}

/** Refuses a key of mappings. */
function refuseGiven(processor: Fields, path: string, key: string, why: string): void {
  const mappings = processor['usaget_mapping']
  if (!Array.isArray(mappings)) return
  const index = mappings.findIndex((mapping) => !isUnset(mapping[key]))
  if (index >= 0) throw new FieldError(`${path}.usaget_mapping.${index}.${key}`, why)
}

interface Parts {
  name: string
  path: string
  fields: Fields
  processor: Fields
  mappings: Mappings
  rules: FileTypeRules
  prices: RecordPrices | null
}

function compilePlan(parts: Parts, { timeZone, answers }: FileTypeDefaults): MapPlan {
  const { name, path, fields, processor, mappings, rules, prices } = parts
  const parser = fields['parser'] as Fields
  const isJson = parser['type'] === 'json'
  const isIdentifiedByRules = !isUnset(fields['customer_identification_fields'])
  return {
    name,
    recordType: compileOneTime(undefined, path),
    session: { name: 'record', read: () => '' },
    isEventPerMessage: false,
    // Columns are hidden by the parser.
    hide: compileHidden(isJson ? parser['structure'] : undefined, `${path}.parser.structure`),
    requestNumber: null,
    eventTime: compileEventTime(processor, `${path}.processor`, 'json', timeZone),
    pretend: null,
    refund: null,
    balances: null,
    wantsBalances: false,
    // A column `sid` of a foreign network may be anything.
    subscriberFields: isIdentifiedByRules
      ? []
      : compileSubscriberFields({ value: undefined, path }),
    rules,
    services: {
      list: optionalPathAt(processor['services_field'], `${path}.processor.services_field`),
      refusesMembersAlone: false,
      mergesMembers: true,
      isUsage: true,
      price: prices?.read ?? null,
      requestedField: null,
      usage: mappings.recordRules(),
      reports: [],
      filter: compileFilters(fields['filters'], `${path}.filters`),
      retained: retainedOfEntries(rules.retained),
    },
    settings: () => answers,
  }
}

/** The same time of day some months ago, or on the last day of a shorter month (UTC). */
function monthsBefore(atMs: number, months: number): number {
  const then = new Date(atMs)
  const day = then.getUTCDate()
  then.setUTCDate(1)
  then.setUTCMonth(then.getUTCMonth() - months)
  then.setUTCDate(Math.min(day, daysIn(then.getUTCFullYear(), then.getUTCMonth() + 1)))
  return then.getTime()
}
