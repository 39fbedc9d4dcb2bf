/**
 * Parses untrusted XML into a tree, strictly (XML 1.0 with namespaces). Constructs that this parser
 * and the signature library could interpret differently are refused: comments, DOCTYPE with
 * entities, processing instructions, CDATA.
 */
import { SaxesParser } from 'saxes'
import { SamlRefusedError } from './saml-refused.ts'

export interface XmlElement {
  /** Local name, without the prefix. */
  readonly name: string
  readonly namespace: string
  /** By name with prefix, including namespace declarations. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
  /** Text of this element, without that of its children. */
  readonly text: string
}

const DEPTH_MAX = 32
const ELEMENTS_MAX = 2000
const ATTRIBUTES_MAX = 32

interface MutableElement {
  name: string
  namespace: string
  attributes: Map<string, string>
  children: MutableElement[]
  text: string
}

/** Returns the root element. Throws `SamlRefusedError`. */
export function readXml(text: string): XmlElement {
  const open: MutableElement[] = []
  let root: MutableElement | undefined
  let elements = 0
  const refuse = (what: string) => () => {
    throw new SamlRefusedError(`it ${what}`)
  }
  const parser = new SaxesParser({ xmlns: true, defaultXMLVersion: '1.0', forceXMLVersion: true })
  parser.on('error', refuse('is not well-formed'))
  parser.on('doctype', refuse('has a DOCTYPE'))
  parser.on('comment', refuse('has a comment'))
  parser.on('cdata', refuse('has a CDATA section'))
  parser.on('processinginstruction', refuse('has a processing instruction'))
  parser.on('xmldecl', ({ encoding = 'UTF-8' }) => {
    if (encoding.toUpperCase() !== 'UTF-8') refuse('is not UTF-8')()
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    elements += 1
    const found = Object.values(attributes)
    const isTooLarge =
      elements > ELEMENTS_MAX || open.length >= DEPTH_MAX || found.length > ATTRIBUTES_MAX
    if (isTooLarge) refuse('is too large')()
    const values = new Map(found.map(({ name, value }) => [name, value]))
    const element = { name: local, namespace: uri, attributes: values, children: [], text: '' }
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
  })
  parser.on('text', (part) => {
    const element = open.at(-1)
    if (element !== undefined) element.text += part
  })
  parser.on('closetag', () => open.pop())
  parser.write(text).close()
  if (root === undefined) throw new SamlRefusedError('it is not well-formed')
  return root
}

/** The element and all its descendants, in document order. */
export function* elementsIn(element: XmlElement): Generator<XmlElement> {
  yield element
  for (const child of element.children) yield* elementsIn(child)
}

export function childrenOf(element: XmlElement, namespace: string, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name && child.namespace === namespace)
}
