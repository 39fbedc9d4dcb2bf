/** The section `parser` of a document that describes files of charging data records (TS 32.298). */
import {
  arrayAt,
  FieldError,
  type Fields,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
} from '../../domain/fields.ts'
import { pathAt } from '../paths.ts'
import { BER_RECORDS } from './ber-dictionary.ts'
import { type BerFields, NO_FIELDS } from './ber-fields.ts'
import { BER_FORMATS, type BerFormat } from './ber-framing.ts'
import { type BerSchema, parseBer } from './ber-message.ts'
import { BER_TYPES, type BerType } from './ber-values.ts'
import type { ParsedRecord } from './syntax.ts'

export interface BerParser {
  readonly type: 'ber'
  readonly fileFormat: BerFormat
  readonly parse: (bytes: Buffer) => ParsedRecord
}

const BER_KEYS = ['type', 'file_format', 'structure', 'custom_keys']

/** Throws `FieldError`. */
export function compileBerParser(section: Fields, path: string): BerParser {
  const other = Object.keys(section).find(
    (key) => !BER_KEYS.includes(key) && !isUnset(section[key]),
  )
  if (other !== undefined) throw new FieldError(`${path}.${other}`, 'is not for ber')
  const format = section['file_format']
  const schema = schemaOf(section['structure'], `${path}.structure`)
  return {
    type: 'ber',
    fileFormat: isUnset(format) ? 'plain' : oneOfAt(format, `${path}.file_format`, BER_FORMATS),
    parse: (bytes) => parseBer(bytes, schema),
  }
}

interface NamedTag {
  readonly name: string
  readonly type: BerType
}

const TAGS = /^\d{1,9}(?:\.\d{1,9}){0,15}$/

/** All record types of the dictionary, and others, with the fields that the document names. */
function schemaOf(structure: unknown, path: string): BerSchema {
  const schema = new Map<number | null, BerFields>([...BER_RECORDS, [null, NO_FIELDS]])
  if (isUnset(structure)) return schema
  for (const [index, member] of arrayAt(structure, path).entries()) {
    const at = `${path}.${index}`
    const field = objectAt(member, at, ['name', 'tag', 'type'])
    const { name } = pathAt(field['name'], `${at}.name`)
    if (/[.[]/.test(name)) throw new FieldError(`${at}.name`, 'must be one name')
    const tag = textAt(field['tag'], `${at}.tag`)
    if (!TAGS.test(tag))
      throw new FieldError(`${at}.tag`, 'must be the path of a tag, such as 34.12')
    const type = oneOfAt(field['type'], `${at}.type`, BER_TYPES) as BerType
    const tags = tag.split('.').map(Number)
    for (const [record, fields] of schema) schema.set(record, withTag(fields, tags, { name, type }))
  }
  return schema
}

function withTag(fields: BerFields, tags: readonly number[], named: NamedTag): BerFields {
  const [tag = 0, ...inner] = tags
  const outer = fields.get(tag) ?? { name: String(tag), type: 'raw', fields: NO_FIELDS }
  const field =
    inner.length === 0
      ? { ...named, fields: NO_FIELDS }
      : { ...outer, fields: withTag(outer.fields, inner, named) }
  return new Map([...fields, [tag, field]])
}
