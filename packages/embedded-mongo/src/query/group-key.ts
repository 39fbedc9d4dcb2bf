/** Keys of the groups of `$group`. */
import { TYPE_CLASS, typeClass } from '../values/compare.ts'
import { type Doc, isDoc, type Value } from '../values/document.ts'
import { keyText } from '../values/key-encoding.ts'
import { compileExpression } from './expression.ts'

export type GroupKey = {
  /** The same text for documents of one group, another one for those of other groups. */
  text(doc: Doc): string
  /** The `_id` of the group of a document. */
  id(doc: Doc): Value
}

/** @throws CommandError */
export function compileGroupKey(expression: Value): GroupKey {
  const evaluate = compileExpression(expression)
  // Documents without the field belong to the group of null.
  const id = (doc: Doc) => evaluate(doc) ?? null
  const isFields = isDoc(expression) && !Object.keys(expression).some((key) => key.startsWith('$'))
  if (!isFields) return { text: (doc) => keyText(id(doc)), id }
  // A document for each row, and its encoding, would take most of the time of the key.
  const parts = Object.values(expression).map(compileExpression)
  return {
    text(doc) {
      let text = ''
      for (const part of parts) text += partText(part(doc))
      return text
    },
    id,
  }
}

/** Says where it ends. */
function partText(value: Value): string {
  if (value === undefined) return '-'
  if (typeof value === 'string') return `${value.length}:${value}`
  // Symbols are equal to strings.
  if (typeClass(value) === TYPE_CLASS.string) return partText(String(value))
  const text = keyText(value)
  return `=${text.length}:${text}`
}
