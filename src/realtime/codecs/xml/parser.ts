import { isUtf8 } from 'node:buffer'
import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { limitProblems, messageLimits } from '../../../file-types/message-limits.ts'
import type { Place, Places } from '../codec.ts'
import type { MessageParser } from '../encoder.ts'
import { emptyRecord, type MessageRecord, refused } from '../message-record.ts'

/**
 * Parser of XML documents (docs/WIRE.md, "XML"). The root element is the message. An element is a
 * text, null if it is empty, or a record of its attributes and elements; a repeated element is a
 * list. Only the predefined entities are allowed, and no DOCTYPE.
 */
export const xmlParser: MessageParser = {
  parse(body) {
    if (body.length === 0) return refused('is empty')
    if (!isUtf8(body)) return refused('is not UTF-8')
    const tree = new XmlTree()
    try {
      parserInto(tree).write(body.toString('utf8')).close()
    } catch (error) {
      return refused(error instanceof XmlProblem ? error.why : NOT_XML)
    }
    return { ok: true, message: tree.message, form: null }
  },
}

const NOT_XML = 'is not XML'
const ENCODINGS = new Set(['UTF-8', 'US-ASCII', 'ASCII'])

/** Name of the text in a record that also has attributes or elements. */
const TEXT_NAME = '_text'

/**
 * Throwing is the only way to stop the library's parser. Without a stack trace, which nothing
 * reads.
 */
class XmlProblem {
  readonly why: string

  constructor(why: string) {
    this.why = why
  }
}

/** A parser that builds the tree. */
function parserInto(tree: XmlTree, position = false): SaxesParser {
  const options = { xmlns: false, position, defaultXMLVersion: '1.0' } as const
  const parser: SaxesParser = new SaxesParser({ ...options, forceXMLVersion: true })
  parser.on('error', ({ message }) => {
    // The text after the colon quotes the document and may be long.
    const why = message.split(':', 1)[0]?.replace(/\.$/, '')
    throw new XmlProblem(`${NOT_XML}: ${why}`)
  })
  parser.on('doctype', () => {
    throw new XmlProblem('has a DOCTYPE')
  })
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding === undefined || ENCODINGS.has(encoding.toUpperCase())) return
    throw new XmlProblem('declares another encoding than UTF-8')
  })
  parser.on('opentag', (tag) => tree.open(tag))
  parser.on('text', (part) => tree.addText(part))
  parser.on('cdata', (part) => tree.addText(part))
  parser.on('closetag', () => tree.close())
  return parser
}

interface Element {
  name: string
  /** Null while the element has only text. */
  members: MessageRecord | null
  text: string
}

/** Builds records from elements, in document order. */
class XmlTree {
  message: MessageRecord = emptyRecord()
  /** Open elements, the root first. */
  readonly #open: Element[] = []
  #members = 0

  open(tag: SaxesTagPlain): void {
    if (this.#open.length > messageLimits.depth) throw new XmlProblem(limitProblems.depth)
    this.#count(tag.name)
    const element: Element = { name: localName(tag.name), members: null, text: '' }
    for (const name of Object.keys(tag.attributes)) {
      this.#count(name)
      // Prefixed attributes are metadata, not part of the message: xmlns:x, xsi:type, xml:lang.
      if (name === 'xmlns' || name.includes(':')) continue
      add(membersOf(element), name, trimmed(tag.attributes[name] ?? ''))
    }
    this.#open.push(element)
  }

  addText(part: string): void {
    const element = this.#open.at(-1)
    if (element !== undefined) element.text += part
  }

  close(): void {
    const element = this.#open.pop() as Element
    const parent = this.#open.at(-1)
    const text = trimmed(element.text)
    if (parent === undefined) {
      this.message = membersOf(element)
      if (text !== null) add(this.message, TEXT_NAME, text)
      return
    }
    const { members } = element
    if (members !== null && text !== null) add(members, TEXT_NAME, text)
    add(membersOf(parent), element.name, members ?? text)
  }

  #count(name: string): void {
    this.#members += 1
    if (this.#members > messageLimits.members) throw new XmlProblem(limitProblems.members)
    if (name.length > messageLimits.nameChars) throw new XmlProblem(limitProblems.nameChars)
  }
}

function membersOf(element: Element): MessageRecord {
  element.members ??= emptyRecord()
  return element.members
}

/** A repeated name becomes a list; an element value itself is never a list. */
function add(members: MessageRecord, name: string, value: MessageRecord | string | null): void {
  const present = members[name]
  if (present === undefined) members[name] = value
  else if (Array.isArray(present)) present.push(value)
  else members[name] = [present, value]
}

function localName(name: string): string {
  const colon = name.lastIndexOf(':')
  return colon < 0 ? name : name.slice(colon + 1)
}

/** Positions of the contents of elements. */
export function xmlPlaces(text: string): Places {
  const tree = new PlacedTree()
  const parser = parserInto(tree, true)
  tree.position = () => parser.position
  const { root } = tree
  try {
    parser.write(text)
  } catch {
    const stoppedAt = Math.max(0, parser.position - 1)
    return { root, errorAt: wrongNameAt(text, stoppedAt, tree.lastClosed) ?? stoppedAt }
  }
  try {
    parser.close()
  } catch {
    return { root, errorAt: text.length }
  }
  return { root, errorAt: null }
}

/** The parser stops at the end of a closing tag, whose name is wrong; null for other errors. */
function wrongNameAt(text: string, stoppedAt: number, expected: string): number | null {
  const [, name] = text[stoppedAt] === '>' ? (CLOSING_TAG.exec(text.slice(0, stoppedAt)) ?? []) : []
  if (name === undefined) return null
  const from = text.lastIndexOf('</', stoppedAt) + 2
  let same = 0
  while (same < name.length && name[same] === expected[same]) same += 1
  return from + same
}

const CLOSING_TAG = /<\/([^<>\s]*)\s*$/

class PlacedTree extends XmlTree {
  readonly root: Place = { at: 0, members: new Map() }
  /** Position of the parser that builds the tree. */
  position = () => 0
  /** Name of the element that was closed last, also by a tag with another name. */
  lastClosed = ''
  readonly #path: Place[] = []
  readonly #names: string[] = []
  /** Next index of an element that is repeated, by its first place. */
  readonly #repeated = new Map<Place, number>()

  override open(tag: SaxesTagPlain): void {
    super.open(tag)
    const parent = this.#path.at(-1)
    const at = this.position()
    this.#names.push(tag.name)
    this.#path.push(
      parent === undefined ? this.root : placeIn(parent, localName(tag.name), at, this.#repeated),
    )
  }

  override close(): void {
    super.close()
    this.#path.pop()
    this.lastClosed = this.#names.pop() ?? ''
  }
}

/** Repeated elements are a list, which is found by the name of the first. */
function placeIn(
  { members }: Place,
  name: string,
  at: number,
  repeated: Map<Place, number>,
): Place {
  const place: Place = { at, members: new Map() }
  const first = members.get(name)
  if (first === undefined) {
    members.set(name, place)
  } else {
    if (!first.members.has('0')) first.members.set('0', first)
    const index = repeated.get(first) ?? 1
    repeated.set(first, index + 1)
    first.members.set(String(index), place)
  }
  return place
}

/** Trims white space; null if nothing is left. */
function trimmed(text: string): string | null {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return start === end ? null : text.slice(start, end)
}

/** White space as defined by XML, which is narrower than JavaScript's. */
function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}
