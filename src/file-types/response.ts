/** Compiles the section `response` of a file type: the encoding of its answers. */
import { arrayAt, FieldError, type Fields, isUnset, objectAt, oneOfAt } from '../domain/fields.ts'
import { compileAnswerSettings } from './answer-settings.ts'
import { defaultFields, defaultServiceFields, defaultServicesName } from './default-response.ts'
import type { AnswerSettings, EncoderSettings, ParserSettings, ResponseNode } from './file-type.ts'
import { compileKeyValueSyntax, KEY_VALUE_KEYS } from './key-value-syntax.ts'
import { compileResponseField, namesAt } from './response-fields.ts'
import { ResponseTree } from './response-tree.ts'
import { compileReturnCodes } from './return-codes.ts'

export interface ResponseOptions {
  /** Path of the section, such as `response`; the section `realtime` is its sibling. */
  path: string
  parser: ParserSettings
  /** Whether messages have a list of services. */
  hasServices: boolean
  /** Settings of the installation. */
  defaults: AnswerSettings
  /** The section `realtime`; only `answerSettingKeys` are read. */
  realtime: Fields
}

export interface CompiledResponse {
  encoder: EncoderSettings
  nodes: readonly ResponseNode[]
  /** Settings by usage type. */
  settings: (usaget: string) => AnswerSettings
  /** Whether the document maps balances, so that each request has to read them. */
  wantsBalances: boolean
}

export const RESPONSE_KEYS = ['encode', 'fields', 'services', 'return_codes']

/**
 * Without the section or its `fields`, answers have the fields of the plain JSON format. Throws
 * `FieldError` with the path of an invalid value.
 */
export function compileResponse(section: unknown, options: ResponseOptions): CompiledResponse {
  const { path, parser, defaults, realtime } = options
  const fields = isUnset(section) ? {} : objectAt(section, path)
  const encode = encodingAt(fields['encode'], `${path}.encode`, parser)
  objectAt(fields, path, [...RESPONSE_KEYS, ...encodingKeys[encode]])
  const encoder = encoderOf(encode, fields, path, parser)
  const codesPath = `${path}.return_codes`
  const codes = compileReturnCodes(fields['return_codes'], codesPath, defaults.returnCodes)
  const realtimePath = path.replace(/[^.]*$/, 'realtime')
  const settings = compileAnswerSettings(realtime, realtimePath, defaults, codes)
  const compiler = new FieldsCompiler(encoder)
  const nodes = isUnset(fields['fields'])
    ? compiler.defaultNodes(fields, options)
    : compiler.nodes(fields, options)
  return { encoder, nodes, settings, wantsBalances: compiler.wantsBalances }
}

type Encoding = EncoderSettings['type']

const encodings = new Map<unknown, Encoding>([
  ['json', 'json'],
  ['xml', 'xml'],
  ['key_value', 'key_value'],
  ['keyvalue', 'key_value'],
  ['key-value', 'key_value'],
  ['diameter', 'diameter'],
])

const encodingKeys: Readonly<Record<Encoding, readonly string[]>> = {
  json: [],
  xml: ['root'],
  key_value: KEY_VALUE_KEYS,
  diameter: [],
}

function encodingAt(value: unknown, path: string, parser: ParserSettings): Encoding {
  if (isUnset(value)) return parser.type
  const known = encodings.get(value)
  if (known === undefined) oneOfAt(value, path, ['json', 'xml', 'key_value', 'diameter'])
  if (known === 'diameter' && parser.type !== 'diameter') {
    throw new FieldError(path, 'diameter is for messages that are parsed as diameter')
  }
  return known ?? parser.type
}

function encoderOf(
  type: Encoding,
  section: Fields,
  path: string,
  parser: ParserSettings,
): EncoderSettings {
  switch (type) {
    case 'xml': {
      const root = section['root']
      return { type, root: isUnset(root) ? 'response' : elementAt(root, `${path}.root`) }
    }
    case 'key_value':
      return { type, ...compileKeyValueSyntax(withSyntaxOf(parser, section), path) }
    default:
      return { type }
  }
}

/** Missing keys default to the syntax of the messages, if they are key-value text. */
function withSyntaxOf(parser: ParserSettings, section: Fields): Fields {
  if (parser.type !== 'key_value') return section
  const { pairSeparator, valueSeparator, quoting, repeated } = parser
  return {
    pair_separator: section['pair_separator'] ?? pairSeparator,
    value_separator: section['value_separator'] ?? valueSeparator,
    quoting: section['quoting'] ?? quoting,
    repeated: section['repeated'] ?? repeated,
  }
}

const ELEMENT = /^[A-Za-z_][A-Za-z0-9_-]*$/

/** Validates the name of an XML element. */
function elementAt(value: unknown, path: string): string {
  if (typeof value === 'string' && ELEMENT.test(value)) return value
  throw new FieldError(
    path,
    'must be the name of an XML element: a letter, then letters and digits',
  )
}

class FieldsCompiler {
  wantsBalances = false
  readonly #encoder: EncoderSettings

  constructor(encoder: EncoderSettings) {
    this.#encoder = encoder
  }

  nodes(section: Fields, { path, hasServices }: ResponseOptions): readonly ResponseNode[] {
    const tree = this.#treeOf(section['fields'], `${path}.fields`)
    const services = section['services']
    if (isUnset(services)) return tree.nodes()
    const at = `${path}.services`
    if (!hasServices) throw new FieldError(at, 'needs realtime.services_field')
    const { field, fields } = objectAt(services, at, ['field', 'fields'])
    const names = this.#namesAt(field, `${at}.field`)
    tree.addServices(names, `${at}.field`, this.#treeOf(fields, `${at}.fields`).nodes())
    return tree.nodes()
  }

  defaultNodes(section: Fields, { path, hasServices }: ResponseOptions) {
    if (!isUnset(section['services'])) {
      throw new FieldError(`${path}.fields`, 'is missing: there are services', 'missing')
    }
    const { head, grant, tail } = defaultFields
    const tree = this.#treeOf(hasServices ? head : [...head, ...grant], `${path}.fields`)
    if (hasServices) {
      const children = this.#treeOf(defaultServiceFields, `${path}.services.fields`).nodes()
      tree.addServices([defaultServicesName], `${path}.services.field`, children)
    }
    this.#addAll(tree, tail, `${path}.fields`)
    this.wantsBalances = false
    return tree.nodes()
  }

  #treeOf(document: unknown, path: string): ResponseTree {
    const fields = arrayAt(document, path)
    if (fields.length === 0) throw new FieldError(path, 'must have at least one field')
    const tree = new ResponseTree()
    this.#addAll(tree, fields, path)
    return tree
  }

  #addAll(tree: ResponseTree, fields: readonly unknown[], path: string): void {
    for (const [index, document] of fields.entries()) {
      const field = compileResponseField(document, `${path}.${index}`)
      const at = `${path}.${index}.response_field_name`
      this.#checkNames(field.names, at)
      tree.addField(field, at)
      if (field.isBalances) this.wantsBalances = true
    }
  }

  #namesAt(value: unknown, path: string): readonly string[] {
    const names = namesAt(value, path)
    this.#checkNames(names, path)
    return names
  }

  #checkNames(names: readonly string[], path: string): void {
    if (this.#encoder.type !== 'xml') return
    for (const name of names) elementAt(name, path)
  }
}
