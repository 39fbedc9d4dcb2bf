import { type AnswerValue, NumberText } from '../../../file-types/file-type.ts'
import { quote } from './text.ts'

/** An answer value as JSON. */
export function encodeValue(value: AnswerValue): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'object':
      break
    default:
      return String(value)
  }
  if (value instanceof NumberText) return value.digits
  return isList(value) ? encodeList(value) : encodeRecord(value)
}

function encodeList(list: readonly AnswerValue[]): string {
  let text = '['
  for (const value of list) {
    text += text.length === 1 ? encodeValue(value) : `,${encodeValue(value)}`
  }
  return `${text}]`
}

function encodeRecord(record: { readonly [name: string]: AnswerValue }): string {
  let text = '{'
  for (const name of Object.keys(record)) {
    const member = `${quote(name)}:${encodeValue(record[name]!)}`
    text += text.length === 1 ? member : `,${member}`
  }
  return `${text}}`
}

/** Array.isArray does not distinguish a readonly list from a record. */
function isList(value: object): value is readonly AnswerValue[] {
  return Array.isArray(value)
}
