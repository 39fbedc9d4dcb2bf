/** The section `parser` of a document (spec/realtime.md 1.1). */
import { arrayAt, isUnset, objectAt, oneOfAt } from '../domain/fields.ts'
import type { ParserSettings } from './file-type.ts'
import { compileKeyValueSyntax, KEY_VALUE_KEYS } from './key-value-syntax.ts'

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

/** Keys that tell how files are read are let pass, and mean nothing. Throws `FieldError`. */
export function compileParser(document: unknown, path: string): ParserSettings {
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
