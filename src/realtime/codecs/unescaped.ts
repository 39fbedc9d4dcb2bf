/** Values of a message that unescaping changes, for the operator who defines the file type. */
import type { KeyValueSyntax } from '../../file-types/file-type.ts'
import { createKeyValueParser } from './key-value/parser.ts'

/** A value that is read differently than sent. */
export interface ChangedValue {
  readonly sent: string
  readonly read: string
}

/** By dotted path; empty if nothing is unescaped or the text cannot be parsed. */
export function unescapedValues(
  body: Buffer,
  syntax: KeyValueSyntax,
): ReadonlyMap<string, ChangedValue> {
  const changed = new Map<string, ChangedValue>()
  if (syntax.quoting !== 'percent') return changed
  const read = textsOf(body, syntax)
  for (const [path, raw] of textsOf(body, { ...syntax, quoting: 'none' })) {
    const text = read.get(path)
    if (text !== undefined && text !== raw) changed.set(path, { sent: raw, read: text })
  }
  return changed
}

function textsOf(body: Buffer, syntax: KeyValueSyntax): Map<string, string> {
  const texts = new Map<string, string>()
  const parsed = createKeyValueParser(syntax).parse(body)
  if (parsed.ok) addTexts(parsed.message, '', texts)
  return texts
}

function addTexts(value: unknown, path: string, texts: Map<string, string>): void {
  if (typeof value === 'string') texts.set(path, value)
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    addTexts(member, path === '' ? name : `${path}.${name}`, texts)
  }
}
