/** Elements of UBL documents as text. */
import { escapeXml } from '../../../domain/xml-text.ts'

const AGGREGATES = 'urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2'
const BASICS = 'urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2'

/** Serialized elements; absent ones are empty texts. */
export type Xml = string

/** A basic component (`cbc`); empty for an empty value. */
export function basic(
  name: string,
  value: string,
  attributes: Readonly<Record<string, string>> = {},
): Xml {
  const content = escapeXml(value).trim()
  if (content === '') return ''
  const list = Object.entries(attributes).map(([key, text]) => ` ${key}="${attribute(text)}"`)
  return `<cbc:${name}${list.join('')}>${content}</cbc:${name}>`
}

/** An aggregate component (`cac`); empty without content. */
export function aggregate(name: string, ...children: readonly Xml[]): Xml {
  const content = children.join('')
  return content === '' ? '' : `<cac:${name}>${content}</cac:${name}>`
}

/** The document in pieces. `name`: `Invoice` or `CreditNote`. */
export function* ublDocument(name: string, children: Iterable<Xml>): Generator<string> {
  const namespace = `urn:oasis:names:specification:ubl:schema:xsd:${name}-2`
  const names = `xmlns="${namespace}" xmlns:cac="${AGGREGATES}" xmlns:cbc="${BASICS}"`
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<${name} ${names}>`
  yield* children
  yield `</${name}>\n`
}

function attribute(text: string): string {
  return escapeXml(text).replaceAll('"', '&quot;')
}
