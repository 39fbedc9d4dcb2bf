/** The section `parser` of a document that describes files. */
import {
  arrayAt,
  FieldError,
  type Fields,
  isUnset,
  objectAt,
  oneOfAt,
  wholeAt,
} from '../../domain/fields.ts'
import { compileRegex, REGEX_INPUT_MAX } from '../../rating/rule-regex.ts'
import { DecodeErrors } from '../decode-errors.ts'
import type { FieldProblem, Message } from '../file-type.ts'
import { parseJsonMessage } from '../json-message.ts'
import { pathAt } from '../paths.ts'
import { booleanAt } from '../realtime-section.ts'
import { type ControlSums, controlSumsAt } from './control-sums.ts'
import type { Quoting } from './framing.ts'

export type LineType = 'header' | 'data' | 'trailer'

/** The columns of a record, or why it has none. */
export type ParsedRecord =
  | { readonly message: Message; readonly problem: null }
  | { readonly message: null; readonly problem: FieldProblem }
type ParseColumns = (text: string) => ParsedRecord

/** The compiled section of files that have lines. */
export interface LineParser {
  readonly type: (typeof LINE_PARSERS)[number]
  /** Null if line breaks always end a record. */
  readonly quoting: Quoting | null
  readonly parse: ParseColumns
  readonly hasHeader: boolean
  readonly hasFooter: boolean
  /** By the text of the line; null if it is of no type. */
  readonly lineType: (text: string) => LineType | null
  /** The number of records that a trailer states; null if trailers state none. */
  readonly count: ((text: string) => number | FieldProblem) | null
  /** Its field; empty without one. */
  readonly countField: string
  /** Sums that a trailer states; null if trailers state none. */
  readonly sums: ControlSums | null
}

export const LINE_PARSERS = ['separator', 'fixed', 'json'] as const
export const RECORD_PARSER_KEYS = [
  'type',
  'structure',
  'custom_keys',
  'separator',
  'quote',
  'csv_has_header',
  'csv_has_footer',
  'line_types',
  'trailer_structure',
  'record_count_field',
  'control_sums',
  'file_format',
]

/** Throws `FieldError`. */
export function compileLineParser(section: Fields, path: string): LineParser {
  const type = oneOfAt(section['type'], `${path}.type`, LINE_PARSERS)
  refuseGiven(section, ['file_format'], path, `is not for ${type}`)
  if (!isUnset(section['custom_keys'])) arrayAt(section['custom_keys'], `${path}.custom_keys`)
  const csv = type === 'separator' ? csvAt(section, path) : null
  if (csv === null) refuseGiven(section, ['separator', 'quote'], path, `is not for ${type}`)
  const compile = (key: string) => parserOf(type, csv, section[key], `${path}.${key}`)
  const hasFooter = booleanAt({ value: section['csv_has_footer'], path: `${path}.csv_has_footer` })
  const lineType = compileLineTypes(section['line_types'], `${path}.line_types`)
  return {
    type,
    quoting: csv === null || csv.quote === '' ? null : quotingOf(csv),
    parse: compile('structure'),
    hasHeader: booleanAt({ value: section['csv_has_header'], path: `${path}.csv_has_header` }),
    hasFooter,
    lineType,
    ...countAt(section, path, () => compile('trailer_structure')),
    sums: controlSumsAt(section, `${path}.control_sums`, () => compile('trailer_structure')),
  }
}

interface Csv {
  readonly separator: string
  /** Empty if values are never quoted. */
  readonly quote: string
}

const ASCII = /^[\t -~]$/

function csvAt(section: Fields, path: string): Csv {
  const separator = isUnset(section['separator']) ? ',' : section['separator']
  const given = isUnset(section['quote']) ? '"' : section['quote']
  const quote = given === 'none' ? '' : given
  if (typeof separator !== 'string' || !ASCII.test(separator)) {
    throw new FieldError(`${path}.separator`, 'must be one ASCII character')
  }
  if (typeof quote !== 'string' || (quote !== '' && !ASCII.test(quote)) || quote === separator) {
    throw new FieldError(`${path}.quote`, "must be another ASCII character, or 'none'")
  }
  return { separator, quote }
}

function quotingOf({ separator, quote }: Csv): Quoting {
  return { separator: separator.charCodeAt(0), quote: quote.charCodeAt(0) }
}

function refuseGiven(section: Fields, keys: readonly string[], path: string, why: string): void {
  const given = keys.find((key) => !isUnset(section[key]))
  if (given !== undefined) throw new FieldError(`${path}.${given}`, why)
}

function parserOf(
  type: LineParser['type'],
  csv: Csv | null,
  structure: unknown,
  path: string,
): ParseColumns {
  // Hidden fields of JSON are hidden by compileHidden, as those of messages.
  if (type === 'json') return parseJson
  const columns = columnsAt(structure, path, type === 'fixed')
  return csv === null ? fixedParser(columns) : csvParser(columns, csv)
}

function parseJson(text: string): ParsedRecord {
  const parsed = parseJsonMessage(Buffer.from(text))
  return typeof parsed === 'string' ? refused(parsed) : { message: parsed, problem: null }
}

/** `field` is the column; by default the problem concerns no single one. */
export function refused(why: string, field = 'record'): ParsedRecord {
  return { message: null, problem: { field, why } }
}

interface Column {
  readonly name: string
  readonly isVisible: boolean
  /** In characters; 0 if the columns are separated. */
  readonly width: number
}

