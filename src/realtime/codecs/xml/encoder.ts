import type { ServiceOutcome } from '../../../domain/charge-outcome.ts'
import { escapeXml } from '../../../domain/xml-text.ts'
import {
  type AnswerSource,
  type AnswerValue,
  type Message,
  NumberText,
  type ResponseNode,
} from '../../../file-types/file-type.ts'
import type { AnswerEncoder } from '../encoder.ts'
import { malformedText } from '../error-text.ts'

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

/** Encodes answers as XML documents: an element per field and per list member. */
export function createXmlEncoder(nodes: readonly ResponseNode[], root: string): AnswerEncoder {
  const write = writerOf(nodes)
  const name = xmlName(root)
  return {
    encode: (answer) => DECLARATION + element(name, write(answer, null, answer.echo.message)),
    encodeError(error, code) {
      const desc = element('desc', escapeXml(malformedText(error)))
      const content = `<status>0</status><returnCode>${code}</returnCode>${desc}`
      return DECLARATION + element(name, content)
    },
  }
}

/** Writes the elements of nodes in order. */
type Write = (answer: AnswerSource, service: ServiceOutcome | null, entry: Message) => string

function writerOf(nodes: readonly ResponseNode[]): Write {
  const writers = nodes.map(nodeWriter)
  return (answer, service, entry) => {
    let text = ''
    for (const write of writers) text += write(answer, service, entry)
    return text
  }
}

function nodeWriter(node: ResponseNode): Write {
  const name = xmlName(node.name)
  if (node.kind === 'value') {
    const { read } = node
    return (answer, service, entry) => {
      const value = read(answer, service, entry)
      return value === undefined ? '' : elements(name, value)
    }
  }
  const write = writerOf(node.children)
  if (node.kind === 'group') {
    return (answer, service, entry) => {
      const content = write(answer, service, entry)
      return content === '' ? '' : element(name, content)
    }
  }
  return (answer) => {
    const { echo, outcome } = answer
    let text = ''
    for (const [index, service] of outcome.services.entries()) {
      text += element(name, write(answer, service, echo.entries[index] ?? echo.message))
    }
    return text
  }
}

/**
 * A list yields one element per member, all of the same name; nested lists have `item` elements.
 */
function elements(name: string, value: AnswerValue): string {
  if (!isList(value)) return element(name, content(value))
  let text = ''
  for (const member of value) {
    text += element(name, isList(member) ? elements('item', member) : content(member))
  }
  return text
}

function content(value: Exclude<AnswerValue, readonly AnswerValue[]>): string {
  if (typeof value === 'string') return escapeXml(value)
  if (typeof value !== 'object') return String(value)
  if (value instanceof NumberText) return value.digits
  let text = ''
  for (const name of Object.keys(value)) text += elements(xmlName(name), value[name]!)
  return text
}

/** Array.isArray does not distinguish a readonly list from a record. */
function isList(value: AnswerValue): value is readonly AnswerValue[] {
  return Array.isArray(value)
}

function element(name: string, content: string): string {
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}

/**
 * An element name similar to the given one: characters other than letters, digits, `_`, `-` and `.`
 * become `_`.
 */
function xmlName(name: string): string {
  const possible = name.replace(/[^\w.-]/g, '_')
  return /^[A-Za-z_]/.test(possible) ? possible : `_${possible}`
}