function columnsAt(structure: unknown, path: string, isFixed: boolean): readonly Column[] {
  const names = new Set<string>()
  const columns = arrayAt(structure, path).map((member, index) => {
    const at = `${path}.${index}`
    const field = objectAt(member, at, ['name', 'checked', ...(isFixed ? ['width'] : [])])
    const { name } = pathAt(field['name'], `${at}.name`)
    if (name.includes('[')) throw new FieldError(`${at}.name`, 'must have no selector')
    if (names.has(name)) throw new FieldError(`${at}.name`, `'${name}' occurs twice`)
    names.add(name)
    const { checked } = field
    const isVisible = isUnset(checked) || booleanAt({ value: checked, path: `${at}.checked` })
    return { name, isVisible, width: isFixed ? wholeAt(field['width'], `${at}.width`, 1) : 0 }
  })
  if (columns.length === 0) throw new FieldError(path, 'must have at least one column')
  return columns
}

function csvParser(columns: readonly Column[], csv: Csv): ParseColumns {
  return (text) => {
    const isPlain = csv.quote === '' || !text.includes(csv.quote)
    const values = isPlain ? text.split(csv.separator) : quotedValues(text, csv, columns)
    return Array.isArray(values) ? messageOf(columns, values) : values
  }
}

/** The values of a line with quotes (RFC 4180 section 2). */
function quotedValues(
  text: string,
  { separator, quote }: Csv,
  columns: readonly Column[],
): string[] | ParsedRecord {
  const values: string[] = []
  const problem = (why: string) => refused(why, columns[values.length]?.name)
  let at = 0
  while (true) {
    const isQuoted = text[at] === quote
    const from = isQuoted ? at + 1 : at
    let end = text.indexOf(isQuoted ? quote : separator, from)
    while (isQuoted && end >= 0 && text[end + 1] === quote) end = text.indexOf(quote, end + 2)
    if (isQuoted && end < 0) return problem('has a quote that is not closed')
    const value = text.slice(from, end < 0 ? text.length : end)
    if (!isQuoted && value.includes(quote))
      return problem('has a quote, and does not begin with it')
    at = isQuoted ? end + 1 : end
    if (isQuoted && at < text.length && text[at] !== separator) {
      return problem('goes on behind its closing quote')
    }
    values.push(isQuoted ? value.replaceAll(quote + quote, quote) : value)
    if (at < 0 || at >= text.length) return values
    at += 1
  }
}

/** Numbers of columns that differ mean that values are not where the document says. */
function messageOf(columns: readonly Column[], values: readonly string[]): ParsedRecord {
  const { length } = columns
  if (values.length > length) return refused(`has ${values.length} columns, not ${length}`)
  const missing = columns[values.length]
  if (missing !== undefined) {
    return refused(`is missing: the record has ${values.length} columns`, missing.name)
  }
  const message: Record<string, unknown> = Object.create(null)
  for (let at = 0; at < length; at += 1) {
    const { name, isVisible } = columns[at] as Column
    if (isVisible) message[name] = values[at]
  }
  return { message, problem: null }
}

const SURROGATE = /[\ud800-\udfff]/

function fixedParser(columns: readonly Column[]): ParseColumns {
  const width = columns.reduce((sum, column) => sum + column.width, 0)
  return (text) => {
    const characters = SURROGATE.test(text) ? [...text] : text
    if (characters.length !== width) {
      return refused(`has ${characters.length} characters, not ${width}`)
    }
    let at = 0
    const values = columns.map((column) => {
      const part = characters.slice(at, at + column.width)
      at += column.width
      return (typeof part === 'string' ? part : part.join('')).trim()
    })
    return messageOf(columns, values)
  }
}

/** Keys of existing documents: header, data and trailer, tried as listed. */
const LINE_TYPES: readonly (readonly [string, LineType])[] = [
  ['H', 'header'],
  ['T', 'trailer'],
  ['D', 'data'],
]

/** Lines of a document without `D` are data. Only the begin of a line counts. */
function compileLineTypes(value: unknown, path: string): LineParser['lineType'] {
  const keys = LINE_TYPES.map(([key]) => key)
  const section = isUnset(value) ? {} : objectAt(value, path, keys)
  const tests = LINE_TYPES.filter(([key]) => !isUnset(section[key])).map(([key, type]) => ({
    type,
    regex: compileRegex(section[key], `${path}.${key}`),
  }))
  const other = isUnset(section['D']) ? 'data' : null
  if (tests.length === 0) return () => other
  return (text) => {
    const begin = text.slice(0, REGEX_INPUT_MAX)
    return tests.find(({ regex }) => regex.test(begin))?.type ?? other
  }
}

function countAt(
  section: Fields,
  path: string,
  compile: () => ParseColumns,
): Pick<LineParser, 'count' | 'countField'> {
  const value = section['record_count_field']
  if (isUnset(value)) {
    const unused = isUnset(section['control_sums']) ? ['trailer_structure'] : []
    refuseGiven(section, unused, path, 'needs record_count_field or control_sums')
    return { count: null, countField: '' }
  }
  const field = pathAt(value, `${path}.record_count_field`)
  const parse = compile()
  const count = (text: string) => {
    const { message, problem } = parse(text)
    if (message === null) return problem
    const errors = new DecodeErrors()
    const stated = errors.whole(field.in(message), field.name)
    return errors.problem ?? (stated < 0 ? { field: field.name, why: 'is required' } : stated)
  }
  return { count, countField: field.name }
}
